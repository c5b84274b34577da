"""The stage of most tests: a folder, a ledger, and each of two engines in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sync.scene import Scene


@pytest.fixture(params=["reference", "local"])
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(tmp_path / "scene", request.param)
    yield made
    made.close()
