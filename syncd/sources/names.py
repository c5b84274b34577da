"""File names as text: every name keeps its own spelling, and every byte can be had back.

Names are valid UTF-8 afterwards. A byte 0xNN that is not UTF-8 becomes U+EF00+NN (the convention
of OPTU-8); a genuine U+EF80..U+EFFF is spelt by its own three bytes the same way, so that no two
names on disk ever share one spelling. Everything else, newlines and NFD included, stays as it is.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata

_NEEDS_ESCAPE = re.compile("[\udc80-\udcff\uef80-\uefff]")
_ESCAPED = re.compile("[\uef80-\uefff]")
_BASE = 0xEF00
_UTF8_NAMES = sys.getfilesystemencoding().lower() in {"utf-8", "utf8"}
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def escape(name: str) -> str:
    """The spelling of an OS name or path (as `os.fsdecode` gives it) in keys and items."""
    if name.isascii():
        return name
    if not _UTF8_NAMES:
        # The same bytes must give the same item whatever the locale of the process is.
        name = os.fsencode(name).decode("utf-8", "surrogateescape")
    if _NEEDS_ESCAPE.search(name) is None:
        return name
    return _NEEDS_ESCAPE.sub(_spell, name)


def unescape(text: str) -> str:
    """The OS name again: `unescape(escape(name)) == name` for every name on disk."""
    if text.isascii():
        return text
    if _UTF8_NAMES and _ESCAPED.search(text) is None:
        return text
    return os.fsdecode(name_bytes(text))


def name_bytes(text: str) -> bytes:
    """The bytes on disk of an escaped name or path."""
    if _ESCAPED.search(text) is None:
        return text.encode()
    return _ESCAPED.sub(lambda found: chr(ord(found[0]) - _BASE + 0xDC00), text).encode(
        "utf-8", "surrogateescape"
    )


def printable(path: str) -> str:
    r"""A path for terminals and logs: on one line, escaped bytes as `\xNN`, nothing invisible."""
    return "".join(_show(character) for character in path)


def _spell(found: re.Match[str]) -> str:
    raw = found[0].encode("utf-8", "surrogateescape")
    return "".join(chr(_BASE + byte) for byte in raw)


def _show(character: str) -> str:
    if "\uef80" <= character <= "\uefff":
        return f"\\x{ord(character) - _BASE:02x}"
    if unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
