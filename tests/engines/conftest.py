from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.engines.local.engine import LocalEngine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "memory.db"


@pytest.fixture
def engine(path: Path) -> Iterator[LocalEngine]:
    with LocalEngine(path) as engine:
        yield engine
