"""Events on their way to the service, and what comes back of them."""

from __future__ import annotations

import itertools
import secrets
import time
from typing import Any, NamedTuple

from syncd.engines.cortex.envelope import Envelope, envelopes
from syncd.engines.cortex.labels import of_event
from syncd.engines.cortex.scopes import Scope
from syncd.memory import Item, ItemKind

_MODALITY = {
    ItemKind.DOCUMENT: "document",
    ItemKind.CONVERSATION: "conversation",
    ItemKind.LEARNING: "observation",
}


class Event(NamedTuple):
    """One event to write."""

    scope: Scope
    envelope: Envelope
    text: str
    labels: tuple[str, ...]

    def body(self, key: str) -> dict[str, Any]:
        """The event's wire form, under the idempotency key `key`."""
        turn = self.envelope.turn
        observed = (turn and turn.at) or self.envelope.meta.observed_at
        context: dict[str, Any] = {"labels": list(self.labels)}
        if observed is not None:
            context["observed_at"] = str(observed)
        role = turn.role.value if turn else "user"
        return {
            "scope": self.scope.path,
            "modality": _MODALITY[self.scope.kind],
            "idempotency_key": key,
            "content": {"kind": "message", "role": role, "text": self.text},
            "context": context,
        }


def events(item: Item) -> tuple[Event, ...]:
    """The events of `item`, in order."""
    scope = Scope(item.kind, item.meta.namespace)
    labels = of_event(item.fingerprint(), item.meta)
    return tuple(Event(scope, each, each.encode(), labels) for each in envelopes(item))


class Keys:
    """Fresh idempotency keys. The service never releases one, so none may follow from content:
    storing a forgotten item again would silently write nothing."""

    def __init__(self) -> None:
        self._salt = secrets.token_hex(8)
        self._numbers = itertools.count()

    def next(self) -> str:
        return f"tm-{self._salt}-{time.time_ns()}-{next(self._numbers)}"


class Raw(NamedTuple):
    """An event as the service lists or recalls it; None where it is not what it should be."""

    id: str | None
    text: str | None


class Page(NamedTuple):
    """A page of a listing, newest first, copies included; `cursor` leads to the next one."""

    events: tuple[Raw, ...]
    cursor: str | None


class Ask(NamedTuple):
    """What a pack is asked for: `budgets` is the number of entries of each layer."""

    scope: str
    query: str
    budgets: dict[str, int]
    labels: tuple[str, ...] = ()
    descend: bool = False


class Pack(NamedTuple):
    """What recall found, best first; `id` is what the answer route takes."""

    id: str | None
    events: tuple[Raw, ...]


class Answer(NamedTuple):
    text: str
    model: str | None
