"""`python -m tests.bench.gitignore [LISTS]`: pathspec and syncd's own patterns against real git.

This is why pathspec is not used: both get the same random ignore files, and git judges. The same
walk serves both, which asks level by level and prunes what is ignored.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from pathspec import GitIgnoreSpec

from syncd.sources.gitignore import Patterns, byte_text, parse
from syncd.sources.names import escape
from tests.sources.test_gitignore import NAMES, PIECES
from tests.sources.trees import git, git_others

Verdict = Callable[[str, bool], bool | None]


def ours(data: bytes) -> Verdict:
    patterns = Patterns(parse(data))
    return lambda path, is_directory: patterns.verdict(byte_text(escape(path)), is_directory)


def pathspecs(data: bytes) -> Verdict:
    spec = GitIgnoreSpec.from_lines(data.decode("utf-8-sig").splitlines())
    return lambda path, is_directory: spec.check_file(path + "/" * is_directory).include


def kept(root: Path, verdict: Verdict, below: str = "") -> set[bytes]:
    """What is not ignored below a directory."""
    found: set[bytes] = set()
    for entry in os.scandir(root / below):
        path = f"{below}{entry.name}"
        if path == ".git" or verdict(path, entry.is_dir()):
            continue
        found |= kept(root, verdict, path + "/") if entry.is_dir() else {os.fsencode(path)}
    return found


def plant(root: Path, chance: random.Random) -> None:
    for _ in range(60):
        path = root.joinpath(*chance.choices(NAMES, k=chance.randint(1, 3)))
        if not path.exists() and not any(parent.is_file() for parent in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text")


def main() -> None:
    lists = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    chance = random.Random(26)
    wrong = {"syncd": 0, "pathspec": 0}
    refused = 0
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = Path(place)
        git("init", "-q", ".", cwd=root)
        plant(root, chance)
        for _ in range(lists):
            lines = ["".join(chance.choices(PIECES, k=chance.randint(1, 5))) for _ in range(4)]
            data = "\n".join(lines).encode()
            (root / ".gitignore").write_bytes(data)
            right = git_others(root)
            wrong["syncd"] += kept(root, ours(data)) != right
            try:
                wrong["pathspec"] += kept(root, pathspecs(data)) != right
            except (ValueError, re.error):
                refused += 1
    print(f"{lists} random ignore files, answers that differ from git's:")
    print(f"  syncd {wrong['syncd']}, pathspec {wrong['pathspec']} and {refused} refused")


if __name__ == "__main__":
    main()
