"""Carries stores and forgets to the engine in batches, and writes down what came of them.

Order is everything here (design, rule 2): store, write the receipt down together with what it
supersedes, forget that, strike it out. A crash between any two leaves work, never a lie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from syncd.memory import MAX_STORE_MANY, Document, ForgetTarget, MemoryEngine, MetaFilter
from syncd.memory.errors import Conflict, InvalidRequest, MemoryError
from syncd.sources import Look, Reading
from syncd.sync.census import Census
from syncd.sync.ledger import Ledger
from syncd.sync.rows import Entry, State
from syncd.sync.tally import Tally

MAX_BATCH_BYTES = 4 * 1024 * 1024
_FORGET_IDS = 100


class Parcel(NamedTuple):
    """One file on its way to memory, with the ids that it will supersede."""

    path: str
    look: Look
    settled: bool
    recipe: int
    items: tuple[Document, ...]
    digest: bytes
    supersedes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delivered:
    """A parcel and the ids that memory gave its items; when it was refused, those of some parts."""

    parcel: Parcel
    ids: tuple[str, ...]
    refused: str | None = None


def digest(items: Sequence[Document]) -> bytes:
    """20 bytes that identify what a file became, `observed_at` apart."""
    if len(items) == 1:
        return bytes.fromhex(items[0].fingerprint())
    return hashlib.sha256("".join(item.fingerprint() for item in items).encode()).digest()[:20]


def parcel(path: str, reading: Reading, recipe: int, supersedes: tuple[str, ...]) -> Parcel:
    return Parcel(
        path,
        reading.look,
        reading.settled,
        recipe,
        reading.items,
        digest(reading.items),
        supersedes,
    )


class Pusher:
    """Collects parcels of one source and sends them, at most 100 items and 4 MiB at a time."""

    def __init__(
        self,
        source: str,
        ledger: Ledger,
        engine: MemoryEngine,
        tally: Tally,
        filter_of: Callable[[str], MetaFilter | None],
        census: Census | None = None,
    ) -> None:
        self._source = source
        self._filter_of = filter_of
        self._census = census or Census()
        self._ledger = ledger
        self._engine = engine
        self._tally = tally
        self._parcels: list[Parcel] = []
        self._items = 0
        self._bytes = 0
        self.added = 0  # files of which memory held nothing before

    def add(self, parcel: Parcel) -> None:
        """Take a parcel; sends the batch first when the parcel would not fit."""
        size = sum(map(_size, parcel.items))
        full = self._items + len(parcel.items) > MAX_STORE_MANY
        if self._parcels and (full or self._bytes + size > MAX_BATCH_BYTES):
            self.flush()
        self._parcels.append(parcel)
        self._items += len(parcel.items)
        self._bytes += size
        if self._items >= MAX_STORE_MANY:
            self.flush()

    def flush(self) -> None:
        """Send what was collected. Raises the engine's error when it cannot take the batch."""
        parcels, self._parcels = self._parcels, []
        self._items = self._bytes = 0
        if not parcels:
            return
        delivered = list(self._deliver(parcels))
        with self._ledger.transaction():
            self._ledger.write(self._source, map(_entry, delivered))
            superseded = [id for each in delivered for id in _superseded(each)]
            self._ledger.doom_ids(self._source, superseded)
        for each in delivered:
            if each.refused is not None:
                self._tally.set_aside.append((each.parcel.path, each.refused))
            elif not each.parcel.supersedes:
                self.added += 1
        if superseded:
            self.forget_doomed()

    def _deliver(self, parcels: list[Parcel]) -> Iterable[Delivered]:
        """Store parcels; a refused batch is halved until the refused ones are alone."""
        ids: list[str] = []
        try:
            for batch in _batches(item for parcel in parcels for item in parcel.items):
                ids += self._store(batch)
        except (InvalidRequest, Conflict) as error:
            if len(parcels) == 1:
                yield Delivered(parcels[0], _perhaps_stored(parcels[0]), error.message)
                return
            half = len(parcels) // 2
            yield from self._deliver(parcels[:half])
            yield from self._deliver(parcels[half:])
            return
        remaining = iter(ids)
        for parcel in parcels:
            yield Delivered(parcel, tuple(next(remaining) for _ in parcel.items))

    def _store(self, items: list[Document]) -> list[str]:
        try:
            receipts = self._engine.store_many(items)
        except (InvalidRequest, Conflict):
            raise
        except MemoryError:
            self._census.doubt(self._source, (item.fingerprint() for item in items))
            raise
        replayed = sum(receipt.replayed for receipt in receipts)
        self._tally.replayed += replayed
        self._tally.stored += len(receipts) - replayed
        return [receipt.id for receipt in receipts]

    def forget_doomed(self) -> None:
        """Forget what was written down to be forgotten, then strike it out."""
        doomed = self._ledger.doomed(self._source)
        by_id = [(d.number, d.id) for d in doomed if d.id is not None]
        for start in range(0, len(by_id), _FORGET_IDS):
            part = by_id[start : start + _FORGET_IDS]
            self._forget(ForgetTarget(ids=tuple(id for _, id in part)))
            self._ledger.absolve(number for number, _ in part)
        for number, _, path in doomed:
            if path is not None:
                # None only if it was doomed when the source still had filters; a pass that finds
                # memory and the ledger to differ sees to what is left.
                filter = self._filter_of(path)
                if filter is not None:
                    self._forget(ForgetTarget(filter=filter))
                self._ledger.absolve([number])

    def _forget(self, target: ForgetTarget) -> None:
        self._tally.forgotten += self._engine.forget(target).forgotten


def _size(item: Document) -> int:
    return len(item.text) if item.text.isascii() else len(item.text.encode())


def _batches(items: Iterable[Document]) -> Iterator[list[Document]]:
    """`items` in batches within both bounds; one that is larger than a batch goes alone."""
    batch: list[Document] = []
    size = 0
    for item in items:
        more = _size(item)
        if batch and (len(batch) == MAX_STORE_MANY or size + more > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch


def _perhaps_stored(parcel: Parcel) -> tuple[str, ...]:
    """The ids of what memory may hold of a file that was refused: of its parts, those before."""
    return tuple(i.fingerprint() for i in parcel.items) if len(parcel.items) > 1 else ()


def _entry(delivered: Delivered) -> Entry:
    sent = delivered.parcel
    if delivered.refused is not None:
        return Entry(
            sent.path, sent.look, sent.recipe, sent.settled, State.SET_ASIDE, delivered.refused
        )
    return Entry(
        sent.path,
        sent.look,
        sent.recipe,
        sent.settled,
        State.HELD,
        None,
        sent.digest,
        delivered.ids,
    )


def _superseded(delivered: Delivered) -> list[str]:
    if delivered.refused is not None:
        return [*delivered.parcel.supersedes, *delivered.ids]
    return [id for id in delivered.parcel.supersedes if id not in delivered.ids]
