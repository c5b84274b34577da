"""fetch and recall: packs of the scopes that a filter reads, filtered again on this side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from syncd.engines.cortex import cursors, envelope, scopes, shapes
from syncd.engines.cortex.crew import Crew
from syncd.engines.cortex.envelope import Envelope, decode
from syncd.engines.cortex.events import Ask, Pack
from syncd.engines.cortex.labels import kinds_of, of_filter
from syncd.engines.cortex.listing import resolve
from syncd.engines.cortex.reading import conversations
from syncd.engines.cortex.scopes import Scope
from syncd.engines.cortex.wire import Wire
from syncd.memory import (
    Citation,
    FetchPage,
    FetchRequest,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
)
from syncd.memory.errors import Engine

MAX_EVENTS = 1000
_EVENTS_A_HIT = 3


def fetch_page(wire: Wire, crew: Crew, request: FetchRequest) -> FetchPage:
    """The page at the request's cursor, which is an offset into the merged ranking."""
    offset = cursors.read_fetch(request.cursor) if request.cursor is not None else 0
    end = offset + request.limit
    filter = request.filter
    # Turns of one conversation take several events, and the filter drops some.
    budgets = shapes.budgets(min((end + 1) * _EVENTS_A_HIT, MAX_EVENTS))
    labels = of_filter(filter)

    def ranked(scope: Scope) -> list[tuple[Scope, Envelope]]:
        pack = wire.recall(Ask(scope.path, request.query, budgets, labels))
        found = (each for each in admitted(pack, filter) if each.kind is scope.kind)
        return [(scope, each) for each in once_each(found)]

    merged = interleave(crew.map(ranked, resolve(wire, filter.reach, kinds_of(filter))))
    page = merged[offset:end]
    whole = conversations(wire, [(scope, each.id) for scope, each in page])
    hits = tuple(
        envelope.hit([each, *whole.get(each.id, ())], 1 / (1 + rank))
        for rank, (_, each) in enumerate(page, offset)
    )
    return FetchPage(hits, cursors.write_fetch(end) if len(merged) > end else None)


def interleave(
    rankings: Sequence[Sequence[tuple[Scope, Envelope]]],
) -> list[tuple[Scope, Envelope]]:
    """Every ranking's best, then every one's second, and so on; each item at its best rank."""
    out: dict[str, tuple[Scope, Envelope]] = {}
    for rank in zip_longest(*rankings):
        for found in rank:
            if found is not None:
                out.setdefault(found[1].id, found)
    return list(out.values())


def admitted(pack: Pack, filter: MetaFilter) -> Iterator[Envelope]:
    """The events of `pack` that are envelopes of items that `filter` admits, best first."""
    for raw in pack.events:
        found = decode(raw.text)
        if found is not None and filter.matches(found.kind, found.meta):
            yield found


def once_each(events: Iterable[Envelope]) -> list[Envelope]:
    """Each item once, at its best rank."""
    first: dict[str, Envelope] = {}
    for event in events:
        first.setdefault(event.id, event)
    return list(first.values())


class _Packed(NamedTuple):
    """A pack over `scope`, and what the filter left of it."""

    scope: str
    pack: Pack
    events: list[Envelope]


def recall(wire: Wire, crew: Crew, request: RecallRequest) -> RecallAnswer:
    """One answer, from the pack that holds most of what the filter admits, and citations."""
    packs = crew.map(lambda ask: _packed(wire, ask, request.filter), _asks(wire, request))
    # The first of equals is the most specific one.
    best = max(packs, key=lambda each: len(each.events))
    if best.pack.id is None:
        raise Engine("recall answered without the id of its pack")
    answer = wire.answer(best.scope, request.question, best.pack.id, request.instructions)
    found = once_each(event for each in packs for event in each.events)
    found.sort(key=lambda event: -len(event.meta.namespace.segments))
    cited = tuple(Citation(e.id, e.kind, e.text, e.meta) for e in found[: request.limit])
    return RecallAnswer(answer.text, cited, answer.model)


def _packed(wire: Wire, ask: Ask, filter: MetaFilter) -> _Packed:
    pack = wire.recall(ask)
    return _Packed(ask.scope, pack, list(admitted(pack, filter)))


def _asks(wire: Wire, request: RecallRequest) -> list[Ask]:
    """The packs to build, the most specific node's first."""
    filter = request.filter
    kinds = kinds_of(filter)
    budgets = shapes.budgets(2 * request.limit, request.limit)
    labels = of_filter(filter)
    # Without a reach several kinds are always several scopes: no need to ask which.
    several = filter.reach is None and len(kinds) > 1
    read = [] if several else resolve(wire, filter.reach, kinds)
    if not read or (filter.reach is None and len(read) > 1):
        return [Ask(scopes.APP, request.question, budgets, labels, descend=True)]
    read.sort(key=lambda scope: -scope.depth)
    return [Ask(scope.path, request.question, budgets, labels) for scope in read]
