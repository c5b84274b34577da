"""The table of engines with one fault each, and the bases that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

from syncd.memory import (
    FetchMode,
    Hit,
    ItemKind,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
)
from syncd.memory.reference import ReferenceEngine

HYBRID = (FetchMode.HYBRID,)
FILTER_FIELDS = tuple(field.name for field in fields(MetaFilter))
PLAIN_FIELDS = tuple(name for name in FILTER_FIELDS if name not in ("reach", "workspace"))
_UNSET = MetaFilter()


class Fault(NamedTuple):
    """A broken engine, the check that must catch it, and a word of what the check must say."""

    check: str
    build: Callable[[], MemoryEngine]
    detail: str
    name: str


FAULTS: list[Fault] = []


def fault(check: str, detail: str = "", **kwargs: Any) -> Callable[[type], type]:
    """Enter a broken engine in the table; `kwargs` go to its constructor."""

    def enter(engine: type) -> type:
        name = "-".join([engine.__name__, *map(str, kwargs.values())])
        FAULTS.append(Fault(check, partial(engine, **kwargs), detail, name))
        return engine

    return enter


def each(check: str, argument: str, values: Sequence[str]) -> Callable[[type], type]:
    """Enter a broken engine once for each value of its constructor's `argument`."""

    def enter(engine: type) -> type:
        for value in values:
            fault(check, value, **{argument: value})(engine)
        return engine

    return enter


def without(filter: MetaFilter, *names: str) -> MetaFilter:
    return replace(filter, **{name: getattr(_UNSET, name) for name in names})


class Altered(ReferenceEngine):
    """Base of engines that alter what is read."""

    def alter(self, hit: Hit) -> Hit:
        return hit

    def _admitted(self, filter: MetaFilter) -> list[Hit]:
        return [self.alter(hit) for hit in super()._admitted(filter)]


class Unmatched(ReferenceEngine):
    """Base of engines with a matching rule of their own."""

    def admits(self, filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
        return filter.matches(kind, meta)

    def _admitted(self, filter: MetaFilter) -> list[Hit]:
        hits = super()._admitted(MetaFilter())
        return [hit for hit in hits if self.admits(filter, hit.kind, hit.meta)]
