"""The worker: what falls due is done, trouble ends in a pause, and a stop ends it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncd.daemon.tasks import Order
from syncd.memory import ForgetTarget
from syncd.memory.errors import Unauthorized, Unavailable
from syncd.sources import SourceUnavailable
from syncd.sync.errors import LedgerDamaged
from syncd.sync.ledger import Ledger
from syncd.sync.rows import Row
from tests.daemon.stage import FAST, Stage
from tests.waiting import until

Make = Callable[..., Stage]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Stage] = []

    def build(*names: str, **options: Any) -> Stage:
        made.append(Stage(tmp_path, *names, **options))
        return made[-1]

    yield build
    for stage in made:
        stage.engine.before = lambda name, argument: None
        stage.stop()


@pytest.fixture
def stage(make: Make) -> Stage:
    return make()


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# -- what falls due -----------------------------------------------------------------------------


def test_a_save_a_change_and_a_removal_are_followed(stage: Stage) -> None:
    stage.put("before.md")
    stage.start()
    stage.await_equal()
    stage.put("a.md", "one")
    stage.await_equal()
    stage.put("a.md", "two")
    stage.await_equal()
    stage.remove("a.md")
    stage.await_equal()
    assert stage.engine.texts(stage.root) == {"before.md": "text of before.md"}
    assert stage.lines[-1] == "notes: 0 stored, 1 forgotten"


def test_an_atomic_save_is_never_taken_for_a_removal(stage: Stage, tmp_path: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        stage.put(name, "v1")
    stage.start()
    stage.await_equal()
    missing: list[str] = []

    def before(name: str, argument: Any) -> None:
        if isinstance(argument, ForgetTarget):
            held = stage.engine.texts_all(stage.root)
            left = {path for path, id in held if id not in (argument.ids or ())}
            missing.extend({"a.md", "b.md", "c.md"} - left)
            assert argument.filter is None

    stage.engine.before = before
    pause = threading.Event()
    stage.put(".a.md.tmp9", "v2").rename(stage.root / "a.md")
    outside = tmp_path / "out"
    outside.write_text("v2")
    outside.rename(stage.root / "b.md")
    (stage.root / "c.md").rename(stage.root / "c.md~")
    pause.wait(0.4)  # the editor's own pause, which the case is about
    stage.put("c.md", "v2")
    stage.remove("c.md~")
    stage.await_equal()
    for number in (3, 4, 5):
        stage.put(".t", f"v{number}").rename(stage.root / "a.md")
        until(lambda text=f"v{number}": stage.engine.texts(stage.root)["a.md"] == text)  # type: ignore[misc]
    assert stage.engine.texts(stage.root) == {"a.md": "v5", "b.md": "v2", "c.md": "v2"}
    assert not missing
    assert set(stage.engine.stored()) == {"a.md", "b.md", "c.md"}
    assert all(target.filter is None for target in stage.engine.forgets())


def test_nothing_happens_when_nothing_happens(stage: Stage) -> None:
    stage.many(5)
    stage.start()
    stage.await_equal()
    stage.idle()
    calls, lines = len(stage.engine.calls), len(stage.lines)
    os.utime(stage.root / "n0001.md")
    until(lambda: not stage.loop.idle(), what="the touch to be seen")
    stage.idle()
    assert (len(stage.engine.calls), len(stage.lines)) == (calls, lines)


def test_a_second_start_sends_nothing(stage: Stage) -> None:
    stage.many(12)
    stage.start()
    stage.await_equal()
    stage.restart()
    stage.idle()
    assert len(stage.engine.stored()) == 12
    assert not stage.engine.forgets()


# -- sources that go ----------------------------------------------------------------------------


def test_a_root_that_is_away_is_unavailable_until_it_is_back(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.many(40)
    stage.start()
    stage.await_equal()
    stage.idle()
    away = stage.top / "away"
    stage.root.rename(away)
    assert "does not exist" in str(stage.await_state("unavailable"))
    stage.root.mkdir()
    until(lambda: "another directory" in str(stage.record().reason))
    stage.restart()
    assert "another directory" in str(stage.await_state("unavailable"))
    with pytest.raises(SourceUnavailable):
        stage.sync()
    assert not stage.engine.forgets()
    stage.root.rmdir()
    away.rename(stage.root)
    stage.put("n0004.md", "edited")
    stage.remove("n0001.md")
    stage.await_equal()
    stage.await_state("idle")
    assert sorted(stage.engine.stored()[40:]) == ["n0004.md"]
    assert len(_warnings(caplog)) <= 6  # one for each reason, and one for the restarted loop


def test_one_source_that_is_away_does_not_stop_another(make: Make) -> None:
    stage = make("notes", "other")
    stage.many(15)
    stage.put("x.md", source="other")
    stage.start()
    stage.await_equal()
    stage.root.rename(stage.top / "away")
    stage.await_state("unavailable")
    stage.put("y.md", source="other")
    until(lambda: "y.md" in stage.engine.texts(stage.roots["other"]))
    assert len(stage.engine.texts(stage.root)) == 15
    (stage.top / "away").rename(stage.root)
    stage.await_equal()
    stage.await_state("idle")


def test_files_that_come_back_into_an_empty_root_are_met_at_once(make: Make) -> None:
    # without the event the next attempt would be an hour away
    stage = make(pace=replace(FAST, first=3600.0, source=3600.0))
    stage.many(15)
    stage.start()
    stage.await_equal()
    stage.idle()
    stage.stop()
    away = stage.top / "away"
    away.mkdir()
    for path in stage.root.iterdir():
        path.rename(away / path.name)
    stage.restart()
    stage.await_state("unavailable")
    for path in away.iterdir():
        path.rename(stage.root / path.name)
    stage.await_state("idle")
    assert len(stage.engine.stored()) == 15


def test_a_hold_ends_when_the_files_come_back(make: Make) -> None:
    stage = make()
    stage.many(30)
    stage.start()
    stage.await_equal()
    stage.stop()
    away = stage.top / "away"
    away.mkdir()
    for number in range(20):
        (stage.root / f"n{number:04}.md").rename(away / f"{number}")
    stage.loop = stage._loop()
    stage.start()
    assert "20 files are gone" in str(stage.await_state("held"))
    assert stage.sync().held == 20
    for number in range(20):
        (away / f"{number}").rename(stage.root / f"n{number:04}.md")
    stage.await_state("idle")
    assert not stage.engine.forgets()


def test_a_hold_ends_when_it_is_accepted(make: Make) -> None:
    stage = make()
    stage.many(30)
    stage.start()
    stage.await_equal()
    stage.stop()
    for number in range(20):
        stage.remove(f"n{number:04}.md")
    stage.loop = stage._loop()
    stage.start()
    stage.await_state("held")
    tally = stage.sync(accept_deletions=True)
    assert (tally.forgotten, tally.held) == (20, 0)
    assert stage.equal()
    stage.await_state("idle")


def test_a_removal_that_was_seen_is_no_hold_even_when_somebody_asks_meanwhile(
    stage: Stage,
) -> None:
    stage.many(30)
    stage.start()
    stage.await_equal()
    stage.idle()
    for number in range(25):
        stage.remove(f"n{number:04}.md")
    stage.sync()
    stage.await_equal()
    stage.await_state("idle")


# -- an engine that fails -----------------------------------------------------------------------


@pytest.mark.parametrize("error", [Unavailable("gone fishing"), Unauthorized("key refused")])
def test_an_engine_that_is_away_is_waited_for(
    make: Make, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "syncd")
    stage = make("notes", "other")
    stage.many(20)
    stage.put("x.md", source="other")
    tries = []

    def fail(name: str, argument: Any) -> None:
        tries.append(name)
        raise error

    stage.engine.before = fail
    stage.start()
    until(lambda: len(tries) > 8)
    assert stage.await_state("failing") == str(error)
    assert stage.record().pending == 20
    stage.put("later.md")
    stage.engine.before = lambda name, argument: None
    stage.await_equal()
    stage.idle()
    stage.await_state("idle")
    assert stage.record().pending == 0
    assert _warnings(caplog) == [f"the engine does not serve: {error}"]
    assert sum("serves again" in record.getMessage() for record in caplog.records) == 1


def test_a_pass_that_needed_no_engine_does_not_say_that_it_serves_again(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "syncd")
    stage = make("notes", "other", pace=replace(FAST, glance=3600.0))
    stage.put("x.md", source="other")
    stage.start()
    stage.await_equal()
    stage.idle()

    def fail(name: str, argument: Any) -> None:
        raise Unavailable("gone fishing")

    stage.engine.before = fail
    stage.put("a.md")
    stage.await_state("failing")
    os.utime(stage.roots["other"] / "x.md")
    desk = stage.loop._desk("other")
    until(lambda: desk.due_at() is not None)
    until(lambda: desk.due_at() is None)
    calls = len(stage.engine.calls)
    until(lambda: len(stage.engine.calls) > calls + 1)  # the one worker is past it
    assert "the engine serves" not in stage.lines
    stage.engine.before = lambda name, argument: None
    stage.await_equal()
    stage.await_state("idle")


def test_an_engine_that_fails_between_store_and_forget_doubles_nothing(stage: Stage) -> None:
    stage.many(8)
    stage.start()
    stage.await_equal()
    failures = iter(range(3))

    def fail(name: str, argument: Any) -> None:
        if name == "forget" and next(failures, None) is not None:
            raise Unavailable("gone fishing")

    stage.engine.before = fail
    for number in range(8):
        stage.put(f"n{number:04}.md", "changed")
    stage.await_equal()


def test_a_fault_of_our_own_is_survived(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.put("a.md")
    failures = iter(range(3))

    def fail(name: str, argument: Any) -> None:
        if name == "store_many" and next(failures, None) is not None:
            raise ZeroDivisionError

    stage.engine.before = fail
    stage.start()
    stage.await_equal()
    stage.await_state("idle")
    assert any("a pass broke off" in line for line in _warnings(caplog))


# -- the ledger ---------------------------------------------------------------------------------


def test_a_ledger_that_turns_out_damaged_is_kept_and_begun_anew(make: Make) -> None:
    class Breaking(Ledger):
        broken = False

        def rows(self, source: str, under: str = "") -> Iterator[Row]:
            if self.broken:
                raise LedgerDamaged(self.path, "database disk image is malformed")
            return super().rows(source, under)

    kinds: list[type[Ledger]] = [Breaking]
    stage = make(open_ledger=lambda state: (kinds.pop() if kinds else Ledger).open(state))
    stage.many(60)
    stage.start()
    stage.await_equal()
    stage.idle()
    Breaking.broken = True
    stage.put("late.md")
    stage.await_equal()
    until(lambda: list(stage.state.glob("ledger.db.damaged-*")))
    until(lambda: stage.record().last_pass is not None)
    stage.idle()
    assert stage.equal()
    assert stage.record().state == "idle"
    assert not stage.engine.forgets()


def test_a_ledger_damaged_on_the_disk_costs_no_truth(stage: Stage) -> None:
    stage.many(60)
    stage.start()
    stage.await_equal()
    stage.idle()
    with (stage.state / "ledger.db").open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(8192))
    stage.put("late.md")
    stage.await_equal()
    stage.restart()
    stage.remove("n0001.md")
    stage.await_equal()
    stage.sync()
    assert stage.equal()
    assert len(stage.engine.texts(stage.root)) == 60


@pytest.mark.parametrize("companions", [True, False])
def test_a_ledger_that_is_deleted_while_running_is_begun_anew(
    stage: Stage, companions: bool
) -> None:
    stage.many(20)
    stage.start()
    stage.await_equal()
    stage.idle()
    (stage.state / "ledger.db").unlink()
    if companions:
        for companion in stage.state.glob("ledger.db-*"):
            companion.unlink()
    stage.put("late.md")
    stage.put("n0003.md", "changed")
    stage.await_equal()
    until(lambda: stage.record() is not None and stage.record().last_pass)
    stage.idle()
    assert stage.equal()


def test_a_state_directory_that_went_is_waited_for(stage: Stage) -> None:
    stage.many(5)
    stage.start()
    stage.await_equal()
    stage.idle()
    away = stage.top / "state.away"
    stage.state.rename(away)
    stage.put("late.md")
    until(lambda: any("failing" in line for line in stage.lines))
    away.rename(stage.state)
    stage.await_equal()
    stage.await_state("idle")


# -- who asks for a pass ------------------------------------------------------------------------


def test_an_order_is_a_pass_that_begins_after_it(stage: Stage) -> None:
    stage.many(3)
    under_way, go_on = threading.Event(), threading.Event()

    def hold(name: str, argument: Any) -> None:
        if name == "store_many":
            under_way.set()
            go_on.wait(30)

    stage.engine.before = hold
    stage.start()
    assert under_way.wait(30)
    stage.put("saved-before-the-call.md")
    future = stage.loop.place(Order("notes"))
    go_on.set()
    assert future.result(30).in_step
    assert "saved-before-the-call.md" in stage.engine.texts(stage.root)


def test_looking_ahead_changes_nothing(stage: Stage) -> None:
    stage.many(3)
    stage.start()
    stage.await_equal()
    stage.idle()
    stage.put("new.md")
    # first an order, then the event: it waits for one
    tally = stage.loop.place(Order("notes", dry_run=True)).result(30)
    assert (tally.stored, tally.forgotten) == (0, 0)
    assert tally.examined > 0


def test_who_waits_when_the_loop_ends_is_told(stage: Stage) -> None:
    stage.many(3)
    under_way = threading.Event()

    def hold(name: str, argument: Any) -> None:
        under_way.set()
        stage.loop.stop_event.wait(30)

    stage.engine.before = hold
    stage.start()
    assert under_way.wait(30)
    waiting = stage.loop.place(Order("notes"))
    stage.stop()
    with pytest.raises(CancelledError):
        waiting.result(0)
    with pytest.raises(CancelledError):
        stage.loop.place(Order("notes")).result(0)


def test_an_order_that_fails_hands_over_why(stage: Stage) -> None:
    stage.put("a.md")
    stage.start()
    stage.await_equal()

    def fail(name: str, argument: Any) -> None:
        raise Unavailable("gone fishing")

    stage.engine.before = fail
    stage.put("b.md")
    with pytest.raises(Unavailable):
        stage.sync()


# -- the end ------------------------------------------------------------------------------------


def test_nothing_is_left_over_after_the_end(tmp_path: Path) -> None:
    def left() -> tuple[set[str], int]:
        return {t.name for t in threading.enumerate()}, len(os.listdir("/proc/self/fd"))

    before = left()
    stage = Stage(tmp_path, "notes", "other")
    stage.many(30)
    stage.start()
    stage.await_equal()
    stage.stop()
    until(lambda: left() == before, what=f"{left()} to be {before}")


def test_a_stop_ends_a_pass_between_two_batches(stage: Stage) -> None:
    stage.many(350)
    under_way = threading.Event()

    def hold(name: str, argument: Any) -> None:
        if name == "store_many":
            under_way.set()
            stage.loop.stop_event.wait(30)

    stage.engine.before = hold
    stage.start()
    assert under_way.wait(30)
    stage.stop()
    assert 0 < len(stage.engine.texts(stage.root)) <= 200
    stage.engine.before = lambda name, argument: None
    stage.loop = stage._loop()
    stage.start()
    stage.await_equal()
    sent = stage.engine.stored()
    assert len(sent) == len(set(sent))
