"""What is known about an item besides its text (contract 1, "Metadata")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from syncd.memory.errors import InvalidRequest
from syncd.memory.instant import Instant
from syncd.memory.namespace import ROOT, Namespace
from syncd.memory.wire import compact, require_unicode

_MAX_TURN = 2**32 - 1


class ItemKind(StrEnum):
    DOCUMENT = "document"
    CONVERSATION = "conversation"
    LEARNING = "learning"


class SourceKind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"
    GITHUB = "github"
    RSS = "rss"
    COMPOSIO = "composio"
    CONVERSATION = "conversation"
    AGENT = "agent"
    IMPORT = "import"


E = TypeVar("E", bound=StrEnum)


def word(kind: type[E], value: Any, what: str) -> E:
    """`value` as a member of `kind`; InvalidRequest naming the choices otherwise."""
    try:
        return kind(value)
    except ValueError:
        raise InvalidRequest(f"{what} {str(value)[:64]!r} is none of {', '.join(kind)}") from None


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Where an item came from: the kind of source, and which one."""

    kind: SourceKind = SourceKind.AGENT
    id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", word(SourceKind, self.kind, "source kind"))

    def as_json(self) -> dict[str, Any]:
        return _without_none(kind=self.kind.value, id=self.id)


@dataclass(frozen=True, slots=True)
class ToolCallRef:
    """The tool call that an item came from, or that a turn made."""

    name: str
    id: str | None = None

    def as_json(self) -> dict[str, Any]:
        return _without_none(name=self.name, id=self.id)


@dataclass(frozen=True, slots=True)
class TurnRange:
    """Turns of a thread, both ends included, each an unsigned 32-bit number."""

    first: int
    last: int

    def __post_init__(self) -> None:
        for value in (self.first, self.last):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_TURN:
                raise InvalidRequest(f"a turn is a number from 0 to {_MAX_TURN}")

    def as_json(self) -> dict[str, Any]:
        return {"first": self.first, "last": self.last}


TEXT_FIELDS = (
    "workspace",
    "folder",
    "file_path",
    "language",
    "repo",
    "commit",
    "url",
    "thread_id",
    "agent_id",
)
_UP_TO_TURNS = tuple((name, f'"{name}":') for name in TEXT_FIELDS if name != "agent_id")


@dataclass(frozen=True, slots=True)
class MemoryMeta:
    """The metadata of one item. An unset field is absent on the wire; `source` always is there."""

    namespace: Namespace = ROOT
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
    tool_call: ToolCallRef | None = None
    source: SourceRef = SourceRef()
    tags: tuple[str, ...] = ()
    observed_at: Instant | None = None

    def __post_init__(self) -> None:
        if type(self.tags) is not tuple:
            object.__setattr__(self, "tags", tuple(self.tags))
        if self.observed_at is not None and type(self.observed_at) is not Instant:
            object.__setattr__(self, "observed_at", Instant.of(self.observed_at))

    def as_json(self, *, observed: bool = True) -> dict[str, Any]:
        """The fields in wire order; without `observed_at` for the fingerprint."""
        out = _without_none(
            namespace=self.namespace.path or None,
            workspace=self.workspace,
            folder=self.folder,
            file_path=self.file_path,
            language=self.language,
            repo=self.repo,
            commit=self.commit,
            url=self.url,
            thread_id=self.thread_id,
            turns=self.turns.as_json() if self.turns else None,
            agent_id=self.agent_id,
            tool_call=self.tool_call.as_json() if self.tool_call else None,
            source=self.source.as_json(),
        )
        if self.tags:
            out["tags"] = list(self.tags)
        if observed and self.observed_at is not None:
            out["observed_at"] = str(self.observed_at)
        return out

    def wire(self, *, observed: bool = True) -> str:
        """Compact JSON of `as_json`, written out because every file's identity is made of it."""
        parts = [f'"namespace":{compact(self.namespace.path)}'] if self.namespace.path else []
        for name, key in _UP_TO_TURNS:
            value = getattr(self, name)
            if value is not None:
                parts.append(key + compact(value))
        if self.turns is not None:
            parts.append(f'"turns":{compact(self.turns.as_json())}')
        if self.agent_id is not None:
            parts.append(f'"agent_id":{compact(self.agent_id)}')
        if self.tool_call is not None:
            parts.append(f'"tool_call":{compact(self.tool_call.as_json())}')
        parts.append(f'"source":{compact(self.source.as_json())}')
        if self.tags:
            parts.append(f'"tags":{compact(self.tags)}')
        if observed and self.observed_at is not None:
            parts.append(f'"observed_at":"{self.observed_at}"')
        return "{" + ",".join(parts) + "}"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MemoryMeta:
        """Metadata from its wire form; InvalidRequest for a value of the wrong type."""
        source = mapping(data, "source") or {}
        turns = mapping(data, "turns")
        call = mapping(data, "tool_call")
        observed = text(data, "observed_at")
        return cls(
            namespace=Namespace.parse(text(data, "namespace") or ""),
            turns=TurnRange(turns.get("first"), turns.get("last")) if turns is not None else None,  # type: ignore[arg-type]
            tool_call=tool_call(call) if call is not None else None,
            source=SourceRef(
                word(SourceKind, source.get("kind", SourceKind.AGENT), "source kind"),
                text(source, "id"),
            ),
            tags=tuple(_tags(data)),
            observed_at=Instant.parse(observed) if observed is not None else None,
            **{name: text(data, name) for name in TEXT_FIELDS},
        )

    def validate(self) -> None:
        """InvalidRequest when a string cannot be written as JSON."""
        for name in TEXT_FIELDS:
            value = getattr(self, name)
            if value is not None:
                require_unicode(value, name)
        for value in (self.source.id, *self.tags, *_call_strings(self.tool_call)):
            if value is not None:
                require_unicode(value, "metadata")


def _call_strings(call: ToolCallRef | None) -> tuple[str | None, ...]:
    return (call.name, call.id) if call else ()


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def text(data: Mapping[str, Any], name: str) -> str | None:
    """The optional string field `name`; InvalidRequest when it is something else."""
    value = data.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidRequest(f"{name} must be a string")
    return value


def required_text(data: Mapping[str, Any], name: str) -> str:
    """The string field `name`; InvalidRequest when it is missing."""
    value = text(data, name)
    if value is None:
        raise InvalidRequest(f"{name} is missing")
    return value


def mapping(data: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    """The optional object field `name`; InvalidRequest when it is something else."""
    value = data.get(name)
    if value is not None and not isinstance(value, Mapping):
        raise InvalidRequest(f"{name} must be an object")
    return value


def tool_call(data: Mapping[str, Any]) -> ToolCallRef:
    """A tool call from its wire form."""
    return ToolCallRef(required_text(data, "name"), text(data, "id"))


def _tags(data: Mapping[str, Any]) -> list[str]:
    tags = data.get("tags", ())
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidRequest("tags must be a list of strings")
    return list(tags)
