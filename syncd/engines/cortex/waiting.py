"""Waiting until what was written can be read (seed, "Waiting for a write to be readable")."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, TypeVar

from syncd.engines.cortex import shapes
from syncd.engines.cortex.clock import Clock
from syncd.engines.cortex.envelope import decode
from syncd.engines.cortex.events import Ask, Event, Page
from syncd.engines.cortex.labels import item_label
from syncd.engines.cortex.transport import ATTEMPTS
from syncd.engines.cortex.wire import Wire
from syncd.memory.errors import MemoryError, Unavailable
from syncd.memory.wire import is_blank

T = TypeVar("T")

LISTED_SECONDS = 30.0
SETTLED_SECONDS = 10.0
FIRST_GAP = 0.25
_LEAST_SECONDS = 1.0
_QUERY_CHARACTERS = 256
_PACK_EVENTS = 50


class Written(NamedTuple):
    """An event that the service accepted: its id, and when it was sent and answered, in ticks."""

    event: Event
    id: str
    sent: int
    done: int


class Waits:
    """Polls, at the gaps that the wire's manners allow."""

    def __init__(self, wire: Wire, clock: Clock) -> None:
        self._wire = wire
        self._clock = clock

    def poll(
        self, seconds: float, ask: Callable[[float], T | None], *, forgiving: bool
    ) -> T | None:
        """What `ask` (told the seconds left) answers first but None; None once time is up.

        `forgiving`: that the service cannot answer for the moment is no answer yet, not an error.
        """
        deadline = self._clock.now() + seconds
        gap = FIRST_GAP
        while True:
            try:
                answer = ask(max(deadline - self._clock.now(), _LEAST_SECONDS))
            except Unavailable:
                if self._clock.closed or not forgiving:
                    raise
                answer = None
            left = deadline - self._clock.now()
            if answer is not None or left <= 0:
                return answer
            self._clock.pause(min(gap, left))
            gap = min(2 * gap, self._wire.manners.longest_gap)

    def listed(self, written: Collection[Written]) -> None:
        """Return when a scope lists all of `written`; Unavailable after 30 s."""
        missing = {each.id: each.event for each in written}

        def ask(left: float) -> bool | None:
            # Those that a page has no room for come first once the newer ones are not asked for.
            while missing:
                before = len(missing)
                for raw in self._page(missing.values(), left).events:
                    missing.pop(raw.id or "", None)
                if len(missing) == before:
                    return None
            return True

        if self.until_listed(ask) is None:
            raise Unavailable(f"a write did not become readable in {LISTED_SECONDS:.0f} s")

    def until_listed(
        self, ask: Callable[[float], T | None], seconds: float = LISTED_SECONDS
    ) -> T | None:
        """`poll` as this wire polls its listings."""
        return self.poll(seconds, ask, forgiving=self._wire.manners.forgiving)

    def found(self, event: Event) -> str | None:
        """The id of the event with exactly the text of `event`, once it is listed; else None."""

        def ask(left: float) -> str | None:
            page = self._page([event], left)
            return next((raw.id for raw in page.events if raw.text == event.text), None)

        return self.until_listed(ask)

    def _page(self, events: Collection[Event], left: float) -> Page:
        """The newest events of the items of `events`, all of one scope."""
        labels = list(dict.fromkeys(item_label(event.envelope.id) for event in events))
        scope = next(iter(events)).scope
        # Where a failed poll means "not yet", the next poll is its repetition.
        attempts = 1 if self._wire.manners.forgiving else ATTEMPTS
        return self._wire.list(scope.path, labels, attempts=attempts, seconds=left)

    def settled(self, written: Written) -> None:
        """Give ranked recall up to 10 s to know an event; what goes wrong there is no failure."""
        query = written.event.envelope.text[:_QUERY_CHARACTERS]
        if is_blank(query):
            return
        envelope = written.event.envelope
        ask = Ask(
            written.event.scope.path,
            query,
            shapes.budgets(_PACK_EVENTS),
            (item_label(envelope.id),),
        )

        def known(left: float) -> bool | None:
            for raw in self._wire.recall(ask, attempts=1, seconds=left).events:
                read = decode(raw.text)
                if raw.id == written.id or (
                    read is not None and (read.id, read.index) == (envelope.id, envelope.index)
                ):
                    return True
            return None

        try:
            self.poll(SETTLED_SECONDS, known, forgiving=False)
        except MemoryError:
            # The write is durable and listed; that ranking lags or is down does not undo it.
            return
