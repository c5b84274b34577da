"""The daemon as a process: signals, readiness, watchdog pings, the rescan schedule, the end."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncd.daemon import notify
from syncd.daemon.alarm import Alarm
from syncd.daemon.control import ControlServer, Refused, socket_path
from syncd.daemon.desk import Pace, Watched
from syncd.daemon.loop import Loop
from syncd.daemon.tasks import Order
from syncd.memory import MemoryEngine
from syncd.sources import SourceUnavailable
from syncd.sync.ledger import Ledger

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler

log = logging.getLogger("syncd")
# The running batch gets this long after SIGTERM; then the process ends as if it had been killed,
# which costs nothing but the batch (design, rule 2).
GRACE_SECONDS = 4.0
# After so much of it the engine is told to hurry: it may be waiting for minutes.
_HURRY_SECONDS = 1.0
# Who waits for an answer when the end comes is told so.
_LAST_WORDS_SECONDS = 0.5
# A worker that shows no sign of life for so long is not reported alive to systemd.
_SILENCE_SECONDS = 600.0


class WorkerEnded(Exception):
    """The worker ended by itself, which is a fault of syncd; systemd starts it anew."""


def serve(
    watched: Sequence[Watched],
    open_ledger: Callable[[], Ledger],
    engine: MemoryEngine,
    state: Path,
    key: Callable[[], object] = lambda: None,
    pace: Pace | None = None,
) -> None:
    """Keep the sources in memory until SIGTERM or SIGINT. Call from the main thread.

    SIGHUP has everything looked at at once. `key` and `pace`: see `Loop`. Raises LedgerError when
    there can be no ledger, WorkerEnded.
    """
    with Alarm() as stop:
        before = _on_signals(stop)
        try:
            loop = Loop(watched, open_ledger, engine, said=notify.status, pace=pace, key=key)
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, partial(_on_hangup, loop))
            _serve(loop, watched, state, stop)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _serve(loop: Loop, watched: Sequence[Watched], state: Path, stop: Alarm) -> None:
    control = ControlServer(socket_path(state), partial(answer, loop))
    scheduler = _schedule(loop, watched)
    worker = threading.Thread(target=_work, args=[loop, stop], name="sync", daemon=True)
    try:
        _listen(control)
        loop.arm(stop)
        worker.start()
        scheduler.start()
        notify.ready(_greeting(watched))
        log.info("%s", _greeting(watched))
        _wait(stop, loop, worker)
    finally:
        notify.stopping()
        control.close()
        _end(loop, worker, scheduler)
        control.wait(_LAST_WORDS_SECONDS)
        log.info("stopped")


def _work(loop: Loop, stop: Alarm) -> None:
    try:
        loop.work()
    finally:
        stop.set()


def _listen(control: ControlServer) -> None:
    try:
        control.start()
    except OSError as error:
        # Without it everything is kept in memory all the same.
        log.warning("`syncd sync` cannot reach this daemon: %s", error)


def answer(loop: Loop, request: Mapping[str, Any]) -> dict[str, Any]:
    """What the daemon replies to `sync`: a tally for each source, or what stopped its pass."""
    if request.get("ask") != "sync":
        raise Refused(f"the daemon does not know how to {request.get('ask')}")
    known = loop.names()
    names = request.get("sources") or known
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Refused("sources must be a list of names")
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise Refused(f"the running daemon does not know {', '.join(unknown)}: restart it")
    orders = [
        Order(name, bool(request.get("accept_deletions")), bool(request.get("dry_run")))
        for name in dict.fromkeys(names)
    ]
    for order in orders:
        loop.place(order)
    return {"sources": [_result(order) for order in orders]}


def _result(order: Order) -> dict[str, Any]:
    try:
        return order.done.result().as_json()
    except CancelledError:
        raise Refused("the daemon is stopping") from None
    except SourceUnavailable as error:
        return {"source": order.source, "unavailable": error.reason, "in_step": False}
    except Exception as error:
        raise Refused(f"{order.source}: {error}") from error


def _greeting(watched: Sequence[Watched]) -> str:
    names = ", ".join(each.source.id for each in watched)
    return f"watching {len(watched)} {'source' if len(watched) == 1 else 'sources'}: {names}"


def _on_signals(stop: Alarm) -> dict[int, Any]:
    def on_signal(number: int, frame: object) -> None:
        if stop.is_set():
            os._exit(0)  # asked twice: what is written down is consistent at any instant
        stop.set()

    return {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}


def _on_hangup(loop: Loop, number: int, frame: object) -> None:
    # In a thread of its own: the handler may have interrupted who holds the loop's lock.
    threading.Thread(target=loop.retry, name="retry", daemon=True).start()


def _schedule(loop: Loop, watched: Sequence[Watched]) -> BackgroundScheduler:
    from apscheduler.schedulers.background import BackgroundScheduler

    # The default grace of one second would drop a rescan on a busy machine, without a word.
    scheduler = BackgroundScheduler(
        timezone="UTC",
        job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
    )
    for each in watched:
        scheduler.add_job(
            loop.scan, "interval", [each.source.id], seconds=each.rescan, jitter=each.rescan / 20
        )
        if each.fetch is not None:
            scheduler.add_job(
                loop.fetch,
                "interval",
                [each.source.id],
                seconds=each.refetch,
                jitter=each.refetch / 20,
                next_run_time=datetime.now(UTC),
            )
    return scheduler


def _wait(stop: Alarm, loop: Loop, worker: threading.Thread) -> None:
    interval = notify.watchdog_interval()
    while not stop.wait(interval):
        if worker.is_alive() and (loop.idle() or time.monotonic() - loop.beat < _SILENCE_SECONDS):
            notify.watchdog()
    if not worker.is_alive():
        raise WorkerEnded("the worker ended")


def _end(loop: Loop, worker: threading.Thread, scheduler: BackgroundScheduler) -> None:
    loop.stop()
    if scheduler.running:
        scheduler.shutdown(wait=False)
    if worker.ident is not None:
        worker.join(_HURRY_SECONDS)
        loop.hurry()
        worker.join(GRACE_SECONDS - _HURRY_SECONDS)
    if worker.is_alive():
        log.warning("the running batch did not end in time and is abandoned; it is repeated later")
        logging.shutdown()
        os._exit(0)
    loop.close()
