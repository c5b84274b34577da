"""The daemon as a process: what it answers, when it counts as alive, and how it ends by itself."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from syncd.daemon import process
from syncd.daemon.alarm import Alarm
from syncd.daemon.control import Refused, ask, socket_path
from syncd.daemon.desk import Watched
from syncd.daemon.loop import Loop
from syncd.daemon.process import WorkerEnded, answer, serve
from syncd.daemon.tasks import Order
from syncd.memory.errors import Unavailable
from syncd.memory.reference import ReferenceEngine
from syncd.sources import FolderSettings, FolderSource
from syncd.sync.ledger import Ledger
from syncd.sync.plan import Hold
from tests.daemon.stage import Recorder, Stage
from tests.waiting import until


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, "notes", "other")
    yield stage
    stage.engine.before = lambda name, argument: None
    stage.stop()


# -- what is answered ---------------------------------------------------------------------------


def test_sync_is_answered_with_a_tally_for_each_source(stage: Stage) -> None:
    stage.put("a.md")
    stage.start()
    stage.await_equal()
    reply = answer(stage.loop, {"ask": "sync"})
    assert [each["source"] for each in reply["sources"]] == ["notes", "other"]
    assert all(each["in_step"] for each in reply["sources"])
    reply = answer(stage.loop, {"ask": "sync", "sources": ["other", "other"], "dry_run": True})
    assert [each["source"] for each in reply["sources"]] == ["other"]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({}, "how to None"),
        ({"ask": "dance"}, "how to dance"),
        ({"ask": "sync", "sources": 5}, "a list of names"),
        ({"ask": "sync", "sources": "notes"}, "a list of names"),
        ({"ask": "sync", "sources": [["notes"]]}, "a list of names"),
        ({"ask": "sync", "sources": ["notes", "nobody"]}, "does not know nobody"),
    ],
)
def test_what_makes_no_sense_is_refused(stage: Stage, request_: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        answer(stage.loop, request_)


def test_a_source_that_is_away_is_told_beside_the_others(stage: Stage) -> None:
    stage.start()
    stage.await_equal()
    stage.root.rename(stage.top / "away")
    notes, other = answer(stage.loop, {"ask": "sync"})["sources"]
    assert "does not exist" in notes["unavailable"]
    assert not notes["in_step"]
    assert other["in_step"]


def test_an_engine_that_fails_is_told_with_its_source(stage: Stage) -> None:
    stage.start()
    stage.await_equal()

    def fail(name: str, argument: Any) -> None:
        raise Unavailable("gone fishing")

    stage.engine.before = fail
    stage.put("a.md")
    with pytest.raises(Refused, match="notes: gone fishing"):
        answer(stage.loop, {"ask": "sync", "sources": ["notes"]})


def test_a_loop_that_ends_refuses(stage: Stage) -> None:
    stage.loop.stop()
    with pytest.raises(Refused, match="stopping"):
        answer(stage.loop, {"ask": "sync"})


# -- alive or not -------------------------------------------------------------------------------


def test_a_pass_that_hangs_is_no_idle_loop(stage: Stage) -> None:
    hangs, go_on = threading.Event(), threading.Event()

    def hang(name: str, argument: Any) -> None:
        hangs.set()
        go_on.wait(30)

    stage.engine.before = hang
    stage.put("a.md")
    stage.start()
    assert hangs.wait(30)
    until(lambda: stage.loop._desk("other").due_at() is not None)
    assert not stage.loop.idle()
    beat = stage.loop.beat
    go_on.set()
    stage.await_equal()
    stage.idle()
    assert stage.loop.beat > beat


def test_a_waiting_order_is_no_idle_loop(stage: Stage) -> None:
    assert stage.loop.idle()
    stage.loop.place(Order("notes"))
    assert not stage.loop.idle()


@pytest.mark.parametrize(("silent_for", "pings"), [(0.0, True), (1e6, False)])
def test_signs_of_life_are_given_only_while_there_is_life(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, silent_for: float, pings: bool
) -> None:
    stop = Alarm()
    given = []
    asked = iter(range(4))

    def interval_over(timeout: float | None) -> bool:
        return next(asked, None) is None

    monkeypatch.setattr(stop, "wait", interval_over)
    monkeypatch.setattr(process.notify, "watchdog", lambda: given.append(1))
    worker = threading.Thread(target=stop.is_set)
    monkeypatch.setattr(worker, "is_alive", lambda: True)
    stage.loop.place(Order("notes"))
    stage.loop.beat = time.monotonic() - silent_for
    process._wait(stop, stage.loop, worker)
    assert bool(given) is pings


# -- the whole of it, in this process -----------------------------------------------------------


def _watched(root: Path) -> list[Watched]:
    root.mkdir(exist_ok=True)
    return [Watched(FolderSource(FolderSettings("notes", root)), Hold(), 3600.0)]


def _left() -> tuple[set[str], int]:
    return {t.name for t in threading.enumerate()}, len(os.listdir("/proc/self/fd"))


def _when(condition: Any, then: Any) -> threading.Thread:
    def body() -> None:
        until(condition)
        then()

    thread = threading.Thread(target=body)
    thread.start()
    return thread


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("run", "state"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    return tmp_path / "state"


def test_serve_runs_until_a_signal_and_leaves_nothing_over(tmp_path: Path, state: Path) -> None:
    engine = Recorder()
    root = tmp_path / "root"
    watched = _watched(root)
    (root / "a.md").write_text("text")
    _when(lambda: True, lambda: None).join()
    before, handler = _left(), signal.getsignal(signal.SIGTERM)
    teller = _when(
        lambda: engine.texts(root) == {"a.md": "text"} and socket_path(state).exists(),
        lambda: os.kill(os.getpid(), signal.SIGTERM),
    )
    serve(watched, partial(Ledger.open, state), engine, state)
    teller.join()
    assert signal.getsignal(signal.SIGTERM) is handler
    assert not socket_path(state).exists()
    until(lambda: _left() == before, what=f"{_left()} to be {before}")


def test_a_worker_that_dies_ends_the_daemon(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loop, "work", lambda loop: None)
    with pytest.raises(WorkerEnded):
        serve(_watched(tmp_path / "root"), partial(Ledger.open, state), ReferenceEngine(), state)


def test_a_socket_that_cannot_be_made_does_not_stop_the_daemon(
    tmp_path: Path, state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "run").chmod(0o777)
    engine = Recorder()
    root = tmp_path / "root"
    watched = _watched(root)
    (root / "a.md").write_text("text")
    teller = _when(
        lambda: engine.texts(root) == {"a.md": "text"},
        lambda: os.kill(os.getpid(), signal.SIGINT),
    )
    with caplog.at_level(logging.WARNING, "syncd"):
        serve(watched, partial(Ledger.open, state), engine, state)
    teller.join()
    assert "cannot reach this daemon" in caplog.text


def test_who_asks_while_it_stops_is_told(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Recorder()
    root = tmp_path / "root"
    watched = _watched(root)
    (root / "a.md").write_text("text")
    hangs = threading.Event()
    stopping = threading.Event()

    def hang(name: str, argument: Any) -> None:
        hangs.set()
        stopping.wait(30)

    engine.before = hang
    stop = Loop.stop
    monkeypatch.setattr(Loop, "stop", lambda loop: (stop(loop), stopping.set()))
    told: list[str] = []

    def asks() -> None:
        try:
            ask(socket_path(state), {"ask": "sync"})
        except Refused as error:
            told.append(str(error))

    asker = _when(hangs.is_set, asks)
    teller = _when(
        lambda: any(t.name == "control-answer" for t in threading.enumerate()),
        lambda: os.kill(os.getpid(), signal.SIGTERM),
    )
    serve(watched, partial(Ledger.open, state), engine, state)
    asker.join()
    teller.join()
    assert told == ["the daemon is stopping"]
