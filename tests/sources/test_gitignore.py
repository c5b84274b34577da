"""Ignore patterns answer as git does: compared with real git, then the subtle ones by name."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from syncd.sources.gitignore import Patterns, byte_text, parse
from syncd.sources.names import name_bytes
from tests.sources.trees import git, git_others, grow, kept, source

PIECES = [
    *("a", "b", "ab", "*", "**", "?", "/", "/", "**/", "/**", "!", ".txt", " ", "\t", "\\", "#"),
    *("[a]", "[!a]", "[^a]", "[a-b]", "[b-a]", "[]a]", "[a", "]", "-", "[[:alpha:]]", "[^/]"),
    *("[[:digit:]x]", "[[:nope:]]", "[:", "é", "\\*", "\\/", "\r", "^"),
]
NAMES = ["a", "b", "ab", "aab", "a.txt", "x", "é", "a b", "a ", "[a]", "a\tb", "#a", "!a", "^", "1"]
LINES = st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), max_size=4)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)


def ignore_file(lines: list[str], ending: str, mark: bool) -> bytes:
    return (b"\xef\xbb\xbf" if mark else b"") + ending.join(lines).encode()


IGNORE_FILES = st.builds(ignore_file, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
TREES = st.tuples(
    st.sets(PATHS, min_size=1, max_size=12),
    st.dictionaries(
        st.sampled_from(["", "a/", "b/", "a/b/", "ab/", "x/"]), IGNORE_FILES, max_size=3
    ),
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    git("init", "-q", ".", cwd=root)
    return root


def replant(root: Path, files: set[str], ignores: dict[str, bytes]) -> None:
    for child in root.iterdir():
        if child.name != ".git":
            shutil.rmtree(child) if child.is_dir() else child.unlink()
    for path in sorted(files, key=len, reverse=True):
        if not (root / path).exists() and not any(p.is_file() for p in (root / path).parents):
            grow(root, {path: "text"})
    for directory, data in ignores.items():
        if (root / directory).is_dir():
            grow(root, {directory + ".gitignore": data})


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(TREES)
@example(({"a/b/x", "a/x", "x"}, {"": b"a/*\n!a/b\n", "a/": b"!x"}))
@example(({"ab/x", "a/x/b", "axx/b"}, {"": b"a**/b"}))
@example(({"a", "a ", "a b"}, {"": b"a \n"}))
@example(({"a", "a "}, {"": b"a\\ \n"}))
def test_a_tree_is_what_git_says(checkout: Path, tree: tuple[set[str], dict[str, bytes]]) -> None:
    replant(checkout, *tree)
    assert {name_bytes(key) for key in kept(source(checkout))} == git_others(checkout)


CASE_26 = "d/\n!d/keep.md\ne/*\n!e/keep.md\nf/**\n!f/keep.md\n*.log\n!top.log\nout/\n"
CASE_26_FILES = {
    *("d/keep.md", "d/x.md", "d/sub/y.md", "e/keep.md", "e/x.md", "f/keep.md", "f/s/x.md"),
    *("a.log", "top.log", "out/top.log", "s/top.log", "ok.md"),
}


def test_what_lies_below_an_ignored_directory_cannot_come_back(checkout: Path) -> None:
    replant(checkout, CASE_26_FILES, {"": CASE_26.encode()})
    expected = {".gitignore", "e/keep.md", "f/keep.md", "ok.md", "s/top.log", "top.log"}
    assert kept(source(checkout)) == expected
    assert {path.encode() for path in expected} == git_others(checkout)


def verdict(lines: str | bytes, path: str, is_directory: bool = False) -> bool | None:
    data = lines.encode() if isinstance(lines, str) else lines
    return Patterns(parse(data)).verdict(byte_text(path), is_directory)


@pytest.mark.parametrize(
    ("lines", "path", "expected"),
    [
        ("*.log\n!keep.log", "keep.log", False),
        ("*.log\n!keep.log", "x/other.log", True),
        ("!keep.log\n*.log", "keep.log", True),
        ("/a", "b/a", None),
        ("a/b", "x/a/b", None),
        ("**/a/b", "x/y/a/b", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**", "a/x/y", True),
        ("a/**", "a", None),
        ("x[^a]y", "x/y", None),
        ("\\#a", "#a", True),
        ("#a", "#a", None),
        ("\\!a", "!a", True),
        ("a\\", "a", None),
        ("a\\", "a\\", None),
        ("[[:upper:]]x", "Ax", True),
        ("[[:upper:]]x", "ax", None),
        ("[b-a]", "a", None),
        ("?", "é", None),
        ("??", "é", True),
        ("a\0b", "a", True),
        (b"caf\xe9", "caf\uefe9", True),
        ("\ufeffa", "a", True),
        ("a\r\nb\r\n", "b", True),
        ("", "a", None),
        ("/", "a", None),
        ("*", "a\nb", True),
    ],
)
def test_patterns(lines: str | bytes, path: str, expected: bool | None) -> None:
    assert verdict(lines, path) is expected


def test_a_directory_pattern_matches_directories_only() -> None:
    assert verdict("a/", "a") is None
    assert verdict("a/", "a", is_directory=True) is True
    assert verdict("a//", "a", is_directory=True) is None


def test_many_stars_take_no_exponential_time() -> None:
    pattern = "*a" * 30 + "b"
    begun = time.process_time()
    assert verdict(pattern, "a" * 250) is None
    # With plain backtracking this takes longer than the universe has; the bound is no benchmark.
    assert time.process_time() - begun < 5


def test_thousands_of_patterns_compile() -> None:
    lines = "\n".join(f"/dir{n}/*.x{n}" for n in range(3000)) + "\n!/dir7/keep.x7"
    assert verdict(lines, "dir2999/a.x2999") is True
    assert verdict(lines, "dir7/keep.x7") is False
    assert verdict(lines, "dir7/other") is None
