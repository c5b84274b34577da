"""What every check works with: one run on one engine, inside a workspace of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from syncd.memory.conformance import specimens
from syncd.memory.engine import MemoryEngine
from syncd.memory.errors import InvalidRequest, MemoryError
from syncd.memory.filters import MetaFilter
from syncd.memory.items import Item, Learning
from syncd.memory.meta import MemoryMeta
from syncd.memory.requests import (
    MAX_STORE_MANY,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    Hit,
    ListRequest,
    StoreReceipt,
)

T = TypeVar("T")


class ConformanceError(Exception):
    """The engine breaks the contract: `check` says where, `detail` how."""

    def __init__(self, check: str, detail: str) -> None:
        super().__init__(f"{check}: {detail}")
        self.check = check
        self.detail = detail


class Failure(Exception):
    """What a check found wrong; `run` adds the name of the check."""


def require(condition: object, detail: str) -> None:
    if not condition:
        raise Failure(detail)


def require_same(what: str, got: object, wanted: object) -> None:
    require(got == wanted, f"{what}: {_brief(got)} instead of {_brief(wanted)}")


@contextmanager
def refused(what: str, error: type[MemoryError] = InvalidRequest) -> Iterator[None]:
    """Fails unless the body raises exactly this kind of error."""
    try:
        yield
    except error:
        return
    except MemoryError as other:
        raise Failure(f"{what} is {type(other).__name__} instead of {error.__name__}") from other
    raise Failure(f"{what} is accepted instead of {error.__name__}")


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "…"


class Trial:
    """The engine, the run's workspace, and the items that several checks share."""

    def __init__(self, engine: MemoryEngine, workspace: str, settle: float) -> None:
        self.engine = engine
        self.workspace = workspace
        self.settle = settle
        self.base = MetaFilter(workspace=workspace)

    @property
    def modes(self) -> tuple[FetchMode, ...]:
        return self.engine.descriptor.fetch_modes

    def only(self, **fields: Any) -> MetaFilter:
        """A filter of this run: its workspace and `fields`."""
        return replace(self.base, **fields)

    @cached_property
    def trio(self) -> dict[str, Item]:
        """One stored item of each kind, by id."""
        items = specimens.trio(self.workspace)
        return {self.engine.store(item).id: item for item in items}

    @cached_property
    def specimens(self) -> dict[str, str]:
        """The ids of the stored specimens of every filter field, by their texts."""
        items = [item for case in specimens.cases(self.workspace) for item in case.items]
        ids = self.store_all(items)
        return {item.render_text(): id for item, id in zip(items, ids, strict=True)}

    @cached_property
    def nodes(self) -> dict[str, str]:
        """The id of the same text at each of four namespaces, by the name of the namespace."""
        items = specimens.nodes(self.workspace)
        ids = self.store_all(items)
        return {str(item.meta.namespace): id for item, id in zip(items, ids, strict=True)}

    def store_all(self, items: Sequence[Item]) -> list[str]:
        """Store any number of items in few calls; their ids in order."""
        receipts: list[StoreReceipt] = []
        for start in range(0, len(items), MAX_STORE_MANY):
            receipts += self.engine.store_many(items[start : start + MAX_STORE_MANY])
        require_same("receipts", len(receipts), len(items))
        return [receipt.id for receipt in receipts]

    def listed(self, filter: MetaFilter, limit: int = 100) -> list[Hit]:
        """Every hit of a listing over all its pages."""

        def page(cursor: str | None) -> tuple[Sequence[Hit], str | None]:
            answer = self.engine.list(ListRequest(filter, limit, cursor))
            return answer.items, answer.next_cursor

        return _paged(page, limit, "list")

    def fetched(self, query: str, mode: FetchMode, filter: MetaFilter, limit: int) -> list[Hit]:
        """Every hit of a fetch over all its pages."""

        def page(cursor: str | None) -> tuple[Sequence[Hit], str | None]:
            answer = self.engine.fetch(FetchRequest(query, mode, filter, limit, cursor))
            return answer.hits, answer.next_cursor

        return _paged(page, limit, f"{mode} fetch")

    def got(self, *ids: str) -> list[Hit]:
        return self.engine.get(GetRequest(ids))

    def forgotten(self, *ids: str, filter: MetaFilter | None = None) -> int:
        target = ForgetTarget(filter=filter) if filter is not None else ForgetTarget(ids=ids)
        return self.engine.forget(target).forgotten

    def ids(self) -> set[str]:
        """The ids of everything that the run has in memory."""
        return {hit.id for hit in self.listed(self.base)}

    def require_listed(self, filter: MetaFilter, wanted: set[str], what: str) -> None:
        """Fails unless a listing holds exactly the items with the ids `wanted`, each once."""
        ids = [hit.id for hit in self.listed(filter)]
        require(len(ids) == len(set(ids)), f"{what} lists an item twice")
        require_same(what + " lists", sorted(ids), sorted(wanted))

    def settled(self, ask: Callable[[], T], wanted: T) -> T:
        """The answer of `ask`, asked until it is `wanted` or `settle` seconds have passed.

        Ranked reads may lag behind a batch (operations.md, store_many 4).
        """
        deadline = time.monotonic() + self.settle
        pause = threading.Event()
        wait = 0.02
        while (answer := ask()) != wanted and time.monotonic() < deadline:
            pause.wait(wait)
            wait = min(2 * wait, 1.0)
        return answer


def _paged(
    page: Callable[[str | None], tuple[Sequence[Hit], str | None]], limit: int, what: str
) -> list[Hit]:
    hits: list[Hit] = []
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        found, cursor = page(cursor)
        require(len(found) <= limit, f"a page of {what} holds more than {limit} items")
        hits += found
        if cursor is None:
            return hits
        require(cursor not in seen, f"{what} repeats a cursor, so that it never ends")
        seen.add(cursor)


def require_hit(hit: Hit, item: Item, what: str) -> None:
    """Fails unless `hit` is `item` read back whole; `observed_at` included."""
    require_same(f"{what}: kind", hit.kind, item.kind)
    require_same(f"{what}: text", hit.text, item.render_text())
    for name in MemoryMeta.__slots__:
        got, wanted = getattr(hit.meta, name), getattr(item.meta, name)
        require_same(f"{what}: metadata: {name}", got, wanted)
    confidence = item.confidence if isinstance(item, Learning) else None
    require_same(f"{what}: confidence", hit.confidence, confidence)
