"""What the search index keeps of a text besides its own words: defined names and subwords.

Pure and deterministic: a row leaves the index by naming the same words again, so any change
here needs a new INDEX_VERSION, which makes the next opening index everything anew.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

INDEX_VERSION = 1

# Words whose script writes no spaces, which the tokenizer would keep as one token.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003134f"
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_BESIDE = re.compile(f"(?<=[{UNSPACED}])[A-Za-z0-9]+|[A-Za-z0-9]+(?=[{UNSPACED}])")
_WORD = re.compile(r"[A-Za-z0-9]+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LONGEST_WORD = 60
_MOST_PIECES = 8
_LONGEST_NAME = 100

# One line per definition, whatever stands before the keyword ("export default async function").
_DEFINITION = re.compile(
    r"^[ \t]*(?:[a-z]+(?:\([a-z]+\))? ){0,5}"
    r"(?:def|class|func|function|fn|fun|struct|enum|trait|interface|type|module|mod|impl|package"
    r"|namespace|object|record|protocol|const|let|var|val|macro_rules!|#define|sub|proc)"
    r"[ \t]+(?:\([^()\n]{0,80}\)[ \t]*)?(?:self\.)?([^\W\d]\w*)",
    re.MULTILINE,
)
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::[^=\n]{1,80})?=(?!=)", re.MULTILINE)
_C_FUNCTION = re.compile(
    r"^[ \t]*(?:[A-Za-z_][\w:<>,\[\]]*[ \t*&]+){1,6}([A-Za-z_]\w*)[ \t]*\([^;\n]*$", re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S[^\n]*)$", re.MULTILINE)
_C_LIKE = frozenset({"c", "c++", "c#", "java", "objective-c", "cuda", "arduino"})


class IndexRow(NamedTuple):
    """The columns of `search`."""

    title: str
    names: str
    body: str
    parts: str


def index_row(title: str | None, body: str, language: str | None, mime: str | None) -> IndexRow:
    """What is indexed of an item."""
    text, heading = normal(body), normal(title or "")
    names = dict.fromkeys(_names(text, language, mime))
    return IndexRow(heading, _name_words(names), text, " ".join(_parts(heading, text)))


def normal(text: str) -> str:
    """`text` in the one form that the index knows, without the NUL that ends a C string."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.replace("\0", " ") if "\0" in text else text


def pieces(word: str) -> list[str]:
    """The subwords of an identifier: parseHTTPHeader is parse, HTTP, Header; else none."""
    if len(word) > _LONGEST_WORD or (word.islower() and word.isalpha()):
        return []
    found = _PIECE.findall(word)
    return found if 1 < len(found) <= _MOST_PIECES else []


def bigrams(run: str) -> str:
    """A run of an unspaced script as overlapping pairs, the last character alone at the end."""
    return " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]])


def exact_name(words: Iterable[str]) -> str:
    """One token for a whole defined name, the same for parse_http_header and parseHTTPHeader."""
    return "def0" + "".join(words).lower()


def spelt_name(name: str) -> str:
    """One token for a defined name with its underscores, so that the spelling asked for leads."""
    return "def1" + re.sub(r"[^\w]|_", lambda gap: "0" if gap[0] == "_" else "", name).lower()


def unspaced_runs(text: str) -> list[str]:
    """The runs of `text` in scripts without spaces."""
    return [] if text.isascii() else _UNSPACED_RUN.findall(text)


def _parts(title: str, text: str) -> Iterator[str]:
    for source in (title, text):
        for word in dict.fromkeys(_WORD.findall(source)):
            yield from pieces(word)
    for source in (title, text):
        if not source.isascii():
            yield from dict.fromkeys(_BESIDE.findall(source))
            yield from map(bigrams, dict.fromkeys(unspaced_runs(source)))


def _names(text: str, language: str | None, mime: str | None) -> Iterator[str]:
    if language == "markdown" or mime == "text/markdown" or language is mime is None:
        yield from (match.strip(" \t#") for match in _HEADING.findall(text))
    if language == "markdown":
        return
    yield from _DEFINITION.findall(text)
    if language in _C_LIKE:
        yield from _C_FUNCTION.findall(text)
    elif language == "python":
        yield from _ASSIGNMENT.findall(text)


def _name_words(names: Iterable[str]) -> str:
    return " ".join(part for name in names for part in _of_name(name[:_LONGEST_NAME]))


def _of_name(name: str) -> Iterator[str]:
    words = re.findall(r"[^\W_]+", name)
    if not words:
        return
    yield spelt_name(name)
    yield exact_name(words)
    yield name
    yield from (piece for word in words for piece in pieces(word))
