"""Waiting for a write to be readable, and hosted writes whose outcome is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from syncd.engines.cortex.events import events
from syncd.memory import errors
from tests.cortex.double import Double
from tests.cortex.rig import (
    WIRES,
    FakeClock,
    conversation,
    counted,
    document,
    event_texts,
    learning,
    listed,
    on_double,
    routes,
)

DIRECT_GAPS = [0.25] * 120
HOSTED_GAPS = [0.25, 0.5, 1.0] + [2.0] * 14 + [0.25]


def gaps(wire: str, seconds: float) -> list[float]:
    """The gaps of a wait of so many seconds."""
    full = DIRECT_GAPS if wire == "direct" else HOSTED_GAPS
    out: list[float] = []
    for gap in full:
        out.append(min(gap, seconds - sum(out)))
        if sum(out) >= seconds:
            break
    return out


@pytest.mark.parametrize("wire", WIRES)
def test_a_write_that_is_never_listed_is_unavailable_after_30_s(wire: str) -> None:
    clock = FakeClock()
    with on_double(wire, 10_000, clock=clock) as (engine, double):
        with pytest.raises(errors.Unavailable, match="did not become readable in 30 s"):
            engine.store(document("a"))
        assert clock.pauses == gaps(wire, 30)
        assert counted(routes(double), "recall") == 0


@pytest.mark.parametrize("wire", WIRES)
def test_the_listing_is_polled_until_it_has_the_event(wire: str) -> None:
    clock = FakeClock()
    with on_double(wire, 4.0, clock=clock, recall_lag=0) as (engine, double):
        engine.store(document("a"))
        assert clock.pauses == (gaps(wire, 4) if wire == "direct" else [0.25, 0.5, 1.0, 2.0, 2.0])
        polls = double.asked("list")[1:]
        assert {poll.query["labels"] for poll in polls} == {events(document("a"))[0].labels[0]}


@pytest.mark.parametrize("wire", WIRES)
def test_ranked_recall_gets_10_s_and_then_the_write_is_done(wire: str) -> None:
    clock = FakeClock()
    with on_double(wire, 0, clock=clock, recall_lag=10_000) as (engine, double):
        engine.store(document("a"))
        assert clock.pauses == gaps(wire, 10)
        assert listed(engine) == ["a"]
        assert counted(routes(double), "recall") == len(clock.pauses) + 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "trouble",
    [{"status": 500}, {"status": 429}, {"status": 401}, {"status": 400}, {"drop": True},
     {"status": 200, "body": "junk"}],
)  # fmt: skip
def test_a_recall_that_is_down_ends_the_wait_quietly(wire: str, trouble: dict[str, Any]) -> None:
    with on_double(wire) as (engine, double):
        double.fail("recall", None, **trouble)
        assert not engine.store(document("a")).replayed
        assert counted(routes(double), "recall") == 1


@pytest.mark.parametrize("wire", WIRES)
def test_recall_is_asked_for_the_first_256_characters_of_the_last_event_of_the_last_scope(
    wire: str,
) -> None:
    with on_double(wire, 1) as (engine, double):
        last = "x" * 200 + " " + "y" * 100
        engine.store_many([document("a"), learning("b"), conversation("c", "d"), document(last)])
        asked = [request.body for request in double.asked("recall")]
        assert {body["query"] for body in asked} == {last[:256]}
        assert {body["scope"] for body in asked} == {"app:tinymemory/app:documents"}


@pytest.mark.parametrize("wire", WIRES)
def test_every_scope_is_awaited_once(wire: str) -> None:
    with on_double(wire) as (engine, double):
        items = [make(str(n)) for n in range(5) for make in (document, learning, conversation)]
        engine.store_many(items)
        last_write = max(n for n, r in enumerate(double.requests) if r.route == "append")
        waits = [r.query["scope"] for r in double.requests[last_write:] if r.route == "list"]
        polls = {scope: counted(waits, scope) for scope in waits}
        assert set(polls.values()) == {1}
        assert len(polls) == 3
        assert counted(routes(double), "recall") == 1


@pytest.mark.parametrize("wire", WIRES)
def test_nothing_written_nothing_awaited(wire: str) -> None:
    with on_double(wire) as (engine, double):
        engine.store(document("a"))
        double.requests.clear()
        engine.store_many([document("a")])
        assert routes(double) == ["list"]


@pytest.mark.parametrize("trouble", [{"status": 429}, {"status": 503}, {"drop": True}])
def test_hosted_a_transient_failure_of_the_listing_means_not_yet(trouble: dict[str, Any]) -> None:
    with on_double("hosted") as (engine, double):
        double.fail("list", 5, skip=1, **trouble)
        assert not engine.store(document("a")).replayed
        assert counted(routes(double), "list") == 1 + 5 + 1


def test_hosted_the_wait_for_a_listing_that_fails_ends_at_its_deadline() -> None:
    clock = FakeClock()
    with on_double("hosted", clock=clock) as (engine, double):
        double.fail("list", None, skip=1, status=503)
        with pytest.raises(errors.Unavailable, match="did not become readable"):
            engine.store(document("a"))
        assert clock.pauses == gaps("hosted", 30)


@pytest.mark.parametrize("wire", WIRES)
def test_another_failure_of_the_listing_is_returned(wire: str) -> None:
    with on_double(wire) as (engine, double):
        double.fail("list", None, skip=1, status=400)
        with pytest.raises(errors.InvalidRequest):
            engine.store(document("a"))


def test_direct_a_listing_that_is_down_is_returned() -> None:
    with on_double("direct") as (engine, double):
        double.fail("list", None, skip=1, status=503)
        with pytest.raises(errors.Unavailable, match=r"v1/events at .* answered 503"):
            engine.store(document("a"))
        assert counted(routes(double), "list") == 1 + 3


def claims(double: Double) -> list[str]:
    return [request.headers["idempotency-key"] for request in double.asked("append")]


@pytest.mark.parametrize(
    "trouble", [{"status": s} for s in (408, 429, 500, 502, 503, 504)] + [{"drop": True}]
)
def test_hosted_a_transient_fault_is_retried_under_the_same_claim(trouble: dict[str, Any]) -> None:
    clock = FakeClock()
    with on_double("hosted", clock=clock) as (engine, double):
        double.fail("append", 2, **trouble)
        engine.store(document("a"))
        assert len(claims(double)) == 3
        assert len(set(claims(double))) == 1
        assert clock.pauses == [0.25, 0.5]
        assert event_texts(double) == ["a"]


def test_hosted_three_attempts_are_all() -> None:
    with on_double("hosted") as (engine, double):
        double.fail("append", None, status=503)
        with pytest.raises(errors.Unavailable, match="answered 503"):
            engine.store(document("a"))
        assert len(claims(double)) == 3


@pytest.mark.parametrize("conflict", [409, 400])
@pytest.mark.parametrize("lag", [0, 3])
def test_hosted_a_conflict_on_a_retry_is_resolved_by_looking_for_the_event(
    conflict: int, lag: int
) -> None:
    with on_double("hosted", lag) as (engine, double):
        said = {"success": False, "error": "claimed", "errorCode": "CONFLICT"}
        double.fail("append", after_applying=True, drop=True)
        double.fail("append", status=conflict, body=said)
        receipt = engine.store(document("a"))
        assert (receipt.id, receipt.replayed) == (document("a").fingerprint(), False)
        assert len(claims(double)) == 2
        assert event_texts(double) == ["a"]


def test_hosted_a_conflict_on_a_retry_that_finds_nothing_is_an_unknown_outcome() -> None:
    clock = FakeClock()
    with on_double("hosted", clock=clock) as (engine, double):
        double.fail("append", status=502, claimed=True)
        with pytest.raises(errors.Unavailable, match="outcome of a write is unknown"):
            engine.store(document("a"))
        assert clock.pauses == [0.25, *gaps("hosted", 30)]
        assert event_texts(double) == []
        # The caller's own retry, under a new claim, settles it.
        clock.time += 30
        assert not engine.store(document("a")).replayed
        assert event_texts(double) == ["a"]


def test_hosted_an_unknown_outcome_that_appears_late_is_not_written_again() -> None:
    clock = FakeClock()
    with on_double("hosted", 45.0, clock=clock) as (engine, double):
        double.fail("append", after_applying=True, drop=True)
        with pytest.raises(errors.Unavailable, match="unknown"):
            engine.store(document("a"))
        assert engine.store(document("a")).replayed
        assert event_texts(double) == ["a"]


def test_hosted_only_exactly_the_same_text_is_the_lost_event() -> None:
    with on_double("hosted") as (engine, double):
        talk = conversation("a", "b")
        double.fail("append", skip=1, status=502, claimed=True)
        with pytest.raises(errors.Unavailable, match="unknown"):
            engine.store(talk)
        assert event_texts(double) == ["a"]


def test_hosted_a_conflict_on_the_first_attempt_is_a_conflict() -> None:
    with on_double("hosted") as (engine, double):
        double.fail("append", status=409)
        with pytest.raises(errors.Conflict):
            engine.store(document("a"))
        assert len(claims(double)) == 1


def test_hosted_a_429_of_the_api_s_own_limiter_leaves_the_claim_free() -> None:
    with on_double("hosted") as (engine, double):
        double.fail("append", status=429, headers={"Retry-After": "2"})
        engine.store(document("a"))
        assert len(set(claims(double))) == 1
        assert event_texts(double) == ["a"]


def test_hosted_a_lost_answer_before_another_failure_is_remembered() -> None:
    with on_double("hosted", 3) as (engine, double):
        double.fail("append", after_applying=True, drop=True)
        double.fail("append", 2, status=429)
        with pytest.raises(errors.Unavailable, match="429"):
            engine.store(document("a"))
        assert engine.store(document("a")).replayed
        assert event_texts(double) == ["a"]


def test_each_store_has_a_claim_of_its_own() -> None:
    with on_double("hosted") as (engine, double):
        engine.store_many([document("a"), document("b")])
        engine.store(replace(document("c")))
        assert len(set(claims(double))) == 3
