"""The interface of every engine, with the defaults that a listing alone can give (operations.md).

`store` of an identical item writes nothing (a replay), so every call here may be repeated after a
failure. On return from `store_many` every item is readable by list, get and forget.
"""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Self

from syncd.memory.errors import Engine, Unsupported
from syncd.memory.filters import MetaFilter
from syncd.memory.items import Item
from syncd.memory.requests import (
    Bucket,
    ExplorePage,
    ExploreRequest,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    ListPage,
    ListRequest,
    RecallAnswer,
    RecallRequest,
    StoreReceipt,
    validate_many,
)

_PAGE = 200


@dataclass(frozen=True, slots=True)
class EngineDescriptor:
    """What an engine is and which fetch modes it serves."""

    id: str
    label: str
    description: str
    hosted: bool
    needs_endpoint: bool
    needs_key: bool
    default_endpoint: str | None
    fetch_modes: tuple[FetchMode, ...]

    def supports(self, mode: FetchMode) -> bool:
        return mode in self.fetch_modes

    def ensure_mode(self, mode: FetchMode) -> None:
        """Unsupported when the engine does not declare `mode`; checked before anything else."""
        if not self.supports(mode):
            raise Unsupported(f"engine does not offer {mode.value} fetch")

    def as_json(self) -> dict[str, Any]:
        out = {name: getattr(self, name) for name in self.__slots__}
        out["fetch_modes"] = [mode.value for mode in self.fetch_modes]
        return {name: value for name, value in out.items() if value is not None}


@dataclass(frozen=True, slots=True)
class EngineHealth:
    """`ok`, `degraded` (still serves) or `down`; the reason never holds a credential."""

    state: str
    reason: str | None = None

    @classmethod
    def ok(cls) -> EngineHealth:
        return cls("ok")

    @classmethod
    def degraded(cls, reason: str) -> EngineHealth:
        return cls("degraded", reason)

    @classmethod
    def down(cls, reason: str) -> EngineHealth:
        return cls("down", reason)

    def is_serving(self) -> bool:
        return self.state != "down"

    def as_json(self) -> dict[str, Any]:
        return {"state": self.state, **({"reason": self.reason} if self.reason else {})}


class MemoryEngine(ABC):
    """A memory. Requests are validated first and raise the errors of `syncd.memory.errors`."""

    selects_by_listing: ClassVar[bool] = False
    """Whether explore and forget by filter read everything, page by page, over a network."""

    @property
    @abstractmethod
    def descriptor(self) -> EngineDescriptor:
        """Fixed for the life of the engine."""

    @abstractmethod
    def health(self) -> EngineHealth:
        """Cheap to ask, never raises."""

    @abstractmethod
    def store(self, item: Item) -> StoreReceipt:
        """Write `item` at its namespace, or find that it is there already."""

    def store_many(self, items: Sequence[Item]) -> builtins.list[StoreReceipt]:
        """Store 1 to 100 items in order; after an error those before the failing one are stored."""
        validate_many(items)
        return [self.store(item) for item in items]

    @abstractmethod
    def fetch(self, request: FetchRequest) -> FetchPage:
        """Ranked hits, best first. An undeclared mode is Unsupported before anything else."""

    @abstractmethod
    def recall(self, request: RecallRequest) -> RecallAnswer:
        """An answer with at most `limit` citations, each of an item that `list` resolves."""

    @abstractmethod
    def list(self, request: ListRequest) -> ListPage:
        """Every admitted item once over all pages; a cursor never repeats."""

    @abstractmethod
    def forget(self, target: ForgetTarget) -> ForgetReport:
        """Remove items by id wherever they live, or those that a filter admits; counts them."""

    def get(self, request: GetRequest) -> builtins.list[Hit]:
        """Hits in the order asked, unknown ids and those outside the reach left out."""
        request.validate()
        wanted = dict.fromkeys(request.ids)
        found: dict[str, Hit] = {}
        for hit in self._everything(MetaFilter(reach=request.reach)):
            if hit.id in wanted:
                found.setdefault(hit.id, hit)
                if len(found) == len(wanted):
                    break
        return [found[id] for id in wanted if id in found]

    def explore(self, request: ExploreRequest) -> ExplorePage:
        """Counts per value, read from at most `scan_limit` items; `truncated` when more remain."""
        request.validate()
        counts: Counter[str] = Counter()
        total = missing = 0
        truncated = False
        for hit in self._everything(request.filter):
            if total == request.scan_limit:
                truncated = True
                break
            total += 1
            values = request.facet.values(hit.kind, hit.meta)
            missing += not values
            counts.update(values)
        return explore_page(request, counts, total, missing, truncated=truncated)

    def _everything(self, filter: MetaFilter) -> Iterator[Hit]:
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            page = self.list(ListRequest(filter, _PAGE, cursor))
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return
            if cursor in seen:
                raise Engine("a listing repeated a cursor, so that it would never end")
            seen.add(cursor)

    def seconds_for(self, requests: int) -> float:
        """How long so many requests take at least, where they are held to a pace; else 0."""
        return 0.0

    def hurry(self) -> None:  # noqa: B027 - most engines never wait
        """Wait for nothing any more, and begin nothing: calls under way may end as Unavailable."""

    def close(self) -> None:  # noqa: B027 - most engines hold something, but need not
        """Release what the engine holds; it is not used afterwards."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def explore_page(
    request: ExploreRequest,
    counts: Counter[str],
    total: int,
    missing: int,
    *,
    truncated: bool,
) -> ExplorePage:
    """The page of `counts`: by count descending, then value ascending, cut to the limit."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    buckets = tuple(Bucket(value, count) for value, count in ordered[: request.limit])
    more = max(0, len(ordered) - request.limit)
    return ExplorePage(request.facet, buckets, total, missing, more, truncated)
