"""What is asked of an engine and what it answers (contract 2).

Every request knows what makes it invalid; engines call `validate()` before touching storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from syncd.memory.errors import InvalidRequest
from syncd.memory.facets import Facet
from syncd.memory.filters import MetaFilter
from syncd.memory.items import Item
from syncd.memory.meta import ItemKind, MemoryMeta, word
from syncd.memory.namespace import Reach
from syncd.memory.wire import is_blank

MAX_STORE_MANY = 100
MAX_GET_IDS = 200
MAX_EXPLORE_LIMIT = 500
MAX_SCAN_LIMIT = 50_000


class FetchMode(StrEnum):
    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


def validate_many(items: Sequence[Item]) -> None:
    """InvalidRequest unless there are 1 to 100 items, each valid."""
    if not 1 <= len(items) <= MAX_STORE_MANY:
        raise InvalidRequest(f"a batch holds 1 to {MAX_STORE_MANY} items, not {len(items)}")
    for item in items:
        item.validate()


def _positive(limit: int) -> None:
    if limit < 1:
        raise InvalidRequest("limit must be positive")


@dataclass(frozen=True, slots=True)
class RecallRequest:
    question: str
    filter: MetaFilter = field(default_factory=MetaFilter)
    limit: int = 10
    instructions: str | None = None

    def validate(self) -> None:
        if is_blank(self.question):
            raise InvalidRequest("a recall needs a question")
        _positive(self.limit)


@dataclass(frozen=True, slots=True)
class FetchRequest:
    query: str
    mode: FetchMode = FetchMode.KEYWORD
    filter: MetaFilter = field(default_factory=MetaFilter)
    limit: int = 10
    cursor: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", word(FetchMode, self.mode, "fetch mode"))

    def validate(self) -> None:
        if is_blank(self.query):
            raise InvalidRequest("a fetch needs a query")
        _positive(self.limit)


@dataclass(frozen=True, slots=True)
class ListRequest:
    filter: MetaFilter = field(default_factory=MetaFilter)
    limit: int = 100
    cursor: str | None = None

    def validate(self) -> None:
        _positive(self.limit)


@dataclass(frozen=True, slots=True)
class ForgetTarget:
    """What to forget: `ids`, or whatever a `filter` admits; exactly one of them."""

    ids: tuple[str, ...] | None = None
    filter: MetaFilter | None = None

    def __post_init__(self) -> None:
        if self.ids is not None:
            object.__setattr__(self, "ids", tuple(self.ids))

    def validate(self) -> None:
        if (self.ids is None) == (self.filter is None):
            raise InvalidRequest("forget takes either ids or a filter")
        if self.ids is not None and not self.ids:
            raise InvalidRequest("forget needs at least one id")
        if self.filter is not None and self.filter.is_empty():
            raise InvalidRequest("forget refuses an empty filter, which would mean everything")

    def as_json(self) -> dict[str, Any]:
        if self.ids is not None:
            return {"ids": list(self.ids)}
        return {"filter": self.filter.as_json() if self.filter else {}}


@dataclass(frozen=True, slots=True)
class ExploreRequest:
    facet: Facet
    filter: MetaFilter = field(default_factory=MetaFilter)
    limit: int = 50
    scan_limit: int = 5000

    def __post_init__(self) -> None:
        object.__setattr__(self, "facet", word(Facet, self.facet, "facet"))

    def validate(self) -> None:
        if not 1 <= self.limit <= MAX_EXPLORE_LIMIT:
            raise InvalidRequest(f"limit lies between 1 and {MAX_EXPLORE_LIMIT}")
        if not 1 <= self.scan_limit <= MAX_SCAN_LIMIT:
            raise InvalidRequest(f"scan_limit lies between 1 and {MAX_SCAN_LIMIT}")


@dataclass(frozen=True, slots=True)
class GetRequest:
    ids: tuple[str, ...]
    reach: Reach | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", tuple(self.ids))

    def validate(self) -> None:
        if not 1 <= len(self.ids) <= MAX_GET_IDS:
            raise InvalidRequest(f"get takes 1 to {MAX_GET_IDS} ids, not {len(self.ids)}")
        if any(is_blank(id) for id in self.ids):
            raise InvalidRequest("an id is blank")


@dataclass(frozen=True, slots=True)
class Hit:
    """An item read back. `score` is 0 in a listing; `passage` is the part that matched a query."""

    id: str
    kind: ItemKind
    text: str
    meta: MemoryMeta
    score: float = 0.0
    confidence: float | None = None
    passage: str | None = None

    def as_json(self) -> dict[str, Any]:
        out = {"id": self.id, "kind": self.kind.value, "text": self.text}
        extra = _set(confidence=self.confidence, passage=self.passage)
        return {**out, "meta": self.meta.as_json(), "score": self.score, **extra}


@dataclass(frozen=True, slots=True)
class Citation:
    id: str
    kind: ItemKind
    snippet: str
    meta: MemoryMeta
    score: float | None = None

    def as_json(self) -> dict[str, Any]:
        out = {"id": self.id, "kind": self.kind.value, "snippet": self.snippet}
        return {**out, "meta": self.meta.as_json(), **_set(score=self.score)}


@dataclass(frozen=True, slots=True)
class StoreReceipt:
    """What became of a stored item; `replayed` when memory already held it."""

    id: str
    replayed: bool

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "replayed": self.replayed}


@dataclass(frozen=True, slots=True)
class FetchPage:
    hits: tuple[Hit, ...]
    next_cursor: str | None = None

    def as_json(self) -> dict[str, Any]:
        hits = [hit.as_json() for hit in self.hits]
        return {"hits": hits, **_set(next_cursor=self.next_cursor)}


@dataclass(frozen=True, slots=True)
class ListPage:
    items: tuple[Hit, ...]
    next_cursor: str | None = None

    def as_json(self) -> dict[str, Any]:
        items = [hit.as_json() for hit in self.items]
        return {"items": items, **_set(next_cursor=self.next_cursor)}


@dataclass(frozen=True, slots=True)
class RecallAnswer:
    answer: str
    citations: tuple[Citation, ...]
    model: str | None = None

    def as_json(self) -> dict[str, Any]:
        citations = [citation.as_json() for citation in self.citations]
        return {"answer": self.answer, "citations": citations, **_set(model=self.model)}


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """How many items were removed."""

    forgotten: int

    def as_json(self) -> dict[str, Any]:
        return {"forgotten": self.forgotten}


@dataclass(frozen=True, slots=True)
class Bucket:
    value: str
    count: int


@dataclass(frozen=True, slots=True)
class ExplorePage:
    """Counts per value of a facet, largest first; `missing` items have no value for it."""

    facet: Facet
    buckets: tuple[Bucket, ...]
    total: int
    missing: int
    more_buckets: int
    truncated: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "facet": self.facet.value,
            "buckets": [{"value": b.value, "count": b.count} for b in self.buckets],
            "total": self.total,
            "missing": self.missing,
            "more_buckets": self.more_buckets,
            "truncated": self.truncated,
        }


def _set(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
