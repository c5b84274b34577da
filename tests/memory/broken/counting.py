"""Engines that count or narrow wrongly."""

from __future__ import annotations

from dataclasses import replace

from syncd.memory import (
    ExplorePage,
    ExploreRequest,
    Facet,
    Hit,
    Item,
    ItemKind,
    MemoryMeta,
    MetaFilter,
)
from syncd.memory.reference import ReferenceEngine
from tests.memory.broken.table import (
    Altered,
    Unmatched,
    each,
    fault,
    without,
)


class Counted(ReferenceEngine):
    """Base of engines that alter what explore answers."""

    def recount(self, request: ExploreRequest, page: ExplorePage) -> ExplorePage:
        return page

    def explore(self, request: ExploreRequest) -> ExplorePage:
        return self.recount(request, super().explore(request))


@each("explore_counts", "facet", [facet.value for facet in Facet])
class CountsOneMore(Counted):
    def __init__(self, facet: str) -> None:
        super().__init__()
        self.facet = facet

    def recount(self, request: ExploreRequest, page: ExplorePage) -> ExplorePage:
        if request.facet != self.facet:
            return page
        first, *rest = page.buckets
        return replace(page, buckets=(replace(first, count=first.count + 1), *rest))


@fault("explore_counts", "buckets")
class SmallestBucketFirst(Counted):
    def recount(self, request: ExploreRequest, page: ExplorePage) -> ExplorePage:
        return replace(page, buckets=page.buckets[::-1])


@fault("explore_counts", "buckets")
class TiesInReverse(Counted):
    def recount(self, request: ExploreRequest, page: ExplorePage) -> ExplorePage:
        ordered = sorted(page.buckets, key=lambda b: b.value, reverse=True)
        return replace(page, buckets=tuple(sorted(ordered, key=lambda b: -b.count)))


@each("explore_counts", "number", ["total", "missing", "truncated"])
class MiscountsTheRest(Counted):
    def __init__(self, number: str) -> None:
        super().__init__()
        self.number = number

    def recount(self, request: ExploreRequest, page: ExplorePage) -> ExplorePage:
        value = getattr(page, self.number)
        return replace(
            page, **{self.number: not value if self.number == "truncated" else value + 1}
        )


@fault("explore_counts", "tag")
class CountsOneTagAnItem(Altered):
    def explore(self, request: ExploreRequest) -> ExplorePage:
        return Altered.explore(_FirstTag(self._items, self._places), request)


class _FirstTag(Altered):
    def __init__(self, items: dict[str, Item], places: dict[str, int]) -> None:
        super().__init__()
        self._items, self._places = items, places

    def alter(self, hit: Hit) -> Hit:
        return replace(hit, meta=replace(hit.meta, tags=hit.meta.tags[:1]))


@fault("explore_narrow", "kind")
class ForgetsToFilterDocuments(ReferenceEngine):
    def _admitted(self, filter: MetaFilter) -> list[Hit]:
        only_documents = filter.kinds == (ItemKind.DOCUMENT,)
        return super()._admitted(without(filter, "kinds") if only_documents else filter)


@fault("explore_narrow", "zebra")
class SplitsTagsAtSpaces(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        return filter.matches(kind, replace(meta, tags=tuple(" ".join(meta.tags).split(" "))))


@fault("explore_limit", "buckets cut")
class HidesWhatWasCut(Counted):
    def recount(self, request: ExploreRequest, page: ExplorePage) -> ExplorePage:
        return replace(page, more_buckets=0)


@fault("explore_limit", "1 buckets")
class IgnoresTheBucketLimit(ReferenceEngine):
    def explore(self, request: ExploreRequest) -> ExplorePage:
        request.validate()
        return super().explore(replace(request, limit=500))


@each("explore_limit", "argument", ["limit 0", "limit 501", "scan_limit 0", "scan_limit 50001"])
class ExploresWithAnyLimit(ReferenceEngine):
    def __init__(self, argument: str) -> None:
        super().__init__()
        self.name, value = argument.split()
        self.value = int(value)

    def explore(self, request: ExploreRequest) -> ExplorePage:
        if getattr(request, self.name) == self.value:
            request = replace(request, **{self.name: 50})
        return super().explore(request)
