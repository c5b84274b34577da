"""store and store_many on a double: replays, what is written, in which order, after a failure."""

from __future__ import annotations

import json
from dataclasses import replace
from threading import Barrier, Event
from typing import Any

import pytest

from syncd.engines.cortex import events as made
from syncd.engines.cortex.events import events
from syncd.engines.cortex.storing import Log, plan, tail
from syncd.engines.cortex.waiting import Written
from syncd.memory import Conversation, ForgetTarget, GetRequest, Instant, Item, errors
from tests.cortex.double import label
from tests.cortex.rig import (
    WIRES,
    FakeClock,
    conversation,
    counted,
    document,
    event_texts,
    ids,
    learning,
    listed,
    node,
    on_double,
    routes,
)

LATER = Instant.parse("2027-01-01T00:00:00Z")


def replays(items: list[Item], held: dict[str, set[int]]) -> list[bool]:
    return [not due.events for due in plan([events(item) for item in items], held)]


def test_the_plan_skips_what_is_held_and_what_was_planned_before() -> None:
    a, b, talk = document("a"), document("b"), conversation("x", "y", "z")
    prepared = [events(item) for item in (a, b, a, talk)]
    dues = plan(prepared, {b.fingerprint(): {0}, talk.fingerprint(): {0, 2}})
    assert [due.number for due in dues] == [0, 1, 2, 3]
    assert [[e.envelope.text for e in due.events] for due in dues] == [["a"], [], [], ["y"]]
    assert replays([a, b, talk], {}) == [False] * 3


def written(item: Item, sent: int, done: int) -> list[Written]:
    return [Written(event, f"{sent}.{event.envelope.index}", sent, done) for event in events(item)]


def test_the_tail_is_what_was_under_way_when_the_last_item_was_sent() -> None:
    a, b, c = (written(document(text), *ticks) for text, ticks in
               (("a", (0, 3)), ("b", (1, 6)), ("c", (4, 5))))  # fmt: skip
    assert [each.id for each in tail([*a, *b, *c])] == ["1.0", "4.0"]
    assert [each.id for each in tail(a)] == ["0.0"]
    talk = written(conversation("x", "y", "z"), 7, 8)
    assert [each.id for each in tail([*c, *talk])] == ["7.2"]


def test_a_log_puts_the_most_recently_written_scope_last() -> None:
    log = Log()
    for text, make in (("a", document), ("b", learning), ("c", document)):
        group: tuple[made.Event, ...] = events(make(text))
        log.add(log.tick(), group, [text])
    assert [[each.id for each in some] for some in log.by_scope().values()] == [["b"], ["a", "c"]]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("item", [document("a"), learning("a"), conversation("a", "b", "c")])
def test_an_item_that_is_held_is_a_replay_and_nothing_is_written(wire: str, item: Item) -> None:
    with on_double(wire, 2) as (engine, double):
        receipt = engine.store(item)
        assert (receipt.id, receipt.replayed) == (item.fingerprint(), False)
        before = len(double.requests)
        again = replace(item, meta=replace(item.meta, observed_at=LATER))
        for copy in (item, again):
            assert engine.store(copy) == replace(receipt, replayed=True)
        assert [request.route for request in double.requests[before:]] == ["list", "list"]


@pytest.mark.parametrize("wire", WIRES)
def test_the_same_text_at_two_nodes_is_two_items(wire: str) -> None:
    with on_double(wire) as (engine, double):
        twins = [document("a", namespace=node(at)) for at in ("agent:x", "agent:y")]
        assert [receipt.replayed for receipt in engine.store_many(twins)] == [False, False]
        assert [event.scope for event in double.log] == [
            "app:tinymemory/agent:x/app:documents",
            "app:tinymemory/agent:y/app:documents",
        ]


@pytest.mark.parametrize("wire", WIRES)
def test_an_item_repeated_in_a_batch_is_a_replay_of_its_first_copy(wire: str) -> None:
    with on_double(wire) as (engine, double):
        a, b = document("a"), document("b")
        receipts = engine.store_many([a, b, replace(a, meta=replace(a.meta, observed_at=LATER)), b])
        assert [receipt.replayed for receipt in receipts] == [False, False, True, True]
        assert [receipt.id for receipt in receipts] == ids([a, b, a, b])
        assert sorted(event_texts(double)) == ["a", "b"]


def test_replays_are_found_by_one_lookup_a_scope_in_batches_of_50_labels() -> None:
    with on_double("direct") as (engine, double):
        items = [document(str(n)) for n in range(51)] + [learning("l"), conversation("c", "d")]
        engine.store_many(items)
        appended = double.asked("append")[0]
        lookups = double.requests[1 : double.requests.index(appended)]
        labels = [request.query["labels"].split(",") for request in lookups]
        assert [len(some) for some in labels] == [50, 1, 1, 1]
        assert labels[0][0] == label("i", items[0].fingerprint())
        assert [request.query["scope"].rpartition(":")[2] for request in lookups] == [
            "documents", "documents", "learnings", "conversations",
        ]  # fmt: skip


def test_a_label_that_others_share_makes_no_replay() -> None:
    with on_double("direct") as (engine, double):
        item, other = document("a"), document("b")
        (event,) = events(other)
        shared = [label("i", item.fingerprint()), label("k", "folder")]
        double.add_foreign(event.scope.path, event.text, shared)
        double.add_foreign(event.scope.path, "no envelope at all", shared)
        assert not engine.store(item).replayed


def test_hosted_a_half_stored_conversation_gets_only_its_missing_turns_in_order() -> None:
    with on_double("hosted", 1) as (engine, double):
        talk = conversation("a", "b", "c", "d")
        double.fail("append", status=422, skip=1)
        with pytest.raises(errors.InvalidRequest):
            engine.store(talk)
        assert event_texts(double) == ["a"]
        receipt = engine.store(talk)
        assert not receipt.replayed
        assert event_texts(double) == ["a", "b", "c", "d"]
        assert engine.store(talk).replayed
        assert listed(engine) == [talk.render_text()]


def test_a_turn_in_the_middle_that_is_missing_is_written_alone() -> None:
    with on_double("hosted") as (engine, double):
        talk = conversation("a", "b", "c")
        engine.store(talk)
        middle = double.log[1]
        double._log.forget(middle.scope, [middle.id])
        assert not engine.store(talk).replayed
        assert event_texts(double) == ["a", "c", "b"]
        assert listed(engine) == [talk.render_text()]


@pytest.mark.parametrize("style", ["short", "errors"])
def test_direct_a_bulk_that_was_taken_in_part_is_completed(style: str) -> None:
    with on_double("direct", 1) as (engine, double):
        talk = conversation("a", "b", "c")
        double.stop_bulk_after(2, style)
        with pytest.raises(errors.Engine, match="without an id"):
            engine.store(talk)
        assert not engine.store(talk).replayed
        assert event_texts(double) == ["a", "b", "c"]
        # A single event that is due is one experience, not a bulk.
        assert [r.path for r in double.asked("append")] == ["/v1/experience/bulk", "/v1/experience"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("lag", [0, 3])
def test_after_a_failure_the_items_before_it_are_stored_and_are_replays(
    wire: str, lag: int
) -> None:
    with on_double(wire, lag) as (engine, double):
        items = [document(f"text {n}") for n in range(30)]
        items[17] = document("POISON")
        double.refuse("POISON")
        with pytest.raises(errors.InvalidRequest, match="answered 4"):
            engine.store_many(items)
        assert {f"text {n}" for n in range(17)} <= set(event_texts(double))
        double.heal()
        receipts = engine.store_many(items)
        assert all(receipt.replayed for receipt in receipts[:17])
        assert not receipts[17].replayed
        assert sorted(event_texts(double)) == sorted(item.text for item in items)


def test_hosted_nothing_after_a_failing_item_is_sent() -> None:
    with on_double("hosted") as (engine, double):
        double.refuse("POISON")
        with pytest.raises(errors.InvalidRequest):
            engine.store_many([document(text) for text in ("a", "POISON", "b")])
        assert event_texts(double) == ["a"]


def test_direct_only_what_was_under_way_with_a_failing_item_is_stored_after_it() -> None:
    refused = Event()
    with on_double("direct") as (engine, double):
        write = engine._storing._write_one

        def writing(due: Any, *more: Any) -> None:
            if due.number == 17:
                refused.set()
                raise errors.InvalidRequest("this one")
            if due.number > 17:
                assert refused.wait(30)
            write(due, *more)

        engine._storing._write_one = writing  # type: ignore[method-assign]
        with pytest.raises(errors.InvalidRequest, match="this one"):
            engine.store_many([document(f"text {n}") for n in range(100)])
        # Three others at most, and as many that began before the failure was taken note of.
        assert len(double.log) <= 17 + 3 + 3


def test_of_several_failures_the_first_item_s_is_raised() -> None:
    with on_double("direct") as (engine, double):
        double.fail("append", status=413, delay=0.2, when=lambda r: b"slow" in r.raw)
        double.fail("append", status=422, when=lambda r: b"quick" in r.raw)
        with pytest.raises(errors.InvalidRequest, match="answered 413"):
            engine.store_many([document("slow"), document("quick")])


@pytest.mark.parametrize("wire", WIRES)
def test_the_turns_of_an_item_keep_their_order_whatever_is_under_way(wire: str) -> None:
    with on_double(wire, 1) as (engine, double):
        talks = [conversation(*(f"{n} {turn}" for turn in range(5))) for n in range(8)]
        receipts = engine.store_many(talks)
        assert [receipt.id for receipt in receipts] == ids(talks)
        for talk in talks:
            of_talk = [e for e in double.log if json.loads(e.text)["id"] == talk.fingerprint()]
            assert [json.loads(event.text)["turn"]["index"] for event in of_talk] == list(range(5))


def test_several_direct_writes_are_under_way_at_once() -> None:
    together = Barrier(4, timeout=30)

    with on_double("direct") as (engine, double):
        append = engine._wire.append

        def meeting(*given: object) -> list[str]:
            together.wait()
            return append(*given)  # type: ignore[arg-type]

        engine._wire.append = meeting  # type: ignore[method-assign]
        engine.store_many([document(str(n)) for n in range(8)])
        assert len(double.log) == 8


@pytest.mark.parametrize("wire", WIRES)
def test_a_forgotten_item_is_stored_again_because_keys_are_fresh(wire: str) -> None:
    with on_double(wire) as (engine, double):
        item = document("a")
        for _ in range(3):
            assert not engine.store(item).replayed
            assert listed(engine) == ["a"]
            assert engine.forget(ForgetTarget(ids=(item.fingerprint(),))).forgotten == 1
            assert listed(engine) == []
        assert double.repeated_keys == []


def test_a_direct_write_is_sent_once() -> None:
    with on_double("direct") as (engine, double):
        double.fail("append", None, status=503)
        with pytest.raises(errors.Unavailable):
            engine.store(document("a"))
        assert counted(routes(double), "append") == 1


@pytest.mark.parametrize("lag", [0, 4])
@pytest.mark.parametrize("trouble", [{"drop": True}, {"cut": True}, {"status": 504}])
def test_direct_a_write_whose_answer_was_lost_is_never_written_twice(
    lag: int, trouble: dict[str, object]
) -> None:
    with on_double("direct", lag) as (engine, double):
        items = [document(str(n)) for n in range(3)]
        double.fail("append", after_applying=True, when=lambda r: b'\\"1\\"' in r.raw, **trouble)
        with pytest.raises(errors.Unavailable):
            engine.store_many(items)
        receipts = engine.store_many(items)
        assert [receipt.id for receipt in receipts] == ids(items)
        assert receipts[1].replayed
        assert sorted(event_texts(double)) == ["0", "1", "2"]


def test_direct_a_write_that_was_lost_before_it_was_applied_is_written_in_the_end() -> None:
    clock = FakeClock()
    with on_double("direct", 1, clock=clock) as (engine, double):
        double.fail("append", drop=True)
        with pytest.raises(errors.Unavailable):
            engine.store(document("a"))
        assert not engine.store(document("a")).replayed
        assert event_texts(double) == ["a"]
        # It was looked for as long as it might have appeared, and no longer.
        assert 30 <= sum(clock.pauses) <= 31


def test_a_refused_write_is_not_waited_for() -> None:
    clock = FakeClock()
    with on_double("direct", clock=clock) as (engine, double):
        double.fail("append", status=429)
        with pytest.raises(errors.Unavailable):
            engine.store(document("a"))
        engine.store(document("a"))
        assert clock.pauses == []
        assert event_texts(double) == ["a"]


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_accepted_and_is_not_listed_yet_is_not_written_again(wire: str) -> None:
    clock = FakeClock()
    with on_double(wire, 45.0, clock=clock) as (engine, double):
        with pytest.raises(errors.Unavailable, match="did not become readable in 30 s"):
            engine.store(document("a"))
        assert engine.store(document("a")).replayed
        assert event_texts(double) == ["a"]


def test_what_was_accepted_and_never_appears_is_written_again_after_ten_minutes() -> None:
    clock = FakeClock()
    with on_double("direct", 45.0, clock=clock) as (engine, double):
        with pytest.raises(errors.Unavailable):
            engine.store(document("a"))
        double.forget_everything()
        with pytest.raises(errors.Unavailable, match="did not become readable so far"):
            engine.store(document("a"))
        clock.time += 600
        double._log.lag = 0
        assert not engine.store(document("a")).replayed


def test_a_closed_engine_writes_nothing_more() -> None:
    with on_double("direct") as (engine, double):
        engine.store(document("a"))
        engine.close()
        with pytest.raises(errors.Unavailable, match="closed"):
            engine.store(document("b"))
        assert event_texts(double) == ["a"]


def test_a_large_conversation_is_awaited_by_its_last_turn_alone() -> None:
    with on_double("direct", 1) as (engine, double):
        talk: Conversation = conversation(*(f"turn {n}" for n in range(300)))
        engine.store(talk)
        assert counted(routes(double), "append") == 1
        assert counted(routes(double), "list") <= 4
        (hit,) = engine.get(GetRequest((talk.fingerprint(),)))
        assert hit.text == talk.render_text()


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_small_pages_do_not_hide_what_is_awaited(cap: int) -> None:
    clock = FakeClock()
    with on_double("direct", 2, clock=clock) as (engine, double):
        double.service.page_cap = cap
        engine.store_many([document(str(n)) for n in range(9)])
        engine.store_many([conversation(*(f"{n}.{t}" for t in range(9))) for n in range(9)])
        assert len(double.log) == 9 + 81
        assert sum(clock.pauses) < 10


def test_small_pages_cost_requests_and_no_time() -> None:
    clock = FakeClock()
    with on_double("direct", clock=clock) as (engine, double):
        double.service.page_cap = 1
        engine.store_many([document(str(n)) for n in range(9)])
        assert clock.pauses == []


def test_an_older_turn_in_the_listing_is_not_the_one_that_is_awaited() -> None:
    clock = FakeClock()
    with on_double("hosted", 4.0, clock=clock, recall_lag=0) as (engine, double):
        double.fail("append", status=422, skip=1)
        with pytest.raises(errors.InvalidRequest):
            engine.store(conversation("a", "b"))
        before = clock.now()
        engine.store(conversation("a", "b"))
        assert clock.now() - before >= 4.0


@pytest.mark.parametrize("status", [503, 401])
def test_a_service_that_is_away_is_not_waited_for(status: int) -> None:
    with on_double("hosted", 3) as (engine, double):
        double.fail("append", 3, status=status, skip=1)
        with pytest.raises(errors.MemoryError, match=str(status)):
            engine.store_many([document("a"), document("b")])
        assert routes(double)[-1] == "append"
        double.heal()
        assert [r.replayed for r in engine.store_many([document("a"), document("b")])] == [
            True, False,
        ]  # fmt: skip
        assert event_texts(double) == ["a", "b"]
