"""Which items a call is about (contract 1, "MetaFilter")."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from syncd.memory.instant import Instant
from syncd.memory.meta import ItemKind, MemoryMeta, SourceKind, TurnRange, word
from syncd.memory.namespace import Reach

_EXACT = ("workspace", "language", "repo", "commit", "url", "thread_id", "agent_id")


@dataclass(frozen=True, slots=True)
class MetaFilter:
    """Every set field must match; a field that an item lacks never matches; `{}` admits all."""

    reach: Reach | None = None
    workspace: str | None = None
    folder: str | None = None
    file_path: str | None = None
    language: str | None = None
    repo: str | None = None
    commit: str | None = None
    url: str | None = None
    thread_id: str | None = None
    turns: TurnRange | None = None
    agent_id: str | None = None
    tool_call: str | None = None
    source_id: str | None = None
    kinds: tuple[ItemKind, ...] = ()
    sources: tuple[SourceKind, ...] = ()
    tags_any: tuple[str, ...] = ()
    observed_after: Instant | None = None
    observed_before: Instant | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "kinds", tuple(word(ItemKind, kind, "item kind") for kind in self.kinds))
        put(self, "sources", tuple(word(SourceKind, kind, "source kind") for kind in self.sources))
        put(self, "tags_any", tuple(self.tags_any))
        for name in ("observed_after", "observed_before"):
            value = getattr(self, name)
            if value is not None:
                put(self, name, Instant.of(value))

    def is_empty(self) -> bool:
        """Whether no field is set, so that the filter would admit everything."""
        return self == EVERYTHING

    def matches(self, kind: ItemKind, meta: MemoryMeta) -> bool:
        """Whether an item of this kind and metadata is admitted."""
        return (
            (self.reach is None or self.reach.admits(meta.namespace))
            and all(_exact(getattr(self, name), getattr(meta, name)) for name in _EXACT)
            and _exact(self.source_id, meta.source.id)
            and _exact(self.tool_call, meta.tool_call.name if meta.tool_call else None)
            and (self.turns is None or self.turns == meta.turns)
            and _below(self.folder, meta.folder)
            and _below(self.file_path, meta.file_path)
            and (not self.kinds or kind in self.kinds)
            and (not self.sources or meta.source.kind in self.sources)
            and (not self.tags_any or not set(self.tags_any).isdisjoint(meta.tags))
            and self._observed(meta.observed_at)
        )

    def _observed(self, at: Instant | None) -> bool:
        if self.observed_after is None and self.observed_before is None:
            return True
        if at is None:
            return False
        return (self.observed_after is None or self.observed_after <= at) and (
            self.observed_before is None or at < self.observed_before
        )

    def as_json(self) -> dict[str, Any]:
        """The set fields by name."""
        out: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None or value == ():
                continue
            out[field.name] = _plain(value)
        return out


def _plain(value: Any) -> Any:
    if isinstance(value, Reach | TurnRange):
        return value.as_json()
    if isinstance(value, tuple):
        return [str(entry) for entry in value]
    return str(value)


def _exact(wanted: str | None, value: str | None) -> bool:
    return wanted is None or wanted == value


def path_prefix(wanted: str) -> str:
    """A path filter without its trailing slashes, which the contract ignores."""
    return wanted.rstrip("/")


def _below(wanted: str | None, value: str | None) -> bool:
    if wanted is None:
        return True
    if value is None:
        return False
    prefix = path_prefix(wanted)
    return value == prefix or value.startswith(prefix + "/")


EVERYTHING = MetaFilter()
