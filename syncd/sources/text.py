"""Bytes to text, strictly: no replacement characters, no byte-order mark, no NUL.

Order: byte-order mark, UTF-8, the NUL that says "binary", then chardet's guess where it is sure
enough and decodes the whole. Newlines stay as they are on disk.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

BINARY = "binary"
UNDECODABLE = "undecodable text"
BLANK = "blank"
# UTF-32LE begins like UTF-16LE, so it is asked first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SNIFFED = 8 * 1024
_GUESSED = 64 * 1024
_CONFIDENCE = 0.2
# Formats that open with text and go on without it.
_MAGIC = (b"%PDF-", b"{\\rtf", b"!<arch>\n", b"-----BEGIN PGP MESSAGE-----")
_CONTROLS = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd\ufffe\uffff]")

_SURROGATES = re.compile("[\ud800-\udfff]")  # UTF-7 can spell half a character


class Text(NamedTuple):
    """A decoded text and the name of the encoding it had."""

    text: str
    encoding: str


def decode(data: bytes) -> Text | str:
    """The text of a file's bytes, or the reason why it has none."""
    found = _decoded(data)
    if isinstance(found, str):
        return found
    text = found.text.lstrip("\ufeff")
    if "\0" in text:
        return BINARY
    return BLANK if not text or text.isspace() else Text(text, found.encoding)


def _decoded(data: bytes) -> Text | str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _strictly(data[len(mark) :], encoding) or UNDECODABLE
    if data.startswith(_MAGIC) or b"\0" in data[:_SNIFFED]:
        return BINARY
    return _strictly(data, "utf-8") or _guessed(data)


def _guessed(data: bytes) -> Text | str:
    import chardet  # a large table of models, which most folders never need

    guess = chardet.detect(data[:_GUESSED])
    encoding, confidence = guess["encoding"], guess["confidence"]
    if encoding is None or confidence < _CONFIDENCE:
        return UNDECODABLE
    found = _strictly(data, encoding)
    if found is None or _SURROGATES.search(found.text):
        return UNDECODABLE
    # A wrong guess shows itself by control characters where a text has letters.
    if len(_CONTROLS.findall(found.text)) * 200 > len(found.text):
        return UNDECODABLE
    return found


def _strictly(data: bytes, encoding: str) -> Text | None:
    try:
        return Text(data.decode(encoding), encoding.lower())
    except (UnicodeDecodeError, LookupError):
        return None
