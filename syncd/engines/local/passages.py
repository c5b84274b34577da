"""The part of a text that best answers a query. Pure, and linear in the text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from syncd.engines.local.words import pieces

_LONGEST = 480
_BEFORE = 160
_MOST_PLACES = 48
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ied", "ed", "es", "s", "e", "y")
_DEFINES = re.compile(
    r"[ \t]*(?:[a-z]+(?:\([a-z]+\))? ){0,5}"
    r"(?:def|class|func|function|fn|fun|struct|enum|trait|interface|type|module|impl|#{1,6})[ \t]"
)


def best_passage(text: str, words: Sequence[str]) -> str | None:
    """The lines of `text`, at most 480 characters, that hold most of `words`.

    Looked for around the rarest of the words that occur; a rarer word weighs more, and a line
    that defines something a little more still. None when no word occurs.
    """
    lowered = _lowered(text)
    stems = dict.fromkeys(stem for word in words for stem in _stems(word))
    counts = {stem: count for stem in stems if (count := lowered.count(stem))}
    for anchor in sorted(counts, key=counts.__getitem__):
        places = list(_occurrences(text, lowered, anchor))
        if places:
            weights = {stem: 1 / (1 + math.log(count)) for stem, count in counts.items()}
            return _lines(text, _best_place(text, lowered, places, weights))
    return None


def passage_of(text: str, words: Sequence[str]) -> str:
    """The best passage, or the first lines where the words are found by the index only."""
    start = len(text) - len(text.lstrip())
    return best_passage(text, words) or _lines(text, start)


def weigher(words: Sequence[str]) -> Callable[[str], float]:
    """A function of a text: how much of it is about `words`, each of them and all as a phrase."""
    sought = [_stem(word.lower()) for word in words]
    if len(words) > 1:
        sought.append(" ".join(words).lower())

    def weigh(text: str) -> float:
        lowered = text.lower()
        room = 0.5 + len(text) / 2000
        return sum(n / (n + room) for n in map(lowered.count, sought) if n)

    return weigh


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


def _best_place(
    text: str, lowered: str, places: Sequence[int], weights: Mapping[str, float]
) -> int:
    """The place whose surroundings hold most weight; the earliest of equals."""
    best, heaviest = places[0], -1.0
    for at in places:
        around = lowered[max(0, at - _BEFORE) : at + _LONGEST - _BEFORE]
        weight = sum(weight for stem, weight in weights.items() if stem in around)
        weight += 0.3 if _defines(text, at) else 0.0
        if weight > heaviest + 1e-9:
            best, heaviest = at, weight
    return best


def _defines(text: str, at: int) -> bool:
    start = text.rfind("\n", max(0, at - 200), at) + 1
    return _DEFINES.match(text, start or max(0, at - 200), at) is not None


def _lines(text: str, at: int) -> str:
    """The whole lines around `at`, as many as there is room for."""
    earliest = max(0, at - _BEFORE)
    low = text.find("\n", earliest, at) + 1 if earliest else 0
    if earliest and not low:
        low = earliest
    limit = low + _LONGEST
    high = text.rfind("\n", at, limit) if len(text) > limit else len(text)
    return text[low : high if high > at else limit].strip("\n")
