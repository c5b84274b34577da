"""The part of a text that best answers a query. Pure, and linear in the text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from syncd.engines.local.words import pieces

_LONGEST = 480
_MOST_PLACES = 64
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y")
_DEFINES = re.compile(
    r"[ \t]*(?:[a-z]+(?:\([a-z]+\))? ){0,5}"
    r"(?:def|class|func|function|fn|fun|struct|enum|trait|interface|type|module|impl|#{1,6})[ \t]"
)


class _Place(NamedTuple):
    position: int
    term: int


def best_passage(text: str, words: Sequence[str]) -> str | None:
    """The lines of `text`, at most 480 characters, that hold most of `words`.

    Rarer words of the text weigh more, and a line that defines something a little more still.
    None when no word occurs.
    """
    lowered = _lowered(text)
    stems = list(dict.fromkeys(stem for word in words for stem in _stems(word)))
    found = [list(_occurrences(text, lowered, stem)) for stem in stems]
    places = sorted(_Place(at, term) for term, spots in enumerate(found) for at in spots)
    if not places:
        return None
    weights = [1 / (1 + math.log(len(spots))) if spots else 0.0 for spots in found]
    start, end = _best_window(text, places, weights)
    return _lines(text, start, end)


def passage_of(text: str, words: Sequence[str]) -> str:
    """The best passage, or the first lines where the words are found by the index only."""
    start = len(text) - len(text.lstrip())
    return best_passage(text, words) or _lines(text, start, start + 1)


def weigh(text: str, words: Sequence[str]) -> float:
    """How much of `text` is about `words`: the share of each, and all of them as one phrase."""
    lowered = text.lower()
    room = 0.5 + len(text) / 2000
    counts = [lowered.count(_stem(word.lower())) for word in words]
    phrase = lowered.count(" ".join(words).lower()) if len(words) > 1 else 0
    return sum(count / (count + room) for count in (*counts, phrase) if count)


def _lowered(text: str) -> str:
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    # A few letters grow when lowered (İ); positions must stay those of the text.
    return "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _stems(word: str) -> Iterator[str]:
    for each in (word, *pieces(word)):
        yield _stem(each.lower())


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def _occurrences(text: str, lowered: str, stem: str) -> Iterator[int]:
    """Where a word, or a subword of an identifier, starts with `stem`."""
    at, left = lowered.find(stem), _MOST_PLACES
    while at >= 0 and left:
        if _starts_word(text, at):
            yield at
        left -= 1
        at = lowered.find(stem, at + len(stem))


def _starts_word(text: str, at: int) -> bool:
    """Whether a word starts at `at`: parse, HTTP and Header in parseHTTPHeader."""
    before, first, after = text[at - 1 : at], text[at], text[at + 1 : at + 2]
    if not before.isalnum() or not first.isascii():
        return True
    return first.isupper() and (before.islower() or after.islower())


def _best_window(text: str, places: Sequence[_Place], weights: Sequence[float]) -> tuple[int, int]:
    """Start and end of the heaviest stretch; the earliest of equals."""
    counts = [0] * len(weights)
    best, weight, first = (-1.0, 0, 0), 0.0, 0
    for last in places:
        weight += 0.0 if counts[last.term] else weights[last.term]
        counts[last.term] += 1
        while last.position - places[first].position > _LONGEST * 2 // 3:
            gone = places[first].term
            counts[gone] -= 1
            weight -= 0.0 if counts[gone] else weights[gone]
            first += 1
        start = places[first].position
        bonus = 0.3 if _defines(text, start) else 0.0
        if weight + bonus > best[0] + 1e-9:
            best = (weight + bonus, start, last.position + 1)
    return best[1], best[2]


def _defines(text: str, at: int) -> bool:
    start = text.rfind("\n", max(0, at - 200), at) + 1
    return _DEFINES.match(text, start or max(0, at - 200), at) is not None


def _lines(text: str, start: int, end: int) -> str:
    """The whole lines around start..end, and further lines while there is room."""
    earliest = max(0, start - _LONGEST // 4)
    low = text.rfind("\n", earliest, start) + 1 or earliest
    limit = low + _LONGEST
    high = text.rfind("\n", end, limit)
    if high < 0 or len(text) <= limit:
        high = min(len(text), limit)
    return text[low:high].strip("\n")
