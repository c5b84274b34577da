"""The daemon's one worker: takes what falls due at the desks and runs the passes, one at a time.

It decides when, never what. Whatever goes wrong with a source or the engine ends in a pause and
another pass; only a stop ends the worker.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from syncd.daemon.desk import Desk, Patience, Watched
from syncd.daemon.hints import Hint
from syncd.memory import MemoryEngine
from syncd.memory.errors import MemoryError, Unauthorized
from syncd.sources import SourceUnavailable
from syncd.sync.errors import LedgerDamaged, LedgerError, Stopped
from syncd.sync.ledger import Ledger
from syncd.sync.passes import WHOLE, Pass, Scope, held_reason
from syncd.sync.tally import Tally

log = logging.getLogger("syncd")
# A pass that is under way longer than this says so in `status`.
_TELL_AFTER = 2.0


@dataclass(frozen=True, slots=True)
class Order:
    """A whole pass that somebody waits for; it goes before everything that merely falls due."""

    source: str
    accept_deletions: bool = False
    dry_run: bool = False
    done: Future[Tally] = field(default_factory=Future)


class Loop:
    """Keeps sources in memory until it is told to stop. `said` gets each new status line."""

    def __init__(
        self,
        watched: Sequence[Watched],
        open_ledger: Callable[[], Ledger],
        engine: MemoryEngine,
        said: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._open_ledger = open_ledger
        self._ledger = open_ledger()
        self._engine = engine
        self._said = said
        self._changed = threading.Condition()
        self._orders: deque[Order] = deque()
        self._desks = [Desk(each, self._hear) for each in watched]
        self._states: dict[str, tuple[str, str | None]] = {}
        self._engine_patience = Patience(300.0)
        self._engine_from = 0.0
        self._ledger_silent = False
        self.stop_event = threading.Event()
        self.beat = time.monotonic()

    # -- from other threads --------------------------------------------------------------------

    def arm(self) -> None:
        """Watch every source and let each be scanned."""
        for desk in self._desks:
            desk.arm()
            self.scan(desk.source.id)

    def scan(self, source: str) -> None:
        """Let a source be looked at whole."""
        with self._changed:
            for desk in self._desks:
                if desk.source.id == source:
                    desk.scan_later(time.monotonic())
            self._changed.notify()

    def names(self) -> list[str]:
        """The ids of the sources."""
        with self._changed:
            return sorted(desk.source.id for desk in self._desks)

    def place(self, order: Order) -> Future[Tally]:
        """Have a pass made whose scan begins after this call; the tally, or what stopped it."""
        with self._changed:
            self._orders.append(order)
            self._changed.notify()
        return order.done

    def stop(self) -> None:
        """End after the batch that is under way. Safe to call from a signal handler's thread."""
        self.stop_event.set()
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Release watches and the ledger; the worker must have ended."""
        for desk in self._desks:
            desk.disarm()
        self._ledger.close()

    def idle(self) -> bool:
        """Whether nothing is pending now (for tests and the status line)."""
        with self._changed:
            return all(desk.due_at() is None for desk in self._desks)

    def _hear(self, desk: Desk, hint: Hint) -> None:
        with self._changed:
            desk.pending.add(hint, time.monotonic())
            self._changed.notify()

    # -- the worker ----------------------------------------------------------------------------

    def work(self) -> None:
        """Run passes until `stop`; the body of the worker thread."""
        while not self.stop_event.is_set():
            taken = self._wait()
            if isinstance(taken, Order):
                self._carry_out(taken)
            elif taken is not None:
                self._attend(*taken)
        with self._changed:
            for order in self._orders:
                order.done.cancel()

    def _wait(self) -> Order | tuple[Desk, Scope] | None:
        """The next piece of work; None after a wake-up that brought none."""
        with self._changed:
            self.beat = now = time.monotonic()
            if self._orders:
                return self._orders.popleft()
            if now >= self._engine_from:
                for desk in self._desks:
                    scope = desk.take(now)
                    if scope is not None:
                        # Whoever was served goes to the end, so that none starves another.
                        self._desks.remove(desk)
                        self._desks.append(desk)
                        return desk, scope
            times = [at for at in (desk.due_at() for desk in self._desks) if at is not None]
            wait = max(min(times), self._engine_from) - now if times else None
            if not self.stop_event.is_set():
                self._changed.wait(wait)
        return None

    def _carry_out(self, order: Order) -> None:
        desk = next(desk for desk in self._desks if desk.source.id == order.source)
        outcome = self._look_ahead(desk) if order.dry_run else self._attend(desk, WHOLE, order)
        if isinstance(outcome, Tally):
            order.done.set_result(outcome)
        else:
            order.done.set_exception(outcome)

    def _look_ahead(self, desk: Desk) -> Tally | Exception:
        try:
            return self._pass(desk).outlook()
        except (SourceUnavailable, LedgerError) as error:
            return error

    def _attend(self, desk: Desk, scope: Scope, order: Order | None = None) -> Tally | Exception:
        """Make one pass; what stopped it is dealt with here, and handed to whoever waits."""
        try:
            if scope.whole:
                desk.arm()
            work = self._pass(desk)
            work.accept_deletions = order is not None and order.accept_deletions
            tally = work.run(scope)
            self._settle(desk, scope, tally)
        except Exception as error:  # noqa: BLE001 - one hostile file must not end the daemon
            self._deal_with(desk, scope, error)
            return error
        return tally

    def _deal_with(self, desk: Desk, scope: Scope, error: Exception) -> None:
        match error:
            case Stopped():
                log.info("%s: stopped before the pass was done", desk.source.id)
            case SourceUnavailable():
                self._put_off(desk, scope, "unavailable", error.reason, desk.patience.next())
            case MemoryError():
                self._rest_engine(desk, scope, error)
            case LedgerError():
                self._mend_ledger(desk, scope, error)
            case _:
                log.error("%s: a pass broke off", desk.source.id, exc_info=error)
                reason = f"internal error: {type(error).__name__}"
                self._put_off(desk, scope, "failing", reason, desk.patience.next())

    def _pass(self, desk: Desk) -> Pass:
        started = time.monotonic()
        told = [started]

        def progress(tally: Tally) -> None:
            self.beat = now = time.monotonic()
            if now - started > _TELL_AFTER and now - told[0] > _TELL_AFTER:
                told[0] = now
                self._note(desk, state="syncing", reason=None)

        return Pass(
            desk.source,
            self._ledger,
            self._engine,
            hold=desk.watched.hold,
            stop=self.stop_event,
            progress=progress,
        )

    # -- afterwards ----------------------------------------------------------------------------

    def _settle(self, desk: Desk, scope: Scope, tally: Tally) -> None:
        desk.patience.reset()
        if self._engine_from:
            log.info("the engine serves again")
        self._engine_patience.reset()
        self._engine_from = 0.0
        desk.poll_if_degraded()
        self._tell_state(desk, scope, tally)
        if tally.changed:
            log.info("%s: %d stored, %d forgotten", tally.source, tally.stored, tally.forgotten)
            self._said(f"{tally.source}: {tally.stored} stored, {tally.forgotten} forgotten")

    def _tell_state(self, desk: Desk, scope: Scope, tally: Tally) -> None:
        record = self._ledger.source(desk.source.id)
        if scope.whole or record.state not in ("idle", "held"):
            held = tally.held if scope.whole else record.held
            state, reason = ("held", held_reason(held, desk.source.id)) if held else ("idle", None)
            if not held and desk.degraded is not None:
                state, reason = "polling", desk.degraded
            self._change_state(desk, state, reason, pending=0)

    def _put_off(self, desk: Desk, scope: Scope, state: str, reason: str, pause: float) -> None:
        with self._changed:
            desk.give_back(scope, time.monotonic(), pause)
        self._change_state(desk, state, reason)

    def _rest_engine(self, desk: Desk, scope: Scope, error: MemoryError) -> None:
        """One pause holds for every source: they share the engine."""
        pause = self._engine_patience.next()
        if isinstance(error, Unauthorized):
            pause = max(pause, 30.0)
        self._put_off(desk, scope, "failing", error.message, 0.0)
        self._note(desk, pending=self._outstanding(desk))
        self._engine_from = time.monotonic() + pause

    def _outstanding(self, desk: Desk) -> int:
        """How many files wait for the engine; told in `status` while it is away."""
        try:
            outlook = self._pass(desk).outlook()
        except (SourceUnavailable, LedgerError):
            return 0
        return outlook.examined + outlook.forgotten

    def _mend_ledger(self, desk: Desk, scope: Scope, error: LedgerError) -> None:
        if isinstance(error, LedgerDamaged):
            log.warning("%s is damaged; it is moved aside and begun anew", error.path)
            self._ledger.close()
            self._ledger = self._open_ledger()
        self._put_off(desk, scope, "failing", str(error), desk.patience.next())

    def _change_state(
        self, desk: Desk, state: str, reason: str | None, pending: int | None = None
    ) -> None:
        """Write a state down, and say it once: in the log when it is news."""
        fields: dict[str, object] = {"state": state, "reason": reason}
        if pending is not None:
            fields["pending"] = pending
        self._note(desk, **fields)
        source = desk.source.id
        before = self._states.get(source, ("idle", None))
        self._states[source] = (state, reason)
        if before == (state, reason):
            return
        if reason is not None:
            log.warning("%s: %s: %s", source, state, reason)
            self._said(f"{source}: {state}: {reason}")
        elif before[1] is not None:
            log.info("%s: %s again", source, state)
            self._said(f"{source}: {state}")

    def _note(self, desk: Desk, **fields: object) -> None:
        try:
            self._ledger.note(desk.source.id, **fields)
            self._ledger_silent = False
        except LedgerError as error:
            if not self._ledger_silent:
                log.warning("%s", error)
            self._ledger_silent = True
