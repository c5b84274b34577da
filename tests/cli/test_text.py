"""Text on a terminal: nothing is wider than it should be, and nothing is obeyed."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.cli.text import (
    amount,
    best_line,
    clip,
    clip_left,
    columns,
    harmless,
    lasting,
    one_line,
    plural,
    spans,
    table,
    window,
    words,
)

TEXTS = st.text(st.characters(), max_size=40)


def test_columns() -> None:
    assert [columns(text) for text in ("abc", "漢字", "é", "e\u0301", "")] == [3, 4, 1, 1, 0]


def test_cutting() -> None:
    assert clip("abcdef", 6) == "abcdef"
    assert clip("abcdef", 4) == "abc…"
    assert clip("漢字漢字", 4) == "漢…"
    assert clip("abc", 0) == ""
    assert clip_left("/a/b/c.md", 6) == "…/c.md"
    assert clip_left("/a/e\u0301.md", 5) == "…e\u0301.md"


@settings(deadline=None)
@given(TEXTS, st.integers(0, 30))
def test_what_is_cut_fits(text: str, width: int) -> None:
    plain = one_line(text)
    assert columns(clip(plain, width)) <= width
    assert columns(clip_left(plain, width)) <= width
    assert columns(window(plain, words(plain), width)) <= width


@settings(deadline=None)
@given(st.text(st.characters()))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    for shown in (one_line(text), harmless(text).replace("\n", "").replace("\t", "")):
        assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs")]
    assert "\n" not in one_line(text)


def test_harmless_keeps_lines_and_tabs() -> None:
    assert harmless("a\tb\n\x1b[31mc") == "a\tb\n\\x1b[31mc"


@settings(deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=5), st.integers(20, 80))
def test_a_table_fits_and_is_aligned(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = table(rows, width, right=(0,), paths=(1,))
    assert len(lines) == len(rows)
    assert all(columns(line) <= width for line in lines)


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(0, 200), st.integers(4, 200), st.integers(20, 120))
def test_a_table_uses_the_room_there_is(one: int, two: int, three: int, width: int) -> None:
    (line,) = table([("a" * one, "b" * two, "c" * three)], width)
    assert columns(line) == min(width, one + two + three + 4)


def test_a_column_that_must_be_whole_is() -> None:
    (line,) = table([("0123456789", "a long cell that is cut")], 20, whole=(0,))
    assert line == "0123456789  a long …"


def test_a_table_of_nothing_is_nothing() -> None:
    assert table([], 80) == []


def test_words_and_where_they_stand() -> None:
    assert words("The HTTP the C++") == ["http", "the", "c"]
    parts = ["header", "parse", "http"]
    assert words("parseHTTPHeader") == ["parsehttpheader", *parts]
    assert words("parse_http_header") == ["parse_http_header", *parts]
    assert spans("parseHTTPHeader", ["http"]) == [(5, 9)]
    assert spans("abc", []) == []


def test_the_line_that_holds_most_of_the_words() -> None:
    assert best_line("a\n\nhttp\nhttp header\nb", ["header", "http"]) == (3, "http header")
    assert best_line("\n a\nb", ["x"]) == (1, " a")
    assert best_line("", []) == (0, "")


def test_the_window_shows_the_word_that_was_looked_for() -> None:
    line = "x" * 200 + " needle " + "y" * 200
    assert "needle" in window(line, ["needle"], 40)


def test_amounts() -> None:
    shown = [amount(size) for size in (0, 1023, 1024, 150 << 10, 5 << 20, 3 << 30)]
    assert shown == ["0 B", "1023 B", "1.0 KiB", "150 KiB", "5.0 MiB", "3.0 GiB"]
    assert [plural(1, "item"), plural(1200, "item")] == ["1 item", "1,200 items"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 s"), (89, "89 s"), (90, "2 min"), (3599, "60 min"), (5400, "1 h 30 min")],
)
def test_time_as_people_say_it(seconds: float, said: str) -> None:
    assert lasting(seconds) == said
