"""store and store_many: look up what is held, write what is not, wait until it can be read.

Several items may be under way at once. They start in item order, and once one has failed none is
started any more: every item before the failing one is stored, and of those after it only such as
were under way with it. Storing any of them again is a replay.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from syncd.engines.cortex.clock import Clock
from syncd.engines.cortex.crew import Crew
from syncd.engines.cortex.doubts import ACCEPTED, Doubt, Doubts
from syncd.engines.cortex.events import Event, events
from syncd.engines.cortex.failures import LOST, OutcomeUnknown
from syncd.engines.cortex.listing import lookup
from syncd.engines.cortex.scopes import Scope
from syncd.engines.cortex.waiting import LISTED_SECONDS, Waits, Written
from syncd.engines.cortex.wire import Wire
from syncd.memory import Item, ItemKind, StoreReceipt
from syncd.memory.errors import MemoryError, Unauthorized, Unavailable

Held = dict[str, set[int]]


class Due(NamedTuple):
    """What is to be written of one item; no events for a replay."""

    number: int
    id: str
    events: tuple[Event, ...]


def plan(items: Sequence[tuple[Event, ...]], held: Mapping[str, set[int]]) -> list[Due]:
    """What each item still needs, given the indexes of the events that are held of it.

    An item that is repeated is a replay of its first copy.
    """
    dues: list[Due] = []
    seen: set[str] = set()
    for number, all_events in enumerate(items):
        id = all_events[0].envelope.id
        have = held.get(id, set())
        missing = tuple(e for e in all_events if id not in seen and e.envelope.index not in have)
        dues.append(Due(number, id, missing))
        seen.add(id)
    return dues


def tail(written: Sequence[Written]) -> list[Written]:
    """The events of one scope whose being listed implies that all of `written` are.

    The log is ordered: what was answered before the last one was sent lies before it.
    """
    newest = max(each.sent for each in written)
    last_of_item: dict[int, Written] = {}
    for each in written:
        if each.done >= newest:
            last_of_item[each.sent] = each
    return list(last_of_item.values())


class Log:
    """What one batch has written, and the ticks that order it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ticks = itertools.count()
        self._written: list[Written] = []

    def tick(self) -> int:
        with self._lock:
            return next(self._ticks)

    def add(self, sent: int, events: Sequence[Event], ids: Sequence[str]) -> None:
        done = self.tick()
        with self._lock:
            self._written += [Written(e, id, sent, done) for e, id in zip(events, ids, strict=True)]

    def by_scope(self) -> dict[Scope, list[Written]]:
        """What was written, by scope; the most recently written scope comes last."""
        out: dict[Scope, list[Written]] = {}
        for each in sorted(self._written, key=lambda each: (each.sent, each.event.envelope.index)):
            of_scope = out.pop(each.event.scope, [])
            of_scope.append(each)
            out[each.event.scope] = of_scope
        return out


class Storing:
    """The only path by which items are written; a single item takes it as a batch of one."""

    def __init__(self, wire: Wire, clock: Clock, waits: Waits, crew: Crew) -> None:
        self._wire = wire
        self._clock = clock
        self._waits = waits
        self._crew = crew
        self.doubts = Doubts(clock)

    def store(self, items: Sequence[Item]) -> list[StoreReceipt]:
        """Receipts in item order. `items` are valid."""
        prepared = [events(item) for item in items]
        dues = plan(prepared, self._held(prepared))
        log = Log()
        try:
            self._write([due for due in dues if due.events], log)
        except (Unavailable, Unauthorized):
            # What was accepted is noted as such; a service that is away would only cost a wait.
            raise
        except MemoryError:
            with suppress(MemoryError):  # the error that ended the batch says more
                self._wait(log)
            raise
        self._wait(log)
        return [StoreReceipt(due.id, replayed=not due.events) for due in dues]

    def _held(self, prepared: Sequence[tuple[Event, ...]]) -> Held:
        ids: dict[Scope, dict[str, None]] = {}
        for all_events in prepared:
            ids.setdefault(all_events[0].scope, {})[all_events[0].envelope.id] = None
        held: Held = {}
        for scope, wanted in ids.items():
            self._look(scope, list(wanted), held)
            doubts = self.doubts.among(wanted)
            if doubts:
                self._resolve(scope, doubts, held)
        return held

    def _look(self, scope: Scope, ids: Sequence[str], held: Held) -> None:
        one_each = scope.kind is not ItemKind.CONVERSATION
        for id, found in lookup(self._wire, scope, ids, any=one_each).items():
            held.setdefault(id, set()).update(each.envelope.index for each in found)

    def _resolve(self, scope: Scope, doubts: dict[str, Doubt], held: Held) -> None:
        """Wait for earlier writes of these items to appear, as long as they may."""

        def unseen() -> list[str]:
            return [id for id, doubt in doubts.items() if not doubt.indexes <= held.get(id, set())]

        def ask(left: float) -> bool | None:
            self._look(scope, unseen(), held)
            return True if not unseen() else None

        if waiting := unseen():
            longest = max(doubts[id].until for id in waiting) - self._clock.now()
            self._waits.until_listed(ask, min(longest, LISTED_SECONDS))
        if self.doubts.among(unseen()):
            raise Unavailable("an earlier write of an item did not become readable so far")
        self.doubts.clear(doubts)

    def _write(self, dues: Sequence[Due], log: Log) -> None:
        """Write in item order; raises the error of the first item that failed."""
        line = iter(dues)
        lock = threading.Lock()
        failed: list[tuple[int, BaseException]] = []

        def work() -> None:
            while True:
                with lock:
                    due = None if failed else next(line, None)
                    sent = log.tick()
                if due is None:
                    return
                try:
                    self._write_one(due, log, sent)
                except BaseException as error:  # noqa: BLE001 - carried over to the caller's thread
                    with lock:
                        failed.append((due.number, error))

        try:
            self._crew.together(work, min(self._wire.manners.writers, len(dues)))
        except BaseException as interruption:
            failed.append((len(dues), interruption))
            raise
        if failed:
            raise min(failed, key=lambda pair: pair[0])[1]

    def _write_one(self, due: Due, log: Log, sent: int) -> None:
        together = [due.events] if self._wire.manners.bulk else [(each,) for each in due.events]
        for group in together:
            ids = self._append(due.id, group)
            self.doubts.note(due.id, (each.envelope.index for each in group), ACCEPTED)
            log.add(sent, group, ids)

    def _append(self, id: str, group: tuple[Event, ...]) -> list[str]:
        def doubt(seconds: float) -> None:
            self.doubts.note(id, (each.envelope.index for each in group), seconds)

        try:
            return self._wire.append(group, doubt)
        except OutcomeUnknown:
            found = self._waits.found(group[0])
            if found is None:
                doubt(LOST)
                raise
            return [found]

    def _wait(self, log: Log) -> None:
        """Once a scope for its listing; for ranked recall, once for the last event of all."""
        scopes = log.by_scope()
        for written in scopes.values():
            self._waits.listed(tail(written))
            self.doubts.clear({each.event.envelope.id for each in written})
        if scopes:
            self._waits.settled(list(scopes.values())[-1][-1])
