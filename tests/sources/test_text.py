"""Decoding is strict: the right text, or a reason, never a guess with holes in it."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syncd.sources.text import BINARY, BLANK, UNDECODABLE, Text, decode

WORDS = "Grüße from Windows 你好\r\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (WORDS.encode(), "utf-8"),
        (codecs.BOM_UTF8 + WORDS.encode(), "utf-8"),
        (codecs.BOM_UTF16_LE + WORDS.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + WORDS.encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF32_LE + WORDS.encode("utf-32-le"), "utf-32-le"),
        (codecs.BOM_UTF32_BE + WORDS.encode("utf-32-be"), "utf-32-be"),
    ],
)
def test_unicode_in_all_its_forms(data: bytes, encoding: str) -> None:
    assert decode(data) == Text(WORDS, encoding)


def test_a_mark_is_no_part_of_the_text() -> None:
    assert decode(codecs.BOM_UTF8 + b"# Title\n") == Text("# Title\n", "utf-8")
    assert decode(codecs.BOM_UTF8 * 2 + b"x") == Text("x", "utf-8")
    assert decode("a\ufeffb".encode()) == Text("a\ufeffb", "utf-8")


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", codecs.BOM_UTF8, codecs.BOM_UTF16_LE])
def test_blank(data: bytes) -> None:
    assert decode(data) == BLANK


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"text, then\0nothing",
        b"x" * 20_000 + b"\0",
        codecs.BOM_UTF16_LE + "a\0b".encode("utf-16-le"),
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj",
        "no mark".encode("utf-16-le"),
    ],
)
def test_binary(data: bytes) -> None:
    assert decode(data) == BINARY


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + b"\xff",
        codecs.BOM_UTF16_LE + b"\x00\xd8",
        codecs.BOM_UTF16_LE + b"odd",
        bytes(range(1, 256)) * 40,
    ],
)
def test_undecodable(data: bytes) -> None:
    assert decode(data) == UNDECODABLE


@pytest.mark.parametrize(
    ("data", "guess"),
    [
        (b"caf\xe9 " + b"\x81\x8d\x8f\x90" * 9, {"encoding": "iso-8859-1", "confidence": 0.9}),
        (b"caf\xe9 and more", {"encoding": "iso-8859-1", "confidence": 0.19}),
        (b"caf\xe9 and more", {"encoding": None, "confidence": 0.0}),
        (b"caf\xe9 and more", {"encoding": "no-such-codec", "confidence": 0.9}),
        (b"caf\xe9 and more", {"encoding": "ascii", "confidence": 0.9}),
    ],
)
def test_a_guess_is_not_believed_blindly(
    monkeypatch: pytest.MonkeyPatch, data: bytes, guess: dict[str, object]
) -> None:
    monkeypatch.setattr("chardet.detect", lambda _: guess)
    assert decode(data) == UNDECODABLE


LETTER = (
    "Sehr geehrte Damen und Herren, für die Grüße aus München möchten wir uns herzlich bedanken. "
    "Die Straße wäre heute natürlich schöner, wenn die Bäume blühten und die Vögel früher sängen. "
)


def test_an_old_western_encoding() -> None:
    found = decode((LETTER * 4).encode("cp1252"))
    assert isinstance(found, Text)
    assert found.text == LETTER * 4


def test_an_old_cyrillic_encoding() -> None:
    words = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 6
    found = decode(words.encode("cp1251"))
    assert isinstance(found, Text)
    assert found.text == words


def test_the_whole_must_decode_not_only_what_was_sniffed() -> None:
    data = ("你好，世界。这是一个测试文件。" * 3000).encode("gb18030") + b"\xff\xff\xff"
    assert decode(data) == UNDECODABLE


@given(st.text())
@example("\ufeffx")
def test_utf8_comes_back_exactly(text: str) -> None:
    found = decode(text.encode())
    bare = text.lstrip("\ufeff")
    if "\0" in bare:
        assert found == BINARY
    elif not bare.strip():
        assert found == BLANK
    elif not text.encode().startswith((b"%PDF-", b"{\\rtf", b"!<arch>\n")):
        assert found == Text(bare, "utf-8")


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=40).map(lambda b: b * 50)))
def test_any_bytes_give_a_clean_text_or_a_reason(data: bytes) -> None:
    found = decode(data)
    if isinstance(found, Text):
        found.text.encode()
        assert "\0" not in found.text
        assert not found.text.startswith("\ufeff")
        assert found.text.strip()
    else:
        assert found in {BINARY, UNDECODABLE, BLANK}
