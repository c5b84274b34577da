"""Sets the ledger right from memory, which is the fact (design, rule 1).

Used when the ledger is new, and when memory holds another number of items than the ledger says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from syncd.memory import ExploreRequest, Facet, Hit, ListRequest, MemoryEngine, MetaFilter
from syncd.memory.errors import Engine
from syncd.sources.source import Source
from syncd.sync.census import Census
from syncd.sync.ledger import Ledger
from syncd.sync.rows import NO_LOOK, Entry, State

_PAGE = 200


def listed(engine: MemoryEngine, filter: MetaFilter) -> Iterator[Hit]:
    """Every item that a filter admits, page by page."""
    cursor: str | None = None
    while True:
        page = engine.list(ListRequest(filter, _PAGE, cursor))
        yield from page.items
        if page.next_cursor is None:
            return
        if page.next_cursor == cursor:
            raise Engine("a listing repeated its cursor, so that it would never end")
        cursor = page.next_cursor


def agrees(source: str, ledger: Ledger, engine: MemoryEngine, census: Census | None = None) -> bool:
    """Whether memory holds as many items of a source as the ledger says, what is doomed apart.

    Where a `census` says that it is not due, the ledger is believed.
    """
    record = ledger.source(source)
    if not record.complete:
        return False
    if census is not None and not census.is_due(source, engine):
        return True
    request = ExploreRequest(Facet.KIND, MetaFilter(source_id=source), scan_limit=50_000)
    page = engine.explore(request)
    return page.truncated or page.total == ledger.count(source)[1] + record.strangers


def set_right(source: Source, ledger: Ledger, engine: MemoryEngine, census: Census) -> bool:
    """Have the ledger agree with memory, where that is in question; whether it was corrected."""
    counted = census.is_due(source.id, engine)
    right = agrees(source.id, ledger, engine, census)
    if not right:
        reconcile(source, ledger, engine)
        ledger.note(source.id, mark=None)
    if counted or not right:
        census.counted(source.id)
    return not right


@dataclass(slots=True)
class Correction:
    """How the ledger differs from memory: rows that lack their items, paths that hold others."""

    lost: list[str] = field(default_factory=list)
    found: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.lost or self.found)


def compare(
    held: Mapping[str, tuple[str, ...]], claims: Iterable[tuple[str, tuple[str, ...]]]
) -> Correction:
    """What to correct, from the ids that memory holds and those that the ledger claims, by path.

    Which of several items is the right one only the file itself can tell, so it is read again.
    """
    out = Correction()
    unclaimed = dict(held)
    for path, ids in claims:
        there = unclaimed.pop(path, ())
        if there and set(ids) != set(there):
            out.found[path] = there
        elif not there:
            out.lost.append(path)
    out.found.update(unclaimed)
    return out


def reconcile(source: Source, ledger: Ledger, engine: MemoryEngine) -> Correction:
    """List a source's items back and correct its rows; the pass that follows does the rest.

    Items without a path of this source are strangers: counted, and left alone.
    """
    held: dict[str, list[str]] = defaultdict(list)
    strangers = 0
    for hit in listed(engine, MetaFilter(source_id=source.id)):
        path = source.key_of(hit.meta)
        if path is None:
            strangers += 1
        else:
            held[path].append(hit.id)
    claims = list(ledger.claims(source.id))
    found = compare({path: tuple(ids) for path, ids in held.items()}, claims)
    with ledger.transaction():
        ledger.distrust(source.id, found.lost)
        ledger.write(source.id, (_recovered(path, ids) for path, ids in found.found.items()))
        ledger.note(source.id, complete=1, strangers=strangers)
    return found


def _recovered(path: str, ids: tuple[str, ...]) -> Entry:
    # No look, so that the file is read again; its ids, so that what it supersedes is forgotten.
    return Entry(path, NO_LOOK, 0, False, State.HELD, None, b"", ids)
