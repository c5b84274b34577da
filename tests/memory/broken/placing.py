"""Engines that mix up namespaces."""

from __future__ import annotations

from dataclasses import replace

from syncd.memory import (
    Bucket,
    ExplorePage,
    ExploreRequest,
    FetchMode,
    FetchPage,
    FetchRequest,
    GetRequest,
    Hit,
    Item,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
)
from syncd.memory.reference import ReferenceEngine
from tests.memory.broken.counting import Counted
from tests.memory.broken.storing import Identified
from tests.memory.broken.table import (
    Unmatched,
    each,
    fault,
    without,
)


@fault("twins", "one text at four nodes")
class IdentifiesWithoutNamespace(Identified):
    def identity(self, item: Item) -> str:
        return replace(item, meta=replace(item.meta, namespace=Namespace.root())).fingerprint()


class Reached(Unmatched):
    """Base of engines with a rule of reach of their own."""

    def reaches(self, reach: Reach, namespace: Namespace) -> bool:
        return reach.admits(namespace)

    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        reached = filter.reach is None or self.reaches(filter.reach, meta.namespace)
        return reached and without(filter, "reach").matches(kind, meta)


@fault("reach_list", "reach at")
class ShowsEverything(Reached):
    def reaches(self, reach: Reach, namespace: Namespace) -> bool:
        return True


@fault("reach_list", "reach at")
class ShowsSiblings(Reached):
    def reaches(self, reach: Reach, namespace: Namespace) -> bool:
        sibling = len(namespace.segments) == len(reach.at.segments) and reach.inherit
        return reach.admits(namespace) or sibling


@fault("reach_list", "inherit True")
class NeverInherits(Reached):
    def reaches(self, reach: Reach, namespace: Namespace) -> bool:
        return replace(reach, inherit=False).admits(namespace)


@fault("reach_list", "inherit False")
class AlwaysInherits(Reached):
    def reaches(self, reach: Reach, namespace: Namespace) -> bool:
        return replace(reach, inherit=True).admits(namespace)


@fault("reach_list", "descendants True")
class NeverDescends(Reached):
    def reaches(self, reach: Reach, namespace: Namespace) -> bool:
        return replace(reach, descendants=False).admits(namespace)


@fault("reach_list", "descendants False")
class AlwaysDescends(Reached):
    def reaches(self, reach: Reach, namespace: Namespace) -> bool:
        return replace(reach, descendants=True).admits(namespace)


@fault("reach_get", "gets")
class GetIgnoresReach(ReferenceEngine):
    def get(self, request: GetRequest) -> list[Hit]:
        return super().get(replace(request, reach=None))


@each("reach_fetch", "mode", [mode.value for mode in FetchMode])
class FetchIgnoresReach(ReferenceEngine):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    def fetch(self, request: FetchRequest) -> FetchPage:
        if request.mode == self.mode:
            request = replace(request, filter=without(request.filter, "reach"))
        return super().fetch(request)


@fault("namespace_facet", "explores")
class TheRootHasNoName(Counted):
    def explore(self, request: ExploreRequest) -> ExplorePage:
        page = super().explore(request)
        if not request.filter.tags_any:  # the counts of the whole run are another check's
            return page
        named = (Bucket(b.value.removeprefix("root"), b.count) for b in page.buckets)
        return replace(page, buckets=tuple(named))


@fault("namespace_facet", "explores")
class ExploreIgnoresReach(ReferenceEngine):
    def explore(self, request: ExploreRequest) -> ExplorePage:
        return super().explore(replace(request, filter=without(request.filter, "reach")))
