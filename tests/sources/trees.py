"""Small trees on disk, and what a source makes of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from syncd.sources import Blind, FolderSettings, FolderSource, LeftOut, Seen, Sighting

needs_permissions = pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
_QUIET = {
    **os.environ,
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "XDG_CONFIG_HOME": "/nonexistent",
}


def grow(root: Path, tree: Mapping[str, str | bytes]) -> Path:
    """Write files; a path that ends with "/" makes a directory."""
    for path, content in tree.items():
        target = root / path
        if path.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def source(root: Path, **settings: Any) -> FolderSource:
    return FolderSource(FolderSettings("notes", root, **settings))


def paths(seen: list[Seen]) -> list[str]:
    return [one.path for one in seen]


def left_out(seen: list[Seen]) -> dict[str, str]:
    return {one.path: one.reason for one in seen if isinstance(one, LeftOut)}


def blind(seen: list[Seen]) -> dict[str, str]:
    return {one.path: one.reason for one in seen if isinstance(one, Blind)}


def verdicts(folder: FolderSource, under: str = "") -> dict[str, str | None]:
    """Every path that a scan names, with the reason to leave it out (None: it is read)."""
    found: dict[str, str | None] = {}
    for seen in folder.scan(under):
        found[seen.path] = folder.judge(seen) if isinstance(seen, Sighting) else seen.reason
    return found


def kept(folder: FolderSource, under: str = "") -> set[str]:
    return {path for path, reason in verdicts(folder, under).items() if reason is None}


def git(*arguments: str, cwd: Path) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=cwd, env=_QUIET, check=True, capture_output=True)
    return done.stdout


def git_others(root: Path) -> set[bytes]:
    """The files that git neither tracks nor ignores."""
    answer = git("ls-files", "-z", "--others", "--exclude-standard", cwd=root)
    return set(answer.split(b"\0")) - {b""}
