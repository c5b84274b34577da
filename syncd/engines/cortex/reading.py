"""list and get: listings of the scopes that a filter reads, each newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from syncd.engines.cortex import cursors, envelope
from syncd.engines.cortex.cursors import Place
from syncd.engines.cortex.envelope import Envelope
from syncd.engines.cortex.events import Raw
from syncd.engines.cortex.labels import kinds_of, of_filter
from syncd.engines.cortex.listing import Pages, lookup, one_by_one, resolve
from syncd.engines.cortex.scopes import Scope
from syncd.engines.cortex.wire import Wire
from syncd.memory import GetRequest, Hit, ItemKind, ListPage, ListRequest, MetaFilter
from syncd.memory.errors import Engine

START = Place()


class _Taken(NamedTuple):
    scope: Scope
    envelope: Envelope


class _Gathering:
    """What one page of a listing has so far: each item once, at most `limit`."""

    def __init__(self, filter: MetaFilter, limit: int) -> None:
        self.filter = filter
        self._limit = limit
        self._ids: set[str] = set()
        self.taken: list[_Taken] = []

    @property
    def full(self) -> bool:
        return len(self.taken) >= self._limit

    def offer(self, scope: Scope, raw: Raw) -> None:
        """Take the event when it stands for an item that the filter admits.

        A conversation stands where its first turn does, so that it is listed once.
        """
        found = envelope.decode(raw.text)
        if found is None or found.kind is not scope.kind or found.index != 0:
            return
        if found.id not in self._ids and self.filter.matches(found.kind, found.meta):
            self._ids.add(found.id)
            self.taken.append(_Taken(scope, found))


def list_page(wire: Wire, request: ListRequest) -> ListPage:
    """The page at the request's cursor, which is read before anything is sent."""
    resumed = cursors.read_list(request.cursor) if request.cursor is not None else None
    filter = request.filter
    scopes = resolve(wire, filter.reach, kinds_of(filter))
    place = START
    if resumed is not None:
        # A scope that is gone is passed over: the next one is read from its first page.
        place = resumed[1] if resumed[0] in scopes else START
        scopes = [scope for scope in scopes if scope.place >= resumed[0].place]
    gathering, pages = _Gathering(filter, request.limit), Pages()
    cursor = None
    for number, scope in enumerate(scopes):
        if gathering.full:
            cursor = cursors.write_list(scope, START)
            break
        stopped = _scan(wire, scope, place if number == 0 else START, gathering, pages)
        if stopped is not None:
            cursor = cursors.write_list(scope, stopped)
            break
    return ListPage(tuple(_hits(wire, gathering.taken, pages)), cursor)


def _scan(
    wire: Wire, scope: Scope, place: Place, gathering: _Gathering, pages: Pages
) -> Place | None:
    """Read the scope from `place`: to its end (None), or to where the page was full."""
    labels = of_filter(gathering.filter)
    cursor, last = place.page, place.last
    asked = {cursor}
    first = True
    while True:
        pages.turn()
        page = wire.list(scope.path, labels, cursor)
        start, first = (_resumption(page.events, place) if first else 0), False
        for at in range(start, len(page.events)):
            raw = page.events[at]
            if raw.id is None or raw.id == last:
                continue
            if gathering.full:
                return Place(cursor, at, last)
            last = raw.id
            gathering.offer(scope, raw)
        cursor = page.cursor
        if cursor is None:
            return None
        if gathering.full:
            return Place(cursor, 0, last)
        if cursor in asked:
            raise Engine("a listing leads back to its own cursor")
        asked.add(cursor)


def _resumption(events: Sequence[Raw], place: Place) -> int:
    """Where to go on in a page that may have changed since `place` was noted.

    The last event says it better than a number does. Where it is gone too, the page is read
    anew: an item may then be seen twice, but none is missed.
    """
    if place.offset == 0:
        return 0
    if place.offset <= len(events) and events[place.offset - 1].id == place.last:
        return place.offset
    return max((at + 1 for at, raw in enumerate(events) if raw.id == place.last), default=0)


def _hits(wire: Wire, taken: Sequence[_Taken], pages: Pages | None = None) -> list[Hit]:
    whole = conversations(wire, [(t.scope, t.envelope.id) for t in taken], pages)
    return [envelope.hit([t.envelope, *whole.get(t.envelope.id, ())]) for t in taken]


def conversations(
    wire: Wire, wanted: Sequence[tuple[Scope, str]], pages: Pages | None = None
) -> dict[str, list[Envelope]]:
    """All turns of the conversations among `wanted`: one lookup for each scope."""
    ids: dict[Scope, list[str]] = {}
    for scope, id in wanted:
        if scope.kind is ItemKind.CONVERSATION:
            ids.setdefault(scope, []).append(id)
    return {
        id: [each.envelope for each in found]
        for scope, some in ids.items()
        for id, found in lookup(wire, scope, some, pages).items()
    }


def get(wire: Wire, request: GetRequest) -> list[Hit]:
    """Hits in the order asked; looks into scope after scope until every id is found."""
    wanted = dict.fromkeys(request.ids)
    within = MetaFilter(reach=request.reach)
    hits: dict[str, Hit] = {}
    for scope in one_by_one(wire, request.reach):
        missing = [id for id in wanted if id not in hits]
        if not missing:
            break
        single = scope.kind is not ItemKind.CONVERSATION
        for id, found in lookup(wire, scope, missing, any=single).items():
            events = [each.envelope for each in found]
            if within.matches(scope.kind, events[0].meta):
                hits[id] = envelope.hit(events)
    return [hits[id] for id in wanted if id in hits]
