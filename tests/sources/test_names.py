"""Names: injective, reversible, valid UTF-8, and otherwise untouched."""

from __future__ import annotations

import os
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syncd.sources.names import escape, name_bytes, printable, unescape

# Bytes around the private-use block, where an escape could be taken for a genuine character.
TRICKY = st.lists(
    st.sampled_from([b"a", b"\xee", b"\xbe", b"\xbf", b"\x80", b"\xff", b"\xee\xbe\x80", b"\n"])
).map(b"".join)
NAMES = st.one_of(st.binary(max_size=40), TRICKY, st.text(max_size=20).map(os.fsencode))


@given(NAMES)
@example(b"caf\xe9.md")
@example("\uef80".encode())
@example(b"\xee\xbe")
def test_every_name_comes_back(raw: bytes) -> None:
    text = escape(os.fsdecode(raw))
    text.encode()  # valid UTF-8
    assert name_bytes(text) == raw
    assert os.fsencode(unescape(text)) == raw


@given(NAMES, NAMES)
def test_two_names_stay_two(one: bytes, other: bytes) -> None:
    assert (escape(os.fsdecode(one)) == escape(os.fsdecode(other))) == (one == other)


@given(st.text(st.characters(exclude_categories=["Cs", "Co"]), max_size=30))
def test_ordinary_names_are_kept_exactly(name: str) -> None:
    assert escape(name) == name
    assert unescape(name) == name


def test_normal_forms_and_odd_characters_are_left_alone() -> None:
    composed = "café\n\\ \u212b.md"
    for form in (composed, unicodedata.normalize("NFD", composed)):
        assert escape(form) == form


def test_a_byte_is_spelt_as_a_private_character() -> None:
    assert escape(os.fsdecode(b"caf\xe9.md")) == "caf\uefe9.md"
    assert escape("\uef80") == "\uefee\uefbe\uef80"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("plain/é.md", "plain/é.md"),
        ("caf\uefe9.md", r"caf\xe9.md"),
        ("a\nb\x1b[31m\t", r"a\nb\x1b[31m\t"),
        ("left\u202eright\u2028", r"left\u202eright\u2028"),
    ],
)
def test_printable(path: str, shown: str) -> None:
    assert printable(path) == shown


@given(NAMES)
def test_printable_never_breaks_a_line(raw: bytes) -> None:
    shown = printable(escape(os.fsdecode(raw)))
    assert len(shown.splitlines()) <= 1
    shown.encode()
