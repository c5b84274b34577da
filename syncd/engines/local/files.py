"""The memory file on disk: where it lies, and that only its owner can read it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import quote

from syncd.engines.local.faults import foreign
from syncd.memory.errors import Unavailable


def identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file, or None when there is none (yet)."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def uri(path: Path, mode: str) -> str:
    """The SQLite URI of `path`; `mode` is `ro` or `rw`."""
    return f"file:{quote(os.fsencode(path))}?mode={mode}"


def prepare(path: Path) -> None:
    """Make sure that a regular file is at `path`, readable by its owner alone.

    SQLite gives the -wal and -shm files the mode of the main file. Raises Unavailable when the
    place cannot be written, Config when something else lies there.
    """
    try:
        _make_directory(path.parent)
        try:
            # Not O_EXCL's caller makes the file, but whoever comes first; both then open it.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            _tighten(path)
        else:
            os.fchmod(descriptor, 0o600)
            os.close(descriptor)
    except OSError as error:
        raise Unavailable(f"memory file {path} cannot be made: {error.strerror}") from None


def require(path: Path) -> None:
    """Unavailable when there is no memory at `path`, Config when it is no regular file."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise Unavailable(f"nothing is in memory yet: there is no file {path}") from None
    except OSError as error:
        raise Unavailable(f"memory file {path} cannot be read: {error.strerror}") from None
    _regular(path, mode)


def _make_directory(directory: Path) -> None:
    missing = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        each.chmod(0o700)


def _tighten(path: Path) -> None:
    found = path.stat()
    _regular(path, found.st_mode)
    if found.st_mode & 0o077 and found.st_uid == os.geteuid():
        path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


def _regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise foreign(path, "a folder" if stat.S_ISDIR(mode) else "a special file")
