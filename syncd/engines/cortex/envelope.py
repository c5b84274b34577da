"""The envelope: what an event's text holds of an item, byte for byte (contract 3, "Envelope").

Text that does not decode is someone else's and is ignored, never an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from syncd.memory import (
    Conversation,
    Document,
    Hit,
    Instant,
    Item,
    ItemKind,
    Learning,
    LearningKind,
    MemoryMeta,
    Role,
    ToolCallRef,
    Turn,
)
from syncd.memory.errors import InvalidRequest
from syncd.memory.meta import mapping, required_text, text, tool_call, word
from syncd.memory.wire import compact, is_blank, require_unicode, single, single_text

VERSION = 2
_MAX_TURN = 2**32 - 1
_RENDERED_ROLE = re.compile(r"\[[^\]\n]{1,64}\] ")


@dataclass(frozen=True, slots=True)
class TurnOf:
    """Which turn of a conversation an event is; its text is the envelope's."""

    index: int
    count: int
    role: Role
    at: Instant | None = None
    tool_calls: tuple[ToolCallRef, ...] = ()

    def as_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"index": self.index, "count": self.count, "role": self.role.value}
        if self.at is not None:
            out["at"] = str(self.at)
        if self.tool_calls:
            out["tool_calls"] = [call.as_json() for call in self.tool_calls]
        return out


@dataclass(frozen=True, slots=True)
class Envelope:
    """One event of an item: all of a document or a learning, one turn of a conversation."""

    id: str
    kind: ItemKind
    text: str
    meta: MemoryMeta
    title: str | None = None
    mime: str | None = None
    learning_kind: LearningKind | None = None
    confidence: float | None = None
    evidence: str | None = None
    turn: TurnOf | None = None

    @property
    def index(self) -> int:
        """Its place among the item's events."""
        return self.turn.index if self.turn else 0

    def encode(self) -> str:
        """The text of the event, compact JSON in wire order."""
        fields: dict[str, Any] = {"v": VERSION, "id": self.id, "kind": self.kind.value}
        fields |= {"text": self.text, "meta": self.meta.as_json()}
        fields |= _set(title=self.title, mime=self.mime, learning_kind=self.learning_kind)
        out = compact(fields)[:-1]
        if self.confidence is not None:
            out += f',"confidence":{single_text(self.confidence)}'
        for name, value in (("evidence", self.evidence), ("turn", self.turn)):
            if value is not None:
                plain = value.as_json() if isinstance(value, TurnOf) else value
                out += f',"{name}":{compact(plain)}'
        return out + "}"


def envelopes(item: Item) -> tuple[Envelope, ...]:
    """The envelopes of `item`, in order: one, or one a turn."""
    id, meta = item.fingerprint(), item.meta
    if isinstance(item, Document):
        return (Envelope(id, item.kind, item.text, meta, title=item.title, mime=item.mime),)
    if isinstance(item, Learning):
        learnt = (item.learning_kind, item.confidence, item.evidence)
        return (Envelope(id, item.kind, item.text, meta, None, None, *learnt),)
    count = len(item.turns)
    return tuple(
        Envelope(
            id, item.kind, turn.text, meta,
            turn=TurnOf(index, count, turn.role, turn.at, turn.tool_calls),
        )
        for index, turn in enumerate(item.turns)
    )  # fmt: skip


def decode(raw: str | None) -> Envelope | None:
    """The envelope in an event's text, also where recall put `[role] ` before it; else None."""
    if raw is None:
        return None
    found = _decode(raw)
    if found is None and (match := _RENDERED_ROLE.match(raw)):
        return _decode(raw[match.end() :])
    return found


def _decode(raw: str) -> Envelope | None:
    if not raw.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(raw)
        if not isinstance(data, dict) or data.get("v") != VERSION or data["v"] is True:
            return None
        found = _read(data)
        # An escape may have put in half a surrogate pair, which could not be written out again.
        if "\\u" in raw:
            require_unicode(found.encode(), "an envelope")
        return found
    except (ValueError, RecursionError, InvalidRequest):
        return None


def _read(data: Mapping[str, Any]) -> Envelope:
    kind = word(ItemKind, data.get("kind"), "item kind")
    meta = mapping(data, "meta")
    id, body = required_text(data, "id"), required_text(data, "text")
    if meta is None or is_blank(id):
        raise InvalidRequest("an envelope has an id and metadata")
    title, mime, evidence = (text(data, name) for name in ("title", "mime", "evidence"))
    turn = _turn(data) if kind is ItemKind.CONVERSATION else None
    learning = kind is ItemKind.LEARNING
    return Envelope(
        id, kind, body, MemoryMeta.from_json(meta), title, mime,
        _learning_kind(data) if learning else None,
        _confidence(data) if learning else None,
        evidence, turn,
    )  # fmt: skip


def _learning_kind(data: Mapping[str, Any]) -> LearningKind:
    return word(LearningKind, data.get("learning_kind") or LearningKind.OTHER, "learning kind")


def _confidence(data: Mapping[str, Any]) -> float | None:
    value = data.get("confidence")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1:
        raise InvalidRequest("confidence lies between 0 and 1")
    return single(float(value))


def _turn(data: Mapping[str, Any]) -> TurnOf:
    turn = mapping(data, "turn") or {}
    index, count = (turn.get(name) for name in ("index", "count"))
    for value in (index, count):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_TURN:
            raise InvalidRequest("a turn has an index and a count")
    at = text(turn, "at")
    calls = turn.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise InvalidRequest("tool calls are a list")
    return TurnOf(
        index,  # type: ignore[arg-type]
        count,  # type: ignore[arg-type]
        word(Role, turn.get("role"), "role"),
        Instant.parse(at) if at is not None else None,
        tuple(map(tool_call, calls)),
    )


def hit(events: Iterable[Envelope], score: float = 0.0) -> Hit:
    """The item that `events` (one or more, of one item, in any order, copies too) make up."""
    by_index = {event.index: event for event in events}
    first = by_index[min(by_index)]
    return Hit(first.id, first.kind, _render(by_index), first.meta, score, first.confidence)


def _render(events: Mapping[int, Envelope]) -> str:
    first = events[min(events)]
    if first.kind is ItemKind.DOCUMENT:
        return Document(first.text, first.title).render_text()
    if first.kind is ItemKind.LEARNING:
        return first.text
    turns = [_as_turn(events[index]) for index in sorted(events)]
    return Conversation(tuple(turns)).render_text()


def _as_turn(event: Envelope) -> Turn:
    assert event.turn is not None
    return Turn(event.turn.role, event.text, event.turn.at, event.turn.tool_calls)


def _set(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
