"""Marks of directories: read again when they may have changed, and only then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from syncd.sources import marks
from syncd.sources.gitignore import Patterns
from syncd.sources.marks import MarkReader, Marks, present_marks
from tests.sources.trees import grow

TAG = "Signature: 8a477f597d28d172789f06886806bc55"


def age(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clock say that a file was written long ago (its ctime cannot be set)."""
    newest = path.stat().st_ctime_ns
    monkeypatch.setattr(marks.time, "time_ns", lambda: newest + 10 * 1_000_000_000)


def verdict(found: Marks, path: str) -> bool | None:
    assert isinstance(found.patterns, Patterns)
    return found.patterns.verdict(path, False)


def test_nothing_there(tmp_path: Path) -> None:
    assert MarkReader().read(str(tmp_path)) == Marks()
    assert MarkReader().read(str(tmp_path / "gone")) == Marks()
    assert present_marks(str(tmp_path)) == frozenset()


def test_an_empty_ignore_file_changes_nothing_but_the_digest(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "# nothing\n\n"})
    found = MarkReader().read(str(tmp_path))
    assert found.patterns is None
    assert found.digest


def test_both_ignore_files_in_order(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "*.log", ".syncdignore": "!a.log"})
    found = MarkReader().read(str(tmp_path))
    assert verdict(found, "a.log") is False
    assert verdict(found, "b.log") is True
    assert present_marks(str(tmp_path)) == {".gitignore", ".syncdignore"}


def test_only_what_is_present_is_looked_for(tmp_path: Path) -> None:
    grow(tmp_path, {".gitignore": "a", "pyvenv.cfg": "x"})
    found = MarkReader().read(str(tmp_path), {".gitignore"})
    assert found.reason is None
    assert MarkReader().read(str(tmp_path)).reason == "virtual environment"


@pytest.mark.parametrize(
    ("content", "reason"),
    [(TAG, "cache directory"), (TAG + "\nmore", "cache directory"), (TAG[:-1], None), ("", None)],
)
def test_a_tag_needs_its_signature(tmp_path: Path, content: str, reason: str | None) -> None:
    grow(tmp_path, {"CACHEDIR.TAG": content})
    assert MarkReader().read(str(tmp_path)).reason == reason


def test_a_settled_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, {".gitignore": "a\n"})
    age(tmp_path / ".gitignore", monkeypatch)
    reader = MarkReader()
    before = reader.read(str(tmp_path))
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(marks.os, "open", lambda p, *rest: opened.append(p) or real(p, *rest))
    assert reader.read(str(tmp_path)) == before
    assert not [path for path in opened if path.endswith(".gitignore")]
    grow(tmp_path, {".gitignore": "bb\n"})
    assert verdict(reader.read(str(tmp_path)), "bb") is True


def test_a_file_that_may_still_change_unseen_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(tmp_path, {".gitignore": "a\n"})
    path = tmp_path / ".gitignore"
    now = path.stat().st_ctime_ns  # written this very moment: the next write may look the same
    monkeypatch.setattr(marks.time, "time_ns", lambda: now)
    same = marks.look_of(path.stat())
    monkeypatch.setattr(marks, "look_of", lambda _: same)
    reader = MarkReader()
    reader.read(str(tmp_path))
    with path.open("r+") as file:
        file.write("b")
    assert verdict(reader.read(str(tmp_path)), "b") is True


def test_an_absurdly_large_ignore_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "_MAX_IGNORE_FILE", 10)
    grow(tmp_path, {".gitignore": "x" * 11})
    with pytest.raises(OSError, match="too large"):
        MarkReader().read(str(tmp_path))


def test_what_is_kept_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "_MAX_CACHED", 3)
    reader = MarkReader()
    for number in range(12):
        grow(tmp_path, {f"d{number}/.gitignore": f"x{number}\n"})
    age(tmp_path / "d11/.gitignore", monkeypatch)
    for number in range(12):
        reader.read(str(tmp_path / f"d{number}"))
    assert len(reader._known) <= 4
    assert len(reader._compiled) <= 4
