"""What a directory says about itself: its ignore files, and that it is a cache or an environment.

Ignore files are only believed when they are regular files that could be read whole: an unreadable
one is an error for its directory, since "no rules" would leak what the rules keep out.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from collections.abc import Collection
from typing import NamedTuple

from syncd.sources import builtin, gitignore
from syncd.sources.seen import Look

# Read in this order, so that a pattern of .syncdignore decides over one of .gitignore.
IGNORE_FILES = (".gitignore", ".syncdignore")
MARK_FILES = frozenset({*IGNORE_FILES, "pyvenv.cfg", "CACHEDIR.TAG"})
# https://bford.info/cachedir/
_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_MAX_IGNORE_FILE = 4 * 1024 * 1024
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_A_FILE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}
_MAX_CACHED = 4096


class Marks(NamedTuple):
    """`patterns` of the ignore files here, `digest` of their bytes, `reason` to leave all out."""

    patterns: gitignore.Patterns | None = None
    digest: bytes = b""
    reason: str | None = None


class MarkReader:
    """Reads marks, keeping compiled ignore files for as long as the files look the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Look, list[gitignore.Pattern], bytes]] = {}
        self._compiled: dict[bytes, gitignore.Patterns] = {}

    def read(self, os_dir: str, present: Collection[str] = MARK_FILES) -> Marks:
        """The marks of a directory, of which `present` may exist.

        Raises OSError when an ignore file is there and cannot be read.
        """
        if not present:
            return Marks()
        reason = _reason(os_dir, present)
        patterns: list[gitignore.Pattern] = []
        digest = b""
        for name in IGNORE_FILES:
            if name in present:
                more, its_digest = self._ignore_file(f"{os_dir}/{name}")
                patterns += more
                digest += its_digest
        return Marks(self._compile(patterns, digest), digest, reason)

    def _compile(
        self, patterns: list[gitignore.Pattern], digest: bytes
    ) -> gitignore.Patterns | None:
        if not patterns:
            return None
        known = self._compiled.get(digest)
        if known is None:
            if len(self._compiled) > _MAX_CACHED:
                self._compiled.clear()
            known = self._compiled[digest] = gitignore.Patterns(patterns)
        return known

    def _ignore_file(self, path: str) -> tuple[list[gitignore.Pattern], bytes]:
        known = self._known.get(path)
        if known is not None and known[0] == _look_at(path):
            return known[1], known[2]
        found = _read_regular(path, _MAX_IGNORE_FILE)
        if found is None:
            self._known.pop(path, None)
            return [], b""
        data, look, settled = found
        if len(data) > _MAX_IGNORE_FILE:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
        patterns, digest = gitignore.parse(data), hashlib.sha256(data).digest()
        if settled:
            if len(self._known) > _MAX_CACHED:
                self._known.clear()
            self._known[path] = (look, patterns, digest)
        return patterns, digest


def present_marks(os_dir: str) -> frozenset[str]:
    """The mark files that are certainly there: for those who only want to save themselves work."""
    here = f"{os_dir}/"
    return frozenset(name for name in MARK_FILES if os.access(here + name, os.F_OK))


def look_of(status: os.stat_result) -> Look:
    """The look of a file from its status."""
    return Look(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def is_settled(look: Look, now_ns: int) -> bool:
    """Whether any write after `now_ns` must change the look: the clock of the file has moved on.

    File systems stamp with the kernel's tick (up to 10 ms), some with whole seconds (FAT: two).
    """
    newest = max(look.mtime_ns, look.ctime_ns)
    coarse = look.mtime_ns % 1_000_000_000 == 0 and look.ctime_ns % 1_000_000_000 == 0
    return now_ns - newest >= (2_000_000_000 if coarse else 50_000_000)


def _look_at(path: str) -> Look | None:
    try:
        return look_of(os.lstat(path))
    except OSError:
        return None  # the open that follows says why


def _reason(os_dir: str, present: Collection[str]) -> str | None:
    if "pyvenv.cfg" in present and os.path.lexists(f"{os_dir}/pyvenv.cfg"):
        return builtin.VIRTUAL_ENVIRONMENT
    if "CACHEDIR.TAG" in present and _is_tagged(f"{os_dir}/CACHEDIR.TAG"):
        return builtin.CACHE
    return None


def _is_tagged(path: str) -> bool:
    try:
        found = _read_regular(path, len(_SIGNATURE))
    except OSError:
        return False  # a tag that nobody can read tags nothing
    return found is not None and found[0].startswith(_SIGNATURE)


def _read_regular(path: str, limit: int) -> tuple[bytes, Look, bool] | None:
    """At most `limit` + 1 bytes of a regular file, its look, and whether settled; else None."""
    try:
        handle = os.open(path, _OPEN)
    except OSError as error:
        if error.errno in _NOT_A_FILE:
            return None
        raise
    try:
        now = time.time_ns()
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        look = look_of(status)
        return _read_all(handle, limit + 1), look, is_settled(look, now)
    finally:
        os.close(handle)


def _read_all(handle: int, limit: int) -> bytes:
    chunks: list[bytes] = []
    while limit > 0 and (chunk := os.read(handle, limit)):
        chunks.append(chunk)
        limit -= len(chunk)
    return b"".join(chunks)
