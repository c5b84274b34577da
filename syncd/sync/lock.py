"""One syncd for one state directory: an flock on `<state>/lock`, which ends with its process.

The lock itself is the truth; the process id and start time in the file only name the holder.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

NAME = "lock"
# `holder` takes a shared lock for microseconds: a refusal counts only when it lasts longer
_TRIES, _PAUSE_SECONDS = 10, 0.02


class Holder(NamedTuple):
    """Who holds a state directory: process id and start (epoch seconds), None when not readable."""

    pid: int | None
    since: float | None


class StateLocked(Exception):
    """Another process holds the state directory; `pid` and `since` (epoch seconds) name it."""

    def __init__(self, pid: int | None, since: float | None) -> None:
        who = "another syncd" if pid is None else f"another syncd (process {pid})"
        super().__init__(f"{who} holds the state")
        self.pid = pid
        self.since = since


class StateLock:
    """The exclusive right to write below one state directory, a context manager.

    The same directory reached through a symbolic link is the same lock.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._file is not None

    def acquire(self) -> None:
        """Take the lock, creating the directory (0700) when it is missing.

        Raises StateLocked after at most 0.2 s when another holds it, OSError when the directory
        cannot be made or written.
        """
        if self._file is not None:
            return
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._directory / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _take(file, fcntl.LOCK_EX):
                raise StateLocked(*_read_holder(file))
            os.pwrite(file, line := _line(os.getpid(), time.time()), 0)
            os.ftruncate(file, len(line))
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def renew(self) -> None:
        """Take the lock anew when its file was deleted or moved away with its directory.

        Raises as `acquire` does; the old file's lock is then given up all the same.
        """
        if self._file is not None and not self._is_in_place(self._file):
            os.close(self._file)
            self._file = None
        self.acquire()

    def _is_in_place(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._directory / NAME))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def release(self) -> None:
        """Give the lock back; harmless when it is not held."""
        if self._file is None:
            return
        file, self._file = self._file, None
        # emptied first, so that a later holder is never mistaken for this one
        os.ftruncate(file, 0)
        os.close(file)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def holder(directory: Path) -> Holder | None:
    """Who holds the state directory now, or None when nobody does; takes nothing, creates nothing.

    Raises OSError when the lock file is there but cannot be opened.
    """
    try:
        file = os.open(directory / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return None if _try(file, fcntl.LOCK_SH) else _read_holder(file)
    finally:
        os.close(file)


def _take(file: int, mode: int) -> bool:
    """Whether the lock could be had within a few tries."""
    pause = threading.Event()
    for _ in range(_TRIES):
        if _try(file, mode):
            return True
        pause.wait(_PAUSE_SECONDS)
    return _try(file, mode)


def _try(file: int, mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _line(pid: int, since: float) -> bytes:
    return f"{pid} {since:.3f}\n".encode("ascii")


def _read_holder(file: int) -> Holder:
    """What the lock file says; it is empty for the moment between locking and writing."""
    pid, _, since = os.pread(file, 100, 0).decode("ascii", "replace").partition(" ")
    try:
        return Holder(int(pid), float(since))
    except ValueError:
        return Holder(None, None)
