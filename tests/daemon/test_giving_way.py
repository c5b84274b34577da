"""During a long pass what is saved meanwhile is in memory soon, whichever source it belongs to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from syncd.daemon.tasks import Order
from syncd.memory.errors import Unavailable
from tests.daemon.stage import FAST, Stage
from tests.waiting import until

FILES = 900
LAST = "n0899.md"


class Slow:
    """An engine that takes the batches of a first pass one by one, when the test says so."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.permits = threading.Semaphore(0)
        self.offered = 0
        self.is_open = False
        stage.engine.before = self.before

    def before(self, name: str, argument: Any) -> None:
        if name == "store_many" and len(argument) > 1 and not self.is_open:
            self.offered += 1
            self.permits.acquire(timeout=60)

    def let(self) -> None:
        """Take one batch, and wait until the next one is offered: the pass still goes on."""
        wanted = self.offered + 1
        self.permits.release()
        until(lambda: self.offered >= wanted, what=f"batch {wanted}")

    def let_until(self, condition: Callable[[], bool]) -> None:
        """Take batches until something is so, which has to be before the pass ends."""
        while not condition():
            self.let()
            assert LAST not in self.stage.engine.texts(self.stage.root)

    def open(self) -> None:
        """Take everything from now on."""
        self.is_open = True
        self.permits.release()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path, "big", "small")
    stage.many(FILES)
    stage.put("before.md", source="small")
    yield stage
    stage.engine.before = lambda name, argument: None
    stage.stop()


@pytest.fixture
def slow(stage: Stage) -> Iterator[Slow]:
    slow = Slow(stage)
    stage.start()
    until(lambda: slow.offered == 1)
    yield slow
    slow.open()


def _is_due(stage: Stage, source: str) -> bool:
    at = stage.loop._desk(source).pending.next_due()
    return at is not None and at <= time.monotonic()


def test_another_source_is_not_kept_waiting(stage: Stage, slow: Slow) -> None:
    small = stage.roots["small"]
    slow.let_until(lambda: stage.engine.texts(small) == stage.disk(small))
    stage.put("new.md", "saved meanwhile", source="small")
    until(lambda: _is_due(stage, "small"))
    slow.let_until(lambda: "new.md" in stage.engine.texts(small))
    (small / "before.md").unlink()
    until(lambda: _is_due(stage, "small"))
    slow.let_until(lambda: stage.engine.texts(small) == {"new.md": "saved meanwhile"})


def test_nor_is_a_file_of_the_source_itself(stage: Stage, slow: Slow) -> None:
    slow.let()
    stage.put("n0000.md", "sent already, and edited")
    stage.put("n0898.md", "not sent yet, and edited")
    stage.put("zz/new.md", "not listed at all")
    until(lambda: _is_due(stage, "big"))
    slow.let_until(lambda: "zz/new.md" in stage.engine.texts(stage.root))
    texts = stage.engine.texts(stage.root)
    assert texts["n0000.md"] == "sent already, and edited"
    assert texts["n0898.md"] == "not sent yet, and edited"
    stage.remove("n0001.md")
    until(lambda: _is_due(stage, "big"))
    slow.let_until(lambda: "n0001.md" not in stage.engine.texts(stage.root))
    slow.open()
    stage.await_equal()
    stage.idle()
    assert stage.equal()
    assert stage.engine.stored().count("zz/new.md") <= 1


def test_who_asks_for_another_source_is_served(stage: Stage, slow: Slow) -> None:
    slow.let()
    stage.put("new.md", source="small")
    order = stage.loop.place(Order("small"))
    slow.let_until(order.done)
    assert order.result(0).in_step
    assert "new.md" in stage.engine.texts(stage.roots["small"])
    same = stage.loop.place(Order("big"))
    assert not same.done()
    slow.open()
    assert same.result(30).in_step
    assert stage.equal()


def test_an_engine_that_fails_an_inner_pass_ends_the_outer_one(stage: Stage, slow: Slow) -> None:
    failures = iter(range(3))

    def before(name: str, argument: Any) -> None:
        if (
            name == "store_many"
            and argument[0].title == "new.md"
            and next(failures, None) is not None
        ):
            raise Unavailable("gone fishing")
        slow.before(name, argument)

    stage.engine.before = before
    slow.let()
    stage.put("new.md", source="small")
    until(lambda: _is_due(stage, "small"))
    slow.open()
    stage.await_equal()
    stage.idle()
    assert stage.equal()
    until(lambda: stage.record("big").state == "idle" and stage.record("small").state == "idle")


def test_an_outer_pass_does_not_go_on_where_an_inner_one_failed(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "big", pace=replace(FAST, first=3600.0, engine=3600.0))
    stage.many(FILES)
    slow = Slow(stage)
    failed = threading.Event()

    def before(name: str, argument: Any) -> None:
        if name == "store_many" and argument[0].title == "new.md":
            failed.set()
            raise Unavailable("gone fishing")
        slow.before(name, argument)

    stage.engine.before = before
    stage.start()
    until(lambda: slow.offered == 1)
    stage.put("a/new.md")
    until(lambda: _is_due(stage, "big"))
    slow.open()
    assert failed.wait(30)
    until(lambda: not stage.loop._desk("big").under_way)
    assert LAST not in stage.engine.texts(stage.root)
    stage.stop()


def test_a_source_that_goes_away_inside_a_pass_of_another_harms_nobody(
    stage: Stage, slow: Slow
) -> None:
    small = stage.roots["small"]
    slow.let_until(lambda: stage.engine.texts(small) == stage.disk(small))
    away = stage.top / "away"
    small.rename(away)
    slow.let_until(lambda: stage.record("small").state == "unavailable")
    slow.open()
    until(lambda: stage.engine.texts(stage.root) == stage.disk(stage.root))
    assert "before.md" in stage.engine.texts(small)
    away.rename(small)
    stage.await_state("idle", "small")


def test_a_ledger_lost_inside_a_pass_is_survived(stage: Stage, slow: Slow) -> None:
    slow.let()
    (stage.state / "ledger.db").unlink()
    stage.put("new.md", source="small")
    until(lambda: _is_due(stage, "small"))
    slow.open()
    stage.await_equal()
    stage.idle()
    assert stage.equal()
