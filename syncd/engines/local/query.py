"""What a person typed, as terms of the search index; nothing in it can be an operator.

Every word is quoted on its way to FTS5, so AND, NEAR, `-`, `^`, `:`, `*` and quotes are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from syncd.engines.local.words import (
    WORD,
    exact_name,
    name_words,
    normal,
    spelt_name,
    subwords,
    unspaced_runs,
)

MOST_TERMS = 32
_LONGEST = 1 << 16
_LONGEST_PHRASE = 6
_LONGEST_LITERAL = 4

_QUOTED = re.compile(r'"([^"]+)"')
_AROUND = "\"'` \t\n?!.,;:"
_SYMBOL = re.compile(r"[^\w\s]")

# Words that say nothing about a text; used only when a query has nothing else.
_STOP_WORDS = (
    "a about after all also am an and any are as at be been before being between both but by "
    "can could did do does doing done for from get had has have having he her here him his "
    "how i if in into is it its just like me more most my no not of on once only or other our "
    "out over own same she should so some such than that the their them then there these they "
    "this those through to too under until up us very was we were what when where which while "
    "who whom why will with would you your "
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Query:
    """`terms` are FTS5 expressions, one a significant word; `words` the words themselves.

    `spelt` is a whole defined name as it is spelt, `exact` the same with its words joined in any
    style, `names` a phrase in names and titles, `phrases` the quoted phrases whose `literals`
    the text must contain; empty where they do not apply.
    """

    text: str
    words: tuple[str, ...]
    terms: tuple[str, ...]
    spelt: str = ""
    exact: str = ""
    names: str = ""
    phrases: str = ""
    literals: tuple[str, ...] = ()


def parse(text: str) -> Query:
    """The query that `text` is; without terms when it holds no word at all."""
    whole = text.strip()
    known = normal(whole[:_LONGEST])
    every = list(islice(WORD.findall(known), 4096))
    words = tuple(_significant(every))
    phrases, literals = _literal(known)
    short = 0 < len(every) <= _LONGEST_PHRASE
    return Query(
        text=whole,
        words=words,
        terms=tuple(_term(word) for word in words),
        spelt=_quoted(spelt_name(name)) if (name := known.strip(_AROUND)).isidentifier() else "",
        exact=_quoted(exact_name(every)) if short else "",
        names=_quoted(name_words(every)) if short else "",
        phrases=phrases,
        literals=literals,
    )


def any_of(terms: Iterable[str]) -> str:
    """Rows that hold at least one of `terms`."""
    return " OR ".join(f"({term})" for term in terms)


def all_of(terms: Iterable[str]) -> str:
    """Rows that hold each of `terms`."""
    return " AND ".join(f"({term})" for term in terms)


def _significant(words: list[str]) -> Iterator[str]:
    """At most MOST_TERMS different words, without stop words unless there is nothing else."""
    first: dict[str, str] = {}
    for word in words:
        first.setdefault(word.lower(), word)
    distinct = list(first.values())
    telling = [word for word in distinct if word.lower() not in STOP_WORDS]
    return islice(telling or distinct, MOST_TERMS)


def _term(word: str) -> str:
    """A word as an expression: itself, or its subwords one after the other."""
    if len(word) == 1 and unspaced_runs(word):
        return f"{_quoted(word)} *"
    return _either(word, " ".join(subwords(word)))


def _either(one: str, other: str) -> str:
    return _quoted(one) if one == other else f"{_quoted(one)} OR {_quoted(other)}"


def _literal(text: str) -> tuple[str, tuple[str, ...]]:
    """Phrases and the exact texts behind them: what stands in quotes, or a few symbols."""
    quoted = [part for part in _QUOTED.findall(text) if WORD.search(part)]
    if not quoted:
        plain = text.strip("\"'` \t\n").rstrip("?!.,;:")
        few = len(WORD.findall(plain)) <= _LONGEST_LITERAL
        quoted = [plain] if few and _SYMBOL.search(plain) and WORD.search(plain) else []
    phrases = [_quoted(" ".join(WORD.findall(part)[:MOST_TERMS])) for part in quoted]
    return all_of(phrases), tuple(quoted)


def _quoted(words: str) -> str:
    return f'"{words}"'
