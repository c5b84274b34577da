"""Engines that store, list or get wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from syncd.memory import (
    EngineHealth,
    GetRequest,
    Hit,
    Instant,
    Item,
    ItemKind,
    ListPage,
    ListRequest,
    MemoryMeta,
    StoreReceipt,
    errors,
)
from syncd.memory.reference import ReferenceEngine
from tests.memory.broken.table import (
    Altered,
    each,
    fault,
)


@fault("health", "asleep")
class Down(ReferenceEngine):
    def health(self) -> EngineHealth:
        return EngineHealth.down("asleep")


@fault("paging", "repeats a cursor")
class ServesPageOneForEver(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        return super().list(replace(request, cursor=None))


@fault("paging", "repeats a cursor")
class AlwaysHasMore(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        page = super().list(replace(request, cursor=None))
        return replace(page, next_cursor=page.next_cursor or "more")


@fault("paging", "more than 2")
class IgnoresTheLimit(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        return super().list(replace(request, limit=request.limit and 1000))


@fault("paging", "two a page")
class LosesTheLastPage(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        return replace(super().list(request), next_cursor=None)


@fault("paging", "Unavailable")
class CannotList(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        raise errors.Unavailable("the disk is away")


@fault("paging", "ZeroDivisionError")
class Crashes(ReferenceEngine):
    def store(self, item: Item) -> StoreReceipt:
        raise ZeroDivisionError("division by zero")


@fault("kinds", "items listed")
class ListsTwice(ReferenceEngine):
    def list(self, request: ListRequest) -> ListPage:
        page = super().list(replace(request, limit=(request.limit + 1) // 2))
        return replace(page, items=tuple(hit for hit in page.items for _ in range(2)))


@fault("kinds", "confidence")
class DropsConfidence(Altered):
    def alter(self, hit: Hit) -> Hit:
        return replace(hit, confidence=None)


@fault("kinds", "confidence")
class WidensConfidence(Altered):
    def alter(self, hit: Hit) -> Hit:
        return replace(hit, confidence=hit.confidence and hit.confidence + 1.2e-8)


@fault("kinds", "kind")
class CallsAllDocuments(Altered):
    def alter(self, hit: Hit) -> Hit:
        return replace(hit, kind=ItemKind.DOCUMENT)


@fault("kinds", "text")
class TrimsText(Altered):
    def alter(self, hit: Hit) -> Hit:
        return replace(hit, text=hit.text.strip())


@fault("kinds", "text")
class CutsAtNul(Altered):
    def alter(self, hit: Hit) -> Hit:
        return replace(hit, text=hit.text.split("\0")[0])


@fault("kinds", "score")
class ScoresListings(Altered):
    def alter(self, hit: Hit) -> Hit:
        return replace(hit, score=1.0)


@each(
    "kinds",
    "metadata",
    [f.name for f in fields(MemoryMeta) if f.name != "namespace"],
)
class DropsMetadata(Altered):
    def __init__(self, metadata: str) -> None:
        super().__init__()
        self.dropped = {metadata: getattr(MemoryMeta(), metadata)}

    def alter(self, hit: Hit) -> Hit:
        return replace(hit, meta=replace(hit.meta, **self.dropped))


@fault("kinds", "metadata")
class SortsTags(Altered):
    def alter(self, hit: Hit) -> Hit:
        return replace(hit, meta=replace(hit.meta, tags=tuple(sorted(hit.meta.tags))))


@fault("kinds", "metadata")
class ForgetsNanoseconds(Altered):
    def alter(self, hit: Hit) -> Hit:
        at = hit.meta.observed_at
        seen = Instant(at.ns // 1000 * 1000) if at else None
        return replace(hit, meta=replace(hit.meta, observed_at=seen))


class Identified(ReferenceEngine):
    """Base of engines with an identity of their own."""

    def identity(self, item: Item) -> str:
        return item.fingerprint()

    def store(self, item: Item) -> StoreReceipt:
        item.validate()
        id = self.identity(item)
        replayed = id in self._items
        self._places.setdefault(id, next(self._next_place))
        self._items.setdefault(id, item)
        return StoreReceipt(id, replayed)


@fault("replay", "replayed=False")
class WritesASecondCopy(Identified):
    def identity(self, item: Item) -> str:
        return f"{item.fingerprint()}-{next(self._next_place)}"


@fault("replay", "the run lists")
class CopiesButCallsItAReplay(ReferenceEngine):
    def store(self, item: Item) -> StoreReceipt:
        receipt = super().store(item)
        if receipt.replayed:
            self._items["copy"] = item
            self._places["copy"] = next(self._next_place)
        return receipt


@fault("replay", "replayed=False")
class IdentifiesByObservation(Identified):
    def identity(self, item: Item) -> str:
        return f"{item.fingerprint()}-{item.meta.observed_at}"


@fault("replay", "other tags")
class IdentifiesWithoutTags(Identified):
    def identity(self, item: Item) -> str:
        return replace(item, meta=replace(item.meta, tags=())).fingerprint()


@fault("replay", "replayed=False")
class NeverReplays(ReferenceEngine):
    def store(self, item: Item) -> StoreReceipt:
        return replace(super().store(item), replayed=False)


@fault("store_many", "by receipt")
class ReversesReceipts(ReferenceEngine):
    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        receipts = super().store_many(items)
        ids = [receipt.id for receipt in receipts][::-1]
        pairs = zip(ids, receipts, strict=True)
        return [replace(receipt, id=id) for id, receipt in pairs]


@fault("store_many", "replays in a batch")
class OverlooksRepeatsInABatch(ReferenceEngine):
    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        known = set(self._items)
        return [replace(r, replayed=r.id in known) for r in super().store_many(items)]


@fault("store_many", "by receipt")
class ListsLate(ReferenceEngine):
    late: set[str] = set()  # noqa: RUF012 - replaced on the instance

    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        receipts = super().store_many(items)
        self.late = {r.id for r in receipts if not r.replayed}
        return receipts

    def list(self, request: ListRequest) -> ListPage:
        page = super().list(request)
        late, self.late = self.late, set()
        return replace(page, items=tuple(hit for hit in page.items if hit.id not in late))


@fault("store_many", "stored again")
class RepeatsAreNewInBatches(ReferenceEngine):
    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        known = dict.fromkeys(self._items, False)
        return [replace(r, replayed=known.get(r.id, r.replayed)) for r in super().store_many(items)]


@fault("batches_refused", "an empty batch")
class AcceptsAnEmptyBatch(ReferenceEngine):
    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        return super().store_many(items) if items else []


@fault("batches_refused", "a batch of 101")
class AcceptsAHugeBatch(ReferenceEngine):
    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        if len(items) <= 100:
            return super().store_many(items)
        return [self.store(item) for item in items]


@fault("batches_refused", "the run lists")
class StoresUpToTheInvalidItem(ReferenceEngine):
    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        if not 1 <= len(items) <= 100:
            return super().store_many(items)
        return [self.store(item) for item in items]


class Unvalidated(ReferenceEngine):
    def store(self, item: Item) -> StoreReceipt:
        try:
            return super().store(item)
        except errors.InvalidRequest:
            if not self.overlooks(item):
                raise
            return StoreReceipt(item.fingerprint(), replayed=False)

    def overlooks(self, item: Item) -> bool:
        return False


@each("items_refused", "kind", [kind.value for kind in ItemKind])
class AcceptsInvalid(Unvalidated):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def overlooks(self, item: Item) -> bool:
        return item.kind == self.kind


@fault("items_refused", "confidence over 1")
class AcceptsAnyConfidence(Unvalidated):
    def overlooks(self, item: Item) -> bool:
        return getattr(item, "confidence", 0.0) > 1


@fault("get", "ids read")
class GetsInStorageOrder(ReferenceEngine):
    def get(self, request: GetRequest) -> list[Hit]:
        return sorted(super().get(request), key=lambda hit: self._places[hit.id])


@fault("get", "NotFound")
class RaisesForUnknownIds(ReferenceEngine):
    def get(self, request: GetRequest) -> list[Hit]:
        hits = super().get(request)
        if len(hits) < len(set(request.ids)):
            raise errors.NotFound("no such item")
        return hits


@fault("get", "ids read")
class GetsRepeatedly(ReferenceEngine):
    def get(self, request: GetRequest) -> list[Hit]:
        known = {hit.id: hit for hit in super().get(request)}
        return [known[id] for id in request.ids if id in known]


@fault("get", "text")
class GetsSnippets(ReferenceEngine):
    def get(self, request: GetRequest) -> list[Hit]:
        return [replace(hit, text=hit.text[:10]) for hit in super().get(request)]


@each("gets_refused", "ids", ["no ids", "201 ids", "a blank id"])
class GetsAnything(ReferenceEngine):
    def __init__(self, ids: str) -> None:
        super().__init__()
        self.ids = ids

    def get(self, request: GetRequest) -> list[Hit]:
        blank = any(not id.strip() for id in request.ids)
        fault = {"no ids": not request.ids, "201 ids": len(request.ids) > 200, "a blank id": blank}
        return [] if fault[self.ids] else super().get(request)
