"""The contract kept in a dict: every read scans all items, and an id is a fingerprint."""

from __future__ import annotations

import builtins
import hashlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

from syncd.memory.engine import EngineDescriptor, EngineHealth, MemoryEngine
from syncd.memory.errors import InvalidRequest
from syncd.memory.filters import MetaFilter
from syncd.memory.items import Item, Learning
from syncd.memory.requests import (
    Citation,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    Hit,
    ListPage,
    ListRequest,
    RecallAnswer,
    RecallRequest,
    StoreReceipt,
)

_DIMENSIONS = 4096


class ReferenceEngine(MemoryEngine):
    """Holds its items in a dict, in the order in which they came."""

    def __init__(self, fetch_modes: Sequence[FetchMode] = tuple(FetchMode)) -> None:
        self._items: dict[str, Item] = {}
        # Places are never reused, so that a listing's cursor survives forgets between its pages.
        self._places: dict[str, int] = {}
        self._next_place = itertools.count(1)
        self._fetch_modes = tuple(fetch_modes)

    @property
    def descriptor(self) -> EngineDescriptor:
        about = "keeps everything in this process"
        modes = self._fetch_modes
        return EngineDescriptor("reference", "Reference", about, False, False, False, None, modes)

    def health(self) -> EngineHealth:
        return EngineHealth.ok()

    def store(self, item: Item) -> StoreReceipt:
        item.validate()
        id = item.fingerprint()
        if id in self._items:
            return StoreReceipt(id, replayed=True)
        self._items[id] = item
        self._places[id] = next(self._next_place)
        return StoreReceipt(id, replayed=False)

    def list(self, request: ListRequest) -> ListPage:
        request.validate()
        placed = [(self._places[hit.id], hit) for hit in self._admitted(request.filter)]
        about = f"list {request.filter!r}"
        hits, cursor = _page(placed, request.limit, request.cursor, about)
        return ListPage(hits, cursor)

    def fetch(self, request: FetchRequest) -> FetchPage:
        self.descriptor.ensure_mode(request.mode)
        request.validate()
        ranked = self._ranked(request.query, request.mode, request.filter)
        placed = list(enumerate(ranked, 1))
        about = f"{request.mode} {request.query!r} {request.filter!r}"
        hits, cursor = _page(placed, request.limit, request.cursor, about)
        return FetchPage(hits, cursor)

    def recall(self, request: RecallRequest) -> RecallAnswer:
        """Quotes the best hits, whole."""
        request.validate()
        best = self._ranked(request.question, FetchMode.KEYWORD, request.filter)[: request.limit]
        answer = "\n\n".join(hit.text for hit in best) or "memory holds nothing about this"
        cited = tuple(Citation(hit.id, hit.kind, hit.text, hit.meta, hit.score) for hit in best)
        return RecallAnswer(answer, cited)

    def forget(self, target: ForgetTarget) -> ForgetReport:
        target.validate()
        if target.filter is not None:
            doomed = [hit.id for hit in self._admitted(target.filter)]
        else:
            doomed = [id for id in dict.fromkeys(target.ids or ()) if id in self._items]
        for id in doomed:
            del self._items[id], self._places[id]
        return ForgetReport(len(doomed))

    def _admitted(self, filter: MetaFilter) -> builtins.list[Hit]:
        items = self._items.items()
        return [_hit(id, item) for id, item in items if filter.matches(item.kind, item.meta)]

    def _ranked(self, query: str, mode: FetchMode, filter: MetaFilter) -> builtins.list[Hit]:
        hits = [replace(h, score=score(query, h.text, mode)) for h in self._admitted(filter)]
        # Whatever is near is a neighbour, however far; but a word is shared or it is not.
        if mode is FetchMode.KEYWORD:
            hits = [hit for hit in hits if hit.score]
        return sorted(hits, key=lambda hit: -hit.score)


def _hit(id: str, item: Item) -> Hit:
    confidence = item.confidence if isinstance(item, Learning) else None
    return Hit(id, item.kind, item.render_text(), item.meta, confidence=confidence)


def _page(
    placed: list[tuple[int, Hit]], limit: int, cursor: str | None, about: str
) -> tuple[tuple[Hit, ...], str | None]:
    """The hits after the place that `cursor` names, at most `limit`, and the next page's cursor."""
    mark = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    match = re.fullmatch(mark + r":([0-9]{1,18})", f"{mark}:0" if cursor is None else cursor)
    if match is None:
        raise InvalidRequest("the cursor does not belong to this request")
    rest = [(place, hit) for place, hit in placed if place > int(match[1])]
    more = f"{mark}:{rest[limit - 1][0]}" if len(rest) > limit else None
    return tuple(hit for _, hit in rest[:limit]), more


def score(query: str, text: str, mode: FetchMode) -> float:
    """Keyword: how many words are shared. Vector: a cosine. Hybrid: the sum of both."""
    shared = len(_words(query) & _words(text)) if mode is not FetchMode.VECTOR else 0
    near = _cosine(_vector(query), _vector(text)) if mode is not FetchMode.KEYWORD else 0.0
    return shared + near


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _vector(text: str) -> Counter[int]:
    """Counts of words and of three neighbouring characters, hashed into a fixed space."""
    lower = text.lower()
    features = [lower[at : at + 3] for at in range(len(lower) - 2)] + re.findall(r"\w+", lower)
    return Counter(crc32(f.encode("utf-8", "surrogatepass")) % _DIMENSIONS for f in features)


def _cosine(left: Counter[int], right: Counter[int]) -> float:
    product = sum(count * right[bucket] for bucket, count in left.items())
    return product / (math.hypot(*left.values()) * math.hypot(*right.values()) or 1)
