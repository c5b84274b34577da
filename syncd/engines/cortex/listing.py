"""Listings of scopes: which scopes a filter reads, their events, and lookups by id."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from syncd.engines.cortex import scopes
from syncd.engines.cortex.envelope import Envelope, decode
from syncd.engines.cortex.labels import MAX_LABELS, item_label
from syncd.engines.cortex.scopes import Scope
from syncd.engines.cortex.wire import Wire
from syncd.memory import ItemKind, Reach
from syncd.memory.errors import Engine

MAX_PAGES = 500


class Found(NamedTuple):
    """An event of an item, as a listing holds it."""

    event: str
    envelope: Envelope


class Pages:
    """Counts the service's pages that one call reads; Engine past 500, because an answer from
    part of the log would look like the whole."""

    def __init__(self) -> None:
        self._read = 0

    def turn(self) -> None:
        self._read += 1
        if self._read > MAX_PAGES:
            raise Engine(f"a listing did not end within {MAX_PAGES} pages")


def resolve(wire: Wire, reach: Reach | None, kinds: Collection[ItemKind]) -> list[Scope]:
    """The scopes that a read looks at, in listing order."""
    return scopes.ordered([*scopes.known(reach, kinds), *_discovered(wire, reach, kinds)])


def one_by_one(wire: Wire, reach: Reach | None) -> Iterator[Scope]:
    """The scopes of every kind, those that need no discovery first: a search for ids may end
    before the others have to be asked for."""
    known = scopes.known(reach, tuple(ItemKind))
    yield from known
    yield from scopes.ordered(set(_discovered(wire, reach, tuple(ItemKind))) - set(known))


def _discovered(wire: Wire, reach: Reach | None, kinds: Collection[ItemKind]) -> Iterator[Scope]:
    prefix = scopes.discovery_prefix(reach)
    if prefix is None or not kinds:
        return iter(())
    return scopes.admitted(wire.scopes(prefix), reach, kinds)


def events(
    wire: Wire, scope: Scope, labels: Sequence[str], pages: Pages | None = None
) -> Iterator[Found]:
    """Every event of `scope` that is an envelope of its kind, each once, newest first."""
    seen: set[str] = set()
    asked: set[str] = set()
    cursor: str | None = None
    while True:
        if pages is not None:
            pages.turn()
        page = wire.list(scope.path, labels, cursor)
        for raw in page.events:
            if raw.id is None or raw.id in seen:
                continue
            seen.add(raw.id)
            envelope = decode(raw.text)
            if envelope is not None and envelope.kind is scope.kind:
                yield Found(raw.id, envelope)
        cursor = page.cursor
        if cursor is None:
            return
        if cursor in asked:
            raise Engine("a listing leads back to its own cursor")
        asked.add(cursor)


def lookup(
    wire: Wire, scope: Scope, ids: Collection[str], pages: Pages | None = None, *, any: bool = False
) -> dict[str, list[Found]]:
    """All events of the items `ids` in `scope`, by id; with `any`, one of each is enough.

    A label is a digest that others may share, so each event must name its id itself.
    """
    found: dict[str, list[Found]] = {}
    wanted = list(dict.fromkeys(ids))
    for start in range(0, len(wanted), MAX_LABELS):
        batch = wanted[start : start + MAX_LABELS]
        missing = set(batch)
        for event in events(wire, scope, [item_label(id) for id in batch], pages):
            if event.envelope.id not in batch:
                continue
            found.setdefault(event.envelope.id, []).append(event)
            missing.discard(event.envelope.id)
            if any and not missing:
                break
    return found
