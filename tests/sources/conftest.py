"""A place where permissions count, whoever runs the tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534


class Stranger:
    """A directory whose owner is no superuser, and a way to act as that owner."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        for directory, folders, files in os.walk(self.root):
            for name in (".", *folders, *files):
                os.lchown(os.path.join(directory, name), NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    root = Path(tempfile.mkdtemp(prefix="syncd-stranger-"))
    root.chmod(0o755)
    yield Stranger(root)
    for directory, folders, _ in os.walk(root):
        for name in folders:
            if not os.path.islink(os.path.join(directory, name)):
                os.chmod(os.path.join(directory, name), 0o700)
    shutil.rmtree(root)
