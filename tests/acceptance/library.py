"""A copy of this Python's standard library, and an independent account of what is in it.

Nothing here asks syncd what a file should become: the tree is walked and decoded anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sysconfig
from collections.abc import Iterable
from encodings.aliases import aliases
from pathlib import Path

# All of it when this is set; else what a slow machine syncs in a few seconds.
WHOLE = bool(os.environ.get("SYNCD_WHOLE_STDLIB"))
LEAST = 1500
_LARGE = 100_000
_HALVES = tuple(f"test_{letter}" for letter in "efgijlmopqrtvx")
_CODECS = sorted(set(aliases.values()))


def copy_to(root: Path) -> None:
    """Copy the library, without what was installed on top of it."""
    shutil.copytree(sysconfig.get_path("stdlib"), root, ignore=_unwanted, symlinks=True)


def _unwanted(directory: str, names: list[str]) -> set[str]:
    unwanted = {"site-packages", "dist-packages", "__pycache__"}
    if not WHOLE:
        tests = os.path.basename(directory) == "test"
        unwanted |= {name for name in names if tests and name.startswith(_HALVES)}
        unwanted |= {name for name in names if _size(os.path.join(directory, name)) > _LARGE}
    return unwanted & set(names)


def _size(path: str) -> int:
    found = os.lstat(path)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def files(root: Path) -> dict[str, bytes]:
    """Every regular file with its bytes, by path below the root."""
    out = {}
    for at, _, names in os.walk(root):
        for name in names:
            path = os.path.join(at, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                out[os.path.relpath(path, root)] = Path(path).read_bytes()
    return out


def metadata(root: Path) -> dict[str, tuple[int, ...]]:
    """What the kernel knows of every entry, access times apart; ctime tells of any change."""
    out = {}
    for at, directories, names in os.walk(root):
        for name in (*directories, *names):
            found = os.lstat(os.path.join(at, name))
            out[os.path.relpath(os.path.join(at, name), root)] = (
                *(found.st_mode, found.st_uid, found.st_gid, found.st_ino, found.st_nlink),
                *(found.st_size, found.st_mtime_ns, found.st_ctime_ns),
            )
    return out


def is_text_of(text: str, data: bytes) -> bool:
    """Whether `text` is exactly what the bytes say."""
    try:
        return text == data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return any(text == decoded for decoded in _readings(data))


def _readings(data: bytes) -> Iterable[str]:
    for codec in _CODECS:
        try:
            yield data.decode(codec)
        except (UnicodeError, LookupError):
            continue


def explains(reason: str, path: str, data: bytes) -> bool:
    """Whether a reason for leaving a file out is true of it. Raises KeyError for an unknown one."""
    text = data.decode("utf-8", "replace")
    utf8 = "\ufffd" not in text
    return {
        "blank": lambda: not text.strip("\ufeff \t\r\n\f\v"),
        "binary": lambda: b"\0" in data or not utf8 or data.startswith((b"%PDF", b"!<arch>")),
        "undecodable text": lambda: not utf8,
        "larger than max_file_size": lambda: len(data) > 10 * 1024 * 1024,
        "secrets": lambda: path.endswith((".pem", ".key", ".p12", ".pypirc", ".netrc")),
        "backups": lambda: path.endswith(("~", ".bak", ".orig", ".swp")),
    }[reason]()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
