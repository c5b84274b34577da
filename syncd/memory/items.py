"""The three kinds of item, their wire form and their identity (contract 1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from syncd.memory.errors import InvalidRequest
from syncd.memory.instant import Instant
from syncd.memory.meta import (
    ItemKind,
    MemoryMeta,
    ToolCallRef,
    mapping,
    required_text,
    text,
    tool_call,
    word,
)
from syncd.memory.wire import compact, is_blank, require_unicode, single, single_text


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class LearningKind(StrEnum):
    PREFERENCE = "preference"
    FACT = "fact"
    PROCEDURE = "procedure"
    CORRECTION = "correction"
    OTHER = "other"


class _Item:
    """What the kinds share: everything follows from the wire form."""

    # Asked for twice on the way of every file to memory, by who sends it and by who stores it.
    __slots__ = ("_identity",)
    kind: ClassVar[ItemKind]
    meta: MemoryMeta
    _identity: str

    def _head(self) -> str:
        """The wire form's fields before `meta`, without the closing brace."""
        raise NotImplementedError

    def wire(self) -> str:
        """Compact JSON in wire order."""
        return f'{self._head()},"meta":{self.meta.wire()}}}'

    def fingerprint(self) -> str:
        """The item's identity, 40 hex digits: its wire form without when it was observed."""
        try:
            return self._identity
        except AttributeError:
            object.__setattr__(self, "_identity", self._derived())
            return self._identity

    def _derived(self) -> str:
        bare = f'{self._head()},"meta":{self.meta.wire(observed=False)}}}'
        try:
            return hashlib.sha256(bare.encode()).hexdigest()[:40]
        except UnicodeEncodeError:
            raise InvalidRequest("an item holds text that is not valid unicode") from None


def _object_head(fields: dict[str, Any]) -> str:
    return compact({name: value for name, value in fields.items() if value is not None})[:-1]


@dataclass(frozen=True, slots=True)
class Uri:
    """A body that names a text elsewhere; no engine stores it before it is resolved."""

    uri: str


@dataclass(frozen=True, slots=True)
class Document(_Item):
    """A text with an optional title."""

    kind: ClassVar[ItemKind] = ItemKind.DOCUMENT
    body: str | Uri
    title: str | None = None
    mime: str | None = None
    meta: MemoryMeta = field(default_factory=MemoryMeta)

    @property
    def text(self) -> str:
        """The body's text; InvalidRequest while the body is an unresolved uri."""
        if isinstance(self.body, Uri):
            raise InvalidRequest("a document whose body is a uri must be resolved first")
        return self.body

    def validate(self) -> None:
        if is_blank(self.text):
            raise InvalidRequest("a document needs a body")
        for value, what in ((self.text, "body"), (self.title, "title"), (self.mime, "mime")):
            if value is not None:
                require_unicode(value, what)
        self.meta.validate()

    def render_text(self) -> str:
        """The text that is read back: the body, under its title where there is one."""
        if self.title is None or is_blank(self.title):
            return self.text
        return f"# {self.title}\n\n{self.text}"

    def _head(self) -> str:
        title = "" if self.title is None else f',"title":{compact(self.title)}'
        mime = "" if self.mime is None else f',"mime":{compact(self.mime)}'
        field, text = ("text", self.body) if isinstance(self.body, str) else ("uri", self.body.uri)
        return f'{{"type":"document"{title},"body":{{"{field}":{compact(text)}}}{mime}'


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance of a conversation."""

    role: Role
    text: str
    at: Instant | None = None
    tool_calls: tuple[ToolCallRef, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", word(Role, self.role, "role"))
        object.__setattr__(self, "tool_calls", tuple(self.tool_calls))
        if self.at is not None:
            object.__setattr__(self, "at", Instant.of(self.at))

    def as_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"role": self.role.value, "text": self.text}
        if self.at is not None:
            out["at"] = str(self.at)
        if self.tool_calls:
            out["tool_calls"] = [call.as_json() for call in self.tool_calls]
        return out

    def render(self) -> str:
        calls = ", ".join(map(_render_call, self.tool_calls))
        return f"{self.role.value}: {self.text}" + (f" [tools: {calls}]" if calls else "")


def _render_call(call: ToolCallRef) -> str:
    return call.name if call.id is None else f"{call.name} ({call.id})"


@dataclass(frozen=True, slots=True)
class Conversation(_Item):
    """Turns in their order."""

    kind: ClassVar[ItemKind] = ItemKind.CONVERSATION
    turns: tuple[Turn, ...]
    meta: MemoryMeta = field(default_factory=MemoryMeta)

    def __post_init__(self) -> None:
        object.__setattr__(self, "turns", tuple(self.turns))

    def validate(self) -> None:
        if not self.turns:
            raise InvalidRequest("a conversation needs at least one turn")
        for turn in self.turns:
            if is_blank(turn.text):
                raise InvalidRequest("a turn needs text")
            require_unicode(turn.text, "turn")
            for call in turn.tool_calls:
                require_unicode(call.name + (call.id or ""), "tool call")
        self.meta.validate()

    def render_text(self) -> str:
        return "\n".join(turn.render() for turn in self.turns)

    def _head(self) -> str:
        return _object_head(
            {"type": "conversation", "turns": [turn.as_json() for turn in self.turns]}
        )


@dataclass(frozen=True, slots=True)
class Learning(_Item):
    """Something learnt. `confidence` is held as the 32-bit float that the wire carries."""

    kind: ClassVar[ItemKind] = ItemKind.LEARNING
    text: str
    learning_kind: LearningKind
    confidence: float
    evidence: str | None = None
    meta: MemoryMeta = field(default_factory=MemoryMeta)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "learning_kind", word(LearningKind, self.learning_kind, "learning kind")
        )
        object.__setattr__(self, "confidence", single(self.confidence))

    def validate(self) -> None:
        if is_blank(self.text):
            raise InvalidRequest("a learning needs text")
        if not 0.0 <= self.confidence <= 1.0:
            raise InvalidRequest("confidence lies between 0 and 1")
        require_unicode(self.text + (self.evidence or ""), "learning")
        self.meta.validate()

    def render_text(self) -> str:
        return self.text

    def _head(self) -> str:
        head = _object_head(
            {"type": "learning", "text": self.text, "kind": self.learning_kind.value}
        )
        head += f',"confidence":{single_text(self.confidence)}'
        return head + (f',"evidence":{compact(self.evidence)}' if self.evidence is not None else "")


Item = Document | Conversation | Learning


def load_item(data: Mapping[str, Any]) -> Item:
    """The item of a wire object; InvalidRequest for an unknown type or a field of a wrong type."""
    if not isinstance(data, Mapping):
        raise InvalidRequest("an item must be an object")
    kind = word(ItemKind, data.get("type"), "item type")
    meta = MemoryMeta.from_json(mapping(data, "meta") or {})
    if kind is ItemKind.DOCUMENT:
        return Document(_body(data), text(data, "title"), text(data, "mime"), meta)
    if kind is ItemKind.CONVERSATION:
        return Conversation(tuple(_turn(turn) for turn in _list(data, "turns")), meta)
    return Learning(
        required_text(data, "text"),
        word(LearningKind, data.get("kind"), "learning kind"),
        _confidence(data),
        text(data, "evidence"),
        meta,
    )


def _body(data: Mapping[str, Any]) -> str | Uri:
    body = mapping(data, "body")
    if body is None:
        raise InvalidRequest("body is missing")
    if "uri" in body and "text" in body:
        raise InvalidRequest("body has either a text or a uri")
    uri = text(body, "uri")
    return Uri(uri) if uri is not None else required_text(body, "text")


def _turn(data: Any) -> Turn:
    if not isinstance(data, Mapping):
        raise InvalidRequest("a turn must be an object")
    at = text(data, "at")
    return Turn(
        word(Role, data.get("role"), "role"),
        required_text(data, "text"),
        Instant.parse(at) if at is not None else None,
        tuple(_call(call) for call in _list(data, "tool_calls", required=False)),
    )


def _call(data: Any) -> ToolCallRef:
    if not isinstance(data, Mapping):
        raise InvalidRequest("a tool call must be an object")
    return tool_call(data)


def _list(data: Mapping[str, Any], name: str, *, required: bool = True) -> list[Any]:
    value = data.get(name, None if required else [])
    if not isinstance(value, list | tuple):
        raise InvalidRequest(f"{name} must be a list")
    return list(value)


def _confidence(data: Mapping[str, Any]) -> float:
    value = data.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest("confidence must be a number")
    try:
        return float(value)
    except OverflowError:
        raise InvalidRequest("confidence is out of range") from None
