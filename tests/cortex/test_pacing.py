"""The token bucket: never over 300 requests in any minute, and nobody waits without need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.engines.cortex.pacing import HOSTED_BURST, HOSTED_RATE, Bucket
from syncd.memory.errors import Unavailable
from tests.cortex.rig import FakeClock, document, on_double


def most_in_a_minute(times: list[float]) -> int:
    return max(sum(start <= t < start + 60 for t in times) for start in times)


@given(st.lists(st.floats(0, 70), max_size=40), st.integers(1, 700))
def test_no_minute_has_more_than_300(idle: list[float], count: int) -> None:
    clock = FakeClock()
    bucket = Bucket(clock)
    times = []
    for number in range(count):
        if number < len(idle):
            clock.time += idle[number]
        bucket.take()
        times.append(clock.now())
    assert most_in_a_minute(times) <= 300


def test_a_burst_leaves_at_once_and_the_rest_at_the_rate() -> None:
    clock = FakeClock()
    bucket = Bucket(clock, burst=3, rate=2)
    for _ in range(5):
        bucket.take()
    assert clock.pauses == [0.5, 0.5]


def test_tokens_are_saved_up_to_the_burst_and_no_further() -> None:
    clock = FakeClock()
    bucket = Bucket(clock, burst=2, rate=1)
    clock.time += 3600
    for _ in range(3):
        bucket.take()
    assert clock.pauses == [1.0]


def test_the_estimate_is_the_time_that_requests_take() -> None:
    clock = FakeClock()
    bucket = Bucket(clock, burst=3, rate=2)
    assert bucket.seconds_for(3) == 0
    assert bucket.seconds_for(13) == 5.0
    start = clock.now()
    estimate = bucket.seconds_for(13)
    for _ in range(13):
        bucket.take()
    assert clock.now() - start == pytest.approx(estimate)


def test_a_wait_for_a_token_ends_with_the_engine() -> None:
    clock = FakeClock()
    bucket = Bucket(clock, burst=1, rate=0.001)
    bucket.take()
    clock.close()
    with pytest.raises(Unavailable, match="closed"):
        bucket.take()


def test_the_hosted_wire_never_meets_its_limit() -> None:
    clock = FakeClock()
    with on_double("hosted", clock=clock) as (engine, double):
        estimate = engine.seconds_for(400)
        start = clock.now()
        for batch in range(4):
            engine.store_many([document(f"{batch} {n}") for n in range(100)])
        assert [request for request in double.requests if request.status == 429] == []
        assert most_in_a_minute([request.when for request in double.requests]) <= 300
        assert clock.now() - start >= estimate
        assert estimate == pytest.approx((400 - HOSTED_BURST) / HOSTED_RATE)


def test_the_direct_wire_is_not_paced() -> None:
    clock = FakeClock()
    with on_double("direct", clock=clock) as (engine, _):
        engine.store_many([document(str(n)) for n in range(100)])
        assert engine.seconds_for(10_000) == 0
        assert clock.pauses == []
