"""forget: look the items' events up, then remove exactly these.

Nothing is ever removed but events that are named, at most 100 a request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from syncd.engines.cortex.labels import kinds_of, of_filter
from syncd.engines.cortex.listing import Found, events, lookup, one_by_one, resolve
from syncd.engines.cortex.scopes import Scope
from syncd.engines.cortex.wire import FORGET_AT_ONCE, Wire
from syncd.memory import MetaFilter


def forget_ids(wire: Wire, ids: Collection[str]) -> set[str]:
    """Remove the items `ids` wherever they live; the ids of those that were there."""
    gone: set[str] = set()
    for scope in one_by_one(wire, None):
        missing = [id for id in dict.fromkeys(ids) if id not in gone]
        if not missing:
            break
        found = lookup(wire, scope, missing)
        _remove(wire, scope, (each for all_events in found.values() for each in all_events))
        gone |= found.keys()
    return gone


def forget_filter(wire: Wire, filter: MetaFilter) -> set[str]:
    """Remove the items that `filter` admits; their ids."""
    gone: set[str] = set()
    for scope in resolve(wire, filter.reach, kinds_of(filter)):
        found = [
            each
            for each in events(wire, scope, of_filter(filter))
            if filter.matches(each.envelope.kind, each.envelope.meta)
        ]
        _remove(wire, scope, found)
        gone.update(each.envelope.id for each in found)
    return gone


def _remove(wire: Wire, scope: Scope, found: Iterable[Found]) -> None:
    named = [each.event for each in found]
    for start in range(0, len(named), FORGET_AT_ONCE):
        wire.forget(scope.path, named[start : start + FORGET_AT_ONCE])
