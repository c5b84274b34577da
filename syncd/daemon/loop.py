"""The daemon's one worker: takes what falls due at the desks and runs the passes, one at a time.

It decides when, never what. Whatever goes wrong with a source or the engine ends in a pause and
another pass; only a stop ends the worker. A long pass gives way to what falls due meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from syncd.daemon.alarm import Alarm
from syncd.daemon.books import Books
from syncd.daemon.desk import Desk, Pace, Watched
from syncd.daemon.hints import Hint
from syncd.daemon.progress import Progress
from syncd.daemon.rest import Rest
from syncd.daemon.tasks import Order, Overtaken, Task, concerns_others
from syncd.daemon.telling import Telling
from syncd.memory import MemoryEngine
from syncd.memory.errors import MemoryError
from syncd.sources import SourceBusy, SourceUnavailable
from syncd.sync.census import Census
from syncd.sync.errors import LedgerDamaged, LedgerError, LedgerUnavailable, Stopped
from syncd.sync.ledger import Ledger
from syncd.sync.passes import Pass, held_reason
from syncd.sync.scope import Scope
from syncd.sync.tally import Tally

log = logging.getLogger("syncd")
# After others went first, a pass goes on for as long as they took, but no longer than this.
_LONGEST_SHARE = 0.5


class Loop:
    """Keeps sources in memory until it is told to stop. `said` gets each new status line.

    `key` gives another value once the engine's key is another.
    """

    def __init__(
        self,
        watched: Sequence[Watched],
        open_ledger: Callable[[], Ledger],
        engine: MemoryEngine,
        said: Callable[[str], None] = lambda line: None,
        pace: Pace | None = None,
        key: Callable[[], object] = lambda: None,
    ) -> None:
        self._pace = pace or Pace()
        self._books = Books(open_ledger)
        self._opened = self._books.opened
        self._engine = engine
        self._telling = Telling(self._books, said)
        self._changed = threading.Condition()  # guards orders, desks, and whether a task runs
        self._orders: deque[Order] = deque()
        self._desks = [Desk(each, self._hear, self._pace) for each in watched]
        self._busy = False
        self._glance_at = 0.0
        self._rest = Rest(self._pace, key)
        self._census = Census(self._pace.recount)
        self.stop_event = threading.Event()
        self.beat = time.monotonic()

    # -- from other threads --------------------------------------------------------------------

    def arm(self, stop: Alarm | None = None) -> None:
        """Watch every source and let each be scanned. Before `work`; ends early on `stop`."""
        for desk in self._desks:
            if stop is not None and stop.is_set():
                return
            desk.arm()
            self.scan(desk.source.id)

    def scan(self, source: str) -> None:
        """Let a source be looked at whole."""
        with self._changed:
            self._desk(source).scan_later(time.monotonic())
            self._changed.notify()

    def retry(self) -> None:
        """Let everything be looked at now, however long the engine was to be left alone."""
        with self._changed:
            self._rest.end()
            for desk in self._desks:
                desk.scan_later(time.monotonic())
            self._changed.notify()

    def fetch(self, source: str) -> None:
        """Bring the copy of a source up to date, and let it be looked at when that made it another.

        Called from the schedule's threads: a slow server must not keep passes waiting.
        """
        desk = self._desk(source)
        if desk.watched.fetch is None:
            return
        away = None
        try:
            changed = desk.watched.fetch(self._pace.fetch, self.stop_event.is_set)
        except SourceUnavailable as error:
            away, changed = error.reason, False
        except Stopped:
            return
        if changed or away != desk.away:
            desk.away = away
            self.scan(source)

    def names(self) -> list[str]:
        """The ids of the sources."""
        with self._changed:
            return sorted(desk.source.id for desk in self._desks)

    def place(self, order: Order) -> Future[Tally]:
        """Have a pass made whose scan begins after this call; the tally, or what stopped it."""
        with self._changed:
            if self.stop_event.is_set():
                order.done.cancel()
            else:
                self._orders.append(order)
            self._changed.notify()
        return order.done

    def stop(self) -> None:
        """End after the batch that is under way. Not for signal handlers: it takes a lock."""
        self.stop_event.set()
        with self._changed:
            self._changed.notify_all()

    def hurry(self) -> None:
        """Have the batch that is under way end early, after `stop`."""
        self._engine.hurry()

    def close(self) -> None:
        """Release watches and the ledger; the worker must have ended."""
        self.stop_event.set()
        self._dismiss()
        for desk in self._desks:
            desk.disarm()
        self._books.close()

    def idle(self) -> bool:
        """Whether no pass runs and nothing is pending."""
        with self._changed:
            return not (
                self._busy or self._orders or any(desk.due_at() is not None for desk in self._desks)
            )

    def _hear(self, desk: Desk, hint: Hint) -> None:
        with self._changed:
            desk.hear(hint, time.monotonic())
            self._changed.notify()

    # -- the worker ----------------------------------------------------------------------------

    def work(self) -> None:
        """Run passes until `stop`; the body of the worker thread."""
        try:
            while not self.stop_event.is_set():
                task = self._wait()
                if task is not None:
                    self._carry_out(task)
        finally:
            self._dismiss()

    def _dismiss(self) -> None:
        """Let nobody wait for a pass that will not be made."""
        with self._changed:
            for order in self._orders:
                order.done.cancel()
            self._orders.clear()

    def _wait(self) -> Task | None:
        """The next pass to make; None after a wake-up that brought none."""
        with self._changed:
            self.beat = now = time.monotonic()
            self._glance_at = now + self._pace.glance  # a short pass is not disturbed at all
            task = self._take(now)
            self._busy = task is not None
            if task is None and not self.stop_event.is_set():
                self._changed.wait(self._seconds_to_wait(now))
            return task

    def _seconds_to_wait(self, now: float) -> float | None:
        times = [at for at in (desk.due_at() for desk in self._desks) if at is not None]
        return max(min(times), self._rest.next_look(now)) - now if times else None

    def _take(self, now: float) -> Task | None:
        """What can be done now; inside a pass that is only what another pass cannot harm."""
        for order in self._orders:
            desk = self._desk(order.source)
            if not desk.under_way:
                self._orders.remove(order)
                # What is pending is part of it: an event may have told that files were removed.
                taken = None if order.dry_run else desk.take(now, whole=True)
                return Task(desk, taken or Scope(), order)
        for desk in self._desks if self._rest.is_over(now) else ():
            scope = desk.take(now)
            if scope is not None:
                # Whoever was served goes to the end, so that none starves another.
                self._desks.remove(desk)
                self._desks.append(desk)
                return Task(desk, scope)
        return None

    def _desk(self, source: str) -> Desk:
        return next(desk for desk in self._desks if desk.source.id == source)

    def _carry_out(self, task: Task) -> Tally | Exception:
        order = task.order
        looks = order is not None and order.dry_run
        outcome = self._look_ahead(task.desk) if looks else self._attend(task)
        if order is not None and isinstance(outcome, Tally):
            order.done.set_result(outcome)
        elif order is not None and isinstance(outcome, Exception):
            order.done.set_exception(outcome)
        return outcome

    def _look_ahead(self, desk: Desk) -> Tally | Exception:
        """Count what a pass would do; nothing is read, sent or forgotten."""
        try:
            return self._pass(desk, self._ledger(), True).outlook()
        except Exception as error:  # noqa: BLE001 - it is handed to whoever asked
            return error

    def _attend(self, task: Task) -> Tally | Exception:
        """Make one pass; what stopped it is dealt with here, and handed to whoever waits."""
        desk, scope, order = task
        at_work = desk.source.busy() if order is None else None
        if at_work is not None:
            # What is there now may be gone in a second, and be back in another.
            self._put_off(desk, scope, self._pace.rest)
            return SourceUnavailable(at_work)
        with self._changed:
            desk.enter(scope)
        self._rest.before()
        try:
            if scope.whole:
                desk.arm()
            work = self._pass(desk, self._ledger(), scope.whole)
            work.accept_deletions = order is not None and order.accept_deletions
            tally = work.run(scope)
            self._settle(desk, scope, tally)
        except Exception as error:  # noqa: BLE001 - one hostile file must not end the daemon
            self._deal_with(desk, scope, error)
            return error.cause if isinstance(error, Overtaken) else error
        finally:
            with self._changed:
                desk.leave()
        return tally

    def _ledger(self) -> Ledger:
        ledger = self._books.ledger()
        if self._books.opened != self._opened:
            # A new ledger knows nothing: the whole of each source has to be gone through.
            self._opened = self._books.opened
            with self._changed:
                for desk in self._desks:
                    desk.scan_later(time.monotonic())
        return ledger

    def _pass(self, desk: Desk, ledger: Ledger, whole: bool) -> Pass:
        tell = partial(self._telling.note, desk.source.id)
        progress = Progress(self._engine, partial(self._outstanding, desk), tell, whole)
        return Pass(
            desk.source,
            ledger,
            self._engine,
            hold=desk.watched.hold,
            stop=self.stop_event,
            progress=partial(self._progress, progress),
            pressing=self._pressing,
            interlude=partial(self._interlude, self._books.opened),
            census=self._census,
        )

    def _progress(self, progress: Progress, tally: Tally) -> None:
        self.beat = time.monotonic()
        progress(tally)

    # -- inside a pass -------------------------------------------------------------------------

    def _pressing(self) -> bool:
        """Whether a pass under way should let another go first; asked after every file."""
        now = time.monotonic()
        if now < self._glance_at or self.stop_event.is_set():
            return False
        self._glance_at = now + self._pace.glance
        with self._changed:
            waits = any(not self._desk(order.source).under_way for order in self._orders)
            return waits or (
                self._rest.is_over(now) and any(desk.is_ready(now) for desk in self._desks)
            )

    def _interlude(self, opened: int) -> None:
        """Make the passes that press, each source one. Overtaken when the outer one must end."""
        began = time.monotonic()
        for _ in self._desks:
            with self._changed:
                task = None if self.stop_event.is_set() else self._take(time.monotonic())
            if task is None:
                break
            outcome = self._carry_out(task)
            if isinstance(outcome, Exception) and concerns_others(task, outcome):
                raise Overtaken(outcome)
            if self._books.opened != opened:
                raise Overtaken(LedgerUnavailable(self._ledger().path, "it was begun anew"))
        # The outer pass gets its share of the time, so that it ends although others press.
        now = time.monotonic()
        self._glance_at = now + max(self._pace.glance, min(now - began, _LONGEST_SHARE))

    # -- afterwards ----------------------------------------------------------------------------

    def _settle(self, desk: Desk, scope: Scope, tally: Tally) -> None:
        desk.succeeded()
        if scope.whole or tally.changed or tally.replayed:
            self._rest.end()
            self._telling.engine(None)
        with self._changed:
            desk.poll_if_degraded(time.monotonic())
        if not desk.is_inside:
            self._tell_state(desk, scope, tally)
        self._telling.changed(tally)

    def _tell_state(self, desk: Desk, scope: Scope, tally: Tally) -> None:
        source = desk.source.id
        record = self._ledger().source(source)
        held = tally.held if scope.whole else record.held
        if not scope.whole and held and (tally.examined or tally.forgotten):
            # What was held may have come back, or have been seen to go: a whole look tells.
            with self._changed:
                desk.scan_within(time.monotonic(), self._pace.review)
        if not scope.whole and record.state in ("idle", "held"):
            return
        state, reason = ("held", held_reason(held, source)) if held else ("idle", None)
        if not held and desk.degraded is not None:
            state, reason = "polling", desk.degraded
        if not held and desk.away is not None:
            state, reason = "unavailable", desk.away
        self._telling.state(source, state, reason, pending=0)

    def _deal_with(self, desk: Desk, scope: Scope, error: Exception) -> None:
        source = desk.source.id
        match error:
            case Stopped() | MemoryError() if self.stop_event.is_set():
                log.info("%s: stopped before the pass was done", source)
            case SourceBusy():
                self._put_off(desk, scope, self._pace.rest)
            case SourceUnavailable():
                self._put_off(desk, scope, desk.patience.next(), away=True)
                self._telling.state(source, "unavailable", error.reason)
            case MemoryError():
                self._rest_engine(desk, scope, error)
            case LedgerError():
                if isinstance(error, LedgerDamaged):
                    self._books.discard(error.path)
                self._put_off(desk, scope, desk.patience.next())
                self._telling.state(source, "failing", str(error))
            case Overtaken():
                self._put_off(desk, scope, 0.0)
                self._telling.note(source, state="failing", reason=str(error.cause))
            case _:
                log.error("%s: a pass broke off", source, exc_info=error)
                self._put_off(desk, scope, desk.patience.next())
                self._telling.state(source, "failing", f"internal error: {type(error).__name__}")

    def _put_off(self, desk: Desk, scope: Scope, pause: float, *, away: bool = False) -> None:
        with self._changed:
            desk.give_back(scope, time.monotonic(), pause, away=away)

    def _rest_engine(self, desk: Desk, scope: Scope, error: MemoryError) -> None:
        """One pause holds for every source: they share the engine."""
        self._put_off(desk, scope, 0.0)
        self._telling.engine(error.message)
        waiting = self._outstanding(desk)
        fields = {"reason": error.message, "pending": waiting, "finish": None}
        self._telling.note(desk.source.id, state="failing", **fields)
        self._rest.begin(error)

    def _outstanding(self, desk: Desk) -> int:
        """How many files wait for the engine; told in `status` while it is away."""
        outlook = self._look_ahead(desk)
        return outlook.examined + outlook.forgotten if isinstance(outlook, Tally) else 0
