"""Engines that misread a filter."""

from __future__ import annotations

from dataclasses import replace

from syncd.memory import (
    Hit,
    Instant,
    ItemKind,
    MemoryMeta,
    MetaFilter,
)
from syncd.memory.reference import ReferenceEngine
from tests.memory.broken.table import (
    FILTER_FIELDS,
    Unmatched,
    each,
    fault,
    without,
)


@each("filters", "field", [name for name in FILTER_FIELDS if name != "reach"])
class IgnoresAField(ReferenceEngine):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def _admitted(self, filter: MetaFilter) -> list[Hit]:
        return super()._admitted(without(filter, self.field))


@each("filters", "field", ["folder", "file_path"])
class PrefixWithoutBoundary(Unmatched):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        wanted, value = getattr(filter, self.field), getattr(meta, self.field)
        near = wanted is None or (value or "").startswith(wanted.rstrip("/"))
        return near and without(filter, self.field).matches(kind, meta)


@each("filters", "field", ["folder", "file_path"])
class PathsAreExact(Unmatched):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        wanted = getattr(filter, self.field)
        exact = wanted is None or getattr(meta, self.field) == wanted.rstrip("/")
        return exact and filter.matches(kind, meta)


@each("filters", "field", ["folder", "file_path"])
class TrailingSlashCounts(Unmatched):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        wanted = getattr(filter, self.field) or ""
        slashed = wanted.endswith("/") and getattr(meta, self.field) == wanted[:-1]
        return filter.matches(kind, meta) and not slashed


_TEXTS = ["language", "repo", "commit", "url", "thread_id", "agent_id"]


@each("filters", "field", _TEXTS)
class IgnoresCase(Unmatched):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        wanted, value = getattr(filter, self.field), getattr(meta, self.field)
        alike = wanted is None or (value or "").lower() == wanted.lower()
        return alike and without(filter, self.field).matches(kind, meta)


@each("filters", "field", [*_TEXTS, "folder", "file_path"])
class TakesUnderscoreForAWildcard(Unmatched):
    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        value = getattr(meta, self.field)
        if getattr(filter, self.field) and value:
            meta = replace(meta, **{self.field: value.replace("xa%", "_a%")})
        return filter.matches(kind, meta)


@fault("filters", "source_id")
class MatchesAnySourceIdLike(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        wanted = filter.source_id or ""
        alike = (meta.source.id or "").replace("x", "_") == wanted or not wanted
        return alike and without(filter, "source_id").matches(kind, meta)


@fault("filters", "workspace")
class MatchesWorkspacePrefixes(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        near = (meta.workspace or "").startswith(filter.workspace or "")
        return near and without(filter, "workspace").matches(kind, meta)


@fault("filters", "turns")
class MatchesOverlappingTurns(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        if filter.turns and meta.turns:
            overlap = (
                filter.turns.first <= meta.turns.last and meta.turns.first <= filter.turns.last
            )
            return overlap and without(filter, "turns").matches(kind, meta)
        return filter.matches(kind, meta)


@fault("filters", "tool_call")
class MatchesToolCallIds(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        if filter.tool_call and meta.tool_call and meta.tool_call.id == filter.tool_call:
            return without(filter, "tool_call").matches(kind, meta)
        return filter.matches(kind, meta)


@fault("filters", "tags_any")
class WantsAllTags(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        return set(filter.tags_any) <= set(meta.tags) and filter.matches(kind, meta)


@fault("filters", "observed_after")
class ObservedAfterIsExclusive(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        edge = filter.observed_after is not None and filter.observed_after == meta.observed_at
        return filter.matches(kind, meta) and not edge


@fault("filters", "observed_before")
class ObservedBeforeIsInclusive(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        edge = filter.observed_before is not None and filter.observed_before == meta.observed_at
        return edge or filter.matches(kind, meta)


@fault("filters", "observed_before")
class NeverObservedIsLongAgo(Unmatched):
    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        return filter.matches(kind, replace(meta, observed_at=meta.observed_at or Instant.MIN))
