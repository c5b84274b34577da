"""The bytes of one file as they are at one moment: bounded, never through a link, never torn.

A file that changes while it is read is read again; one that is no regular file is never opened for
longer than it takes to see that.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import NamedTuple

from syncd.sources.marks import is_settled, look_of
from syncd.sources.seen import Look, Skip, Unreadable

TOO_LARGE = "larger than max_file_size"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_ATTEMPTS = 3
_CHUNK = 1 << 20
# No such name, a link or a socket where the file was: all mean that the file is not there.
_GONE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}
_HAS_PROC = os.path.isdir("/proc/self/fd")


class Content(NamedTuple):
    """The whole of a file, how it looked meanwhile, and whether that look can be relied on."""

    data: bytes
    look: Look
    settled: bool


def reason_of(error: OSError) -> str:
    """Why the system refused, in its own lower-case words ("permission denied")."""
    return os.strerror(error.errno).lower() if error.errno else str(error).lower()


def load(os_path: str, limit: int) -> Content | Skip | Unreadable | None:
    """At most `limit` bytes of the regular file at an absolute path; None when it is not there.

    Skip when it is larger, Unreadable when it cannot be read now or keeps changing.
    """
    outcome: Content | Skip | Unreadable | None = Unreadable("changes while it is read")
    for _ in range(_ATTEMPTS):
        try:
            handle = _open(os_path)
        except OSError as error:
            return None if error.errno in _GONE else Unreadable(reason_of(error))
        try:
            outcome = _read(handle, os_path, limit)
        except OSError as error:
            return Unreadable(reason_of(error))
        finally:
            os.close(handle)
        if not isinstance(outcome, Unreadable):
            break
    return outcome


def _open(os_path: str) -> int:
    try:
        return os.open(os_path, _FLAGS | os.O_NOATIME)
    except PermissionError:
        # O_NOATIME is for the owner alone.
        return os.open(os_path, _FLAGS)


def _read(handle: int, os_path: str, limit: int) -> Content | Skip | Unreadable | None:
    before = os.fstat(handle)
    if not stat.S_ISREG(before.st_mode):
        return None
    if _HAS_PROC and os.readlink(f"/proc/self/fd/{handle}") != os_path:
        # O_NOFOLLOW guards the last name only; this guards the directories above it.
        return Unreadable("is reached through a symbolic link or was replaced just now")
    now = time.time_ns()
    look = look_of(before)
    if before.st_size > limit:
        return Skip(TOO_LARGE, look, is_settled(look, now))
    # One byte more than there should be shows growth; the next attempt sees the new size.
    data = _bounded(handle, look.size)
    if look_of(os.fstat(handle)) != look or len(data) != look.size:
        return Unreadable("changes while it is read")
    return Content(data, look, is_settled(look, now))


def _bounded(handle: int, size: int) -> bytes:
    """At most one byte more than `size`; a file as long as was said takes a single call."""
    data = os.read(handle, min(size, _CHUNK) + 1)
    if len(data) == size:
        return data
    chunks = [data]
    while data and (missing := size + 1 - sum(map(len, chunks))) > 0:
        data = os.read(handle, min(missing, _CHUNK))
        chunks.append(data)
    return b"".join(chunks)
