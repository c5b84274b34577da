"""What SQLite's errors mean to the contract: try later, or damaged with the way out."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from syncd.memory.errors import Config, Engine, InvalidRequest, MemoryError, Unavailable

# A file system is called full below this; SQLite reports some full disks as plain I/O errors.
_FULL_BELOW = 256 * 1024

_LATER = {
    sqlite3.SQLITE_BUSY: "is busy: another process is writing to it",
    sqlite3.SQLITE_LOCKED: "is busy: another process is writing to it",
    sqlite3.SQLITE_FULL: "cannot grow: the disk is full",
    sqlite3.SQLITE_READONLY: "cannot be written: it, or its folder, is read-only",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: check its folder and permissions",
    sqlite3.SQLITE_PERM: "cannot be opened: permission denied",
    sqlite3.SQLITE_NOMEM: "cannot be read: out of memory",
    sqlite3.SQLITE_INTERRUPT: "was interrupted",
}


class Damage(Exception):
    """What was read from the file makes no sense; the message says what."""


def translate(error: sqlite3.Error, path: Path) -> MemoryError:
    """The contract's error for one of SQLite's, naming the memory file."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if primary == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
        return InvalidRequest("an item is larger than a memory file can hold")
    if primary == sqlite3.SQLITE_IOERR and _is_full(path):
        primary = sqlite3.SQLITE_FULL
    if primary in _LATER:
        return Unavailable(f"memory file {path} {_LATER[primary]}")
    return damaged(path, str(error))


def damaged(path: Path, detail: str) -> Engine:
    """The one sentence for a file that cannot be trusted any more."""
    return Engine(
        f"memory file {path} is damaged ({detail}); move it away and sync again:"
        " everything that is on disk is stored anew"
    )


def foreign(path: Path, what: str) -> Config:
    """The path names something that is no memory, and that must not be overwritten."""
    return Config(f"{path} is {what}, not a memory file; name another path for engines.local.path")


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _FULL_BELOW
    except OSError:
        return False
