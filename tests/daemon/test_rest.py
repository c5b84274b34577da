"""How long a failing engine is left alone, and what is said of a pass meanwhile."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from syncd.daemon.desk import Pace
from syncd.daemon.progress import Progress
from syncd.daemon.rest import Rest
from syncd.memory.errors import Engine, Unauthorized, Unavailable
from syncd.memory.reference import ReferenceEngine
from syncd.sync.tally import Tally
from tests.daemon.stage import Stage
from tests.waiting import until

PACE = Pace(first=10.0, engine=40.0, refused=100.0, key=3.0, asked=900.0)
HOUR = 3600.0


def until_over(rest: Rest) -> float:
    """The length of the pause, in seconds."""
    now = time.monotonic()
    return rest.next_look(now) - now


def asked(seconds: float) -> Unavailable:
    error = Unavailable("busy")
    error.retry_after = seconds
    return error


def test_pauses_grow_and_a_success_makes_them_short() -> None:
    rest = Rest(PACE)
    assert rest.is_over(time.monotonic())
    pauses = []
    for _ in range(5):
        rest.begin(Engine("odd"))
        pauses.append(until_over(rest))
        assert not rest.is_over(time.monotonic())
    assert 7 < pauses[0] < 13
    assert 28 < pauses[-1] < 51
    rest.end()
    assert rest.is_over(time.monotonic())
    rest.begin(Engine("odd"))
    assert until_over(rest) < 13


def test_what_the_server_asks_for_is_kept_within_reason() -> None:
    rest = Rest(PACE)
    rest.begin(asked(60))
    assert 59 < until_over(rest) <= 60
    rest.begin(asked(99_999_999))
    assert 899 < until_over(rest) <= 900
    rest.begin(asked(0))
    assert until_over(rest) > 7


def test_another_key_ends_the_pause_of_a_refused_one() -> None:
    stamp = ["one"]
    rest = Rest(PACE, lambda: stamp[0])
    rest.before()
    rest.begin(Unauthorized("no"))
    now = time.monotonic()
    assert not rest.is_over(now + 99)
    assert rest.next_look(now) == now + 3
    stamp[0] = "two"
    assert rest.is_over(now)


def test_a_key_that_was_changed_while_it_was_refused_is_another() -> None:
    stamp = ["one"]
    rest = Rest(PACE, lambda: stamp[0])
    rest.before()
    stamp[0] = "two"
    rest.begin(Unauthorized("no"))
    assert rest.is_over(time.monotonic())


def test_a_key_that_cannot_be_seen_is_not_looked_for() -> None:
    rest = Rest(PACE)
    rest.before()
    rest.begin(Unauthorized("no"))
    assert 99 < until_over(rest) <= 100


def test_an_outage_does_not_end_with_another_key() -> None:
    stamp = ["one"]
    rest = Rest(PACE, lambda: stamp[0])
    rest.before()
    rest.begin(Engine("odd"))
    stamp[0] = "two"
    assert not rest.is_over(time.monotonic())


class Far(ReferenceEngine):
    selects_by_listing = True
    least = 0.0

    def seconds_for(self, requests: int) -> float:
        return requests * self.least


class Teller:
    """A progress with a clock in `at`, and what it told."""

    def __init__(self, engine: ReferenceEngine, left: int, whole: bool = True) -> None:
        self.at = 0.0
        self.told: list[dict[str, Any]] = []
        self.scans = 0
        self._left = left
        self.progress = Progress(
            engine, self._count, lambda **f: self.told.append(f), whole, lambda: self.at
        )

    def _count(self) -> int:
        self.scans += 1
        return self._left

    def after(self, seconds: float, **counts: int) -> dict[str, Any] | None:
        """What was told when so much had been done after so many seconds."""
        self.at, before = seconds, len(self.told)
        self.progress(replace(Tally("notes"), **counts))  # type: ignore[arg-type]
        return self.told[-1] if len(self.told) > before else None


def test_a_short_pass_says_nothing() -> None:
    teller = Teller(ReferenceEngine(), 5)
    assert teller.after(1.9, examined=1) is None
    assert Teller(Far(), 5, whole=False).after(1.9, examined=1) is None
    assert teller.scans == 0


def test_a_long_pass_tells_what_is_left_every_two_seconds() -> None:
    teller = Teller(ReferenceEngine(), 900)
    told = teller.after(10.0, examined=100, stored=100)
    assert told is not None
    assert (told["state"], told["pending"]) == ("syncing", 900)
    assert 85 < told["finish"] - time.time() < 95
    assert teller.after(11.0, examined=110, stored=110) is None
    told = teller.after(20.0, examined=500, stored=500)
    assert told is not None
    assert told["pending"] == 500
    assert 15 < told["finish"] - time.time() < 25
    assert teller.scans == 1


def test_before_anything_is_sent_only_the_pace_is_known() -> None:
    told = Teller(Far(), 100).after(0.0, examined=1)
    assert told is not None
    assert told["finish"] is None
    engine = Far()
    engine.least = 0.25
    told = Teller(engine, 400).after(0.0, examined=1)
    assert told is not None
    assert 95 < told["finish"] - time.time() < 105


def test_the_loop_can_be_told_to_try_at_once(tmp_path: Any) -> None:
    stage = Stage(tmp_path, pace=Pace(first=HOUR, engine=HOUR))
    failing = [True]

    def before(name: str, argument: Any) -> None:
        if failing[0]:
            raise Unavailable("down")

    stage.engine.before = before
    stage.put("a.md")
    try:
        stage.start()
        assert stage.await_state("failing") == "down"
        failing[0] = False
        until(lambda: not stage.loop._busy)
        stage.loop.retry()
        stage.await_equal()
    finally:
        stage.stop()
