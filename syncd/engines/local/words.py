"""What the search index keeps of a text besides its own words: defined names and subwords.

Pure and deterministic: a row leaves the index by naming the same words again, so any change
here needs a new INDEX_VERSION, which makes the next opening index everything anew.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

INDEX_VERSION = 1

# Scripts that write no spaces, whose runs the tokenizer would keep as one token each.
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003134f"
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_BESIDE = re.compile(f"(?<=[{UNSPACED}])[A-Za-z0-9]+|[A-Za-z0-9]+(?=[{UNSPACED}])")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Python入門 is two words: the tokenizer would want both at once, a reader may type either.
WORD = re.compile(f"[{UNSPACED}]+|[^\\W_{UNSPACED}]+")
_LONGEST_WORD = 60
_MOST_PIECES = 8
_LONGEST_NAME = 100

# One byte a character, by its class, so that `find` looks for the turns inside identifiers; that
# costs a tenth of a regular expression over the whole text.
_CLASS = bytes(
    ord("0") if 48 <= c <= 57 else ord("A") if 65 <= c <= 90 else ord("a") if 97 <= c <= 122 else 32
    for c in range(256)
)
_TURNS_OF_LETTERS = (b"aA", b"AAa")
_TURNS = (*_TURNS_OF_LETTERS, b"a0", b"A0", b"0a", b"0A")

_KEYWORDS = (
    "class|const|def|enum|fn|fun|func|function|impl|interface|let|mod|module|namespace|object"
    "|package|proc|protocol|record|struct|sub|trait|type|typedef|union|val|var|#define|macro_rules!"
)
_MODIFIERS = (
    "abstract async data declare default export extern final inline internal open override partial"
    " private protected pub public sealed static suspend unsafe virtual pub(crate) pub(super)"
)
_OPENERS = frozenset((*_KEYWORDS.split("|"), *_MODIFIERS.split()))
_DEFINITION = re.compile(
    r"\s*(?:[a-z]+(?:\([a-z]+\))? ){0,5}"
    rf"(?:{_KEYWORDS})[ \t*]+(?:\([^()]{{0,80}}\)[ \t]*)?(?:self\.)?([^\W\d]\w*)"
)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)[ \t]*(?::[^=]{1,80})?=(?!=)")
_C_FUNCTION = re.compile(
    r"[ \t]*(?:[A-Za-z_][\w:<>,\[\]]*[ \t*&]+){1,6}([A-Za-z_]\w*)[ \t]*\([^;]*$"
)
_LONGEST_LINE = 400
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)")
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
    names = _name_words(heading, dict.fromkeys(_names(text, language, mime)))
    return IndexRow(heading, names, text, " ".join(_parts(f"{heading}\n{text}")))


def normal(text: str) -> str:
    """`text` in the one form that the index knows, without the NUL that ends a C string."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.replace("\0", " ") if "\0" in text else text


def pieces(word: str) -> list[str]:
    """The subwords of an identifier: parseHTTPHeader is parse, HTTP, Header; else none."""
    if len(word) > _LONGEST_WORD:
        return []
    found = _PIECE.findall(word)
    return found if 1 < len(found) <= _MOST_PIECES else []


def bigrams(run: str) -> str:
    """A run of an unspaced script as overlapping pairs, the last character alone at the end."""
    return " ".join([*(run[i : i + 2] for i in range(len(run) - 1)), run[-1]])


def subwords(word: str) -> list[str]:
    """The words that stand for `word` one after the other: subwords, pairs, or itself."""
    if unspaced_runs(word):
        # Without the lone last character: in the index, a longer run goes on where this one ends.
        return bigrams(word).split()[: max(1, len(word) - 1)]
    return pieces(word) or [word]


def exact_name(words: Iterable[str]) -> str:
    """One token for a whole defined name, the same for parse_http_header and parseHTTPHeader."""
    return "def0" + "".join(words).lower()


def spelt_name(identifier: str) -> str:
    """One token for an identifier with its underscores: the spelling asked for leads."""
    return "def1" + identifier.replace("_", "0").lower()


def name_words(words: Iterable[str]) -> str:
    """Words of a name or a title as tokens of their own.

    Were they the plain words, each look into the names would walk past every text with them.
    """
    return " ".join(map(_name_tokens, words))


@functools.lru_cache(maxsize=16384)
def _name_tokens(word: str) -> str:
    return " ".join(f"n0{part}" for part in subwords(word))


def unspaced_runs(text: str) -> list[str]:
    """The runs of `text` in scripts without spaces."""
    return [] if text.isascii() else _UNSPACED_RUN.findall(text)


def _parts(text: str) -> Iterator[str]:
    yield from filter(None, map(_joined_pieces, mixed_words(text)))
    if not text.isascii():
        yield from dict.fromkeys(_BESIDE.findall(text))
        yield from map(bigrams, dict.fromkeys(unspaced_runs(text)))


# The same identifiers come again and again in the files of one project.
@functools.lru_cache(maxsize=16384)
def _joined_pieces(word: str) -> str:
    return " ".join(pieces(word))


def mixed_words(text: str) -> dict[str, None]:
    """The different ASCII words of `text` that have subwords, as the keys of a dict."""
    classes = text.encode("latin-1", "replace").translate(_CLASS)
    found: dict[str, None] = {}
    for turn in _TURNS if b"0" in classes else _TURNS_OF_LETTERS:
        at = classes.find(turn)
        while at >= 0:
            end = classes.find(b" ", at)
            end = end if end >= 0 else len(classes)
            found[text[classes.rfind(b" ", 0, at) + 1 : end]] = None
            at = classes.find(turn, end)
    return found


def _names(text: str, language: str | None, mime: str | None) -> list[str]:
    lines = text.split("\n")
    names: list[str] = []
    if language == "markdown" or mime == "text/markdown" or language is mime is None:
        names += _matches(_HEADING, [line for line in lines if line.startswith("#")])
    if language == "markdown":
        return names
    opened = [line for line in lines if (first := line.split(None, 1)) and first[0] in _OPENERS]
    names += _matches(_DEFINITION, opened)
    if language in _C_LIKE:
        ends = [line for line in lines if "(" in line and not line.endswith(";")]
        names += _matches(_C_FUNCTION, ends)
    elif language == "python":
        level = [line for line in lines if "=" in line and not line.startswith((" ", "\t"))]
        names += _matches(_ASSIGNMENT, level)
    return names


def _matches(pattern: re.Pattern[str], lines: list[str]) -> list[str]:
    found = [pattern.match(line, 0, _LONGEST_LINE) for line in lines]
    return [match[1].strip(" \t#\r") for match in found if match]


def _name_words(title: str, names: Iterable[str]) -> str:
    tokens = [name_words(WORD.findall(title))] if title else []
    for name in names:
        tokens += _whole(name[:_LONGEST_NAME])
    return " ".join(tokens)


# As with subwords: the files of a project define the same names over and over.
@functools.lru_cache(maxsize=16384)
def _whole(name: str) -> tuple[str, ...]:
    """A name as the tokens that stand for all of it, and its words."""
    words = WORD.findall(name)
    if not words:
        return ()
    whole = (spelt_name(name),) if name.isidentifier() else ()
    return (*whole, exact_name(words), name_words(words), *_flattened(words))


def _flattened(words: list[str]) -> tuple[str, ...]:
    """The words as they are spelt, where they have subwords: parsehttpheader finds them too."""
    return tuple(f"n0{word}" for word in words if subwords(word) != [word])
