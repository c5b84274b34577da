"""forget: events are looked up and named, never a scope as a whole."""

from __future__ import annotations

import pytest

from syncd.engines.cortex.events import events
from syncd.memory import ForgetTarget, ItemKind, MetaFilter, Namespace, Reach, errors
from tests.cortex.double import label
from tests.cortex.rig import (
    WIRES,
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

ROOT_REACH = Reach.exact(Namespace.root())


def by_ids(*wanted: str) -> ForgetTarget:
    return ForgetTarget(ids=wanted)


def by(**fields: object) -> ForgetTarget:
    return ForgetTarget(filter=MetaFilter(**fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("wire", WIRES)
def test_ids_are_found_wherever_they_live(wire: str) -> None:
    with on_double(wire, 1) as (engine, double):
        items = [document("a"), conversation("b", "c"), learning("d", namespace=node("team:x")),
                 document("kept", namespace=node("team:x"))]  # fmt: skip
        engine.store_many(items)
        report = engine.forget(by_ids(*ids(items[:3]), "unknown", ids(items)[0]))
        assert report.forgotten == 3
        assert event_texts(double) == ["kept"]
        assert engine.forget(by_ids("unknown")).forgotten == 0


@pytest.mark.parametrize("wire", WIRES)
def test_items_are_counted_not_events(wire: str) -> None:
    with on_double(wire) as (engine, double):
        engine.store_many([conversation(*(f"{n}.{t}" for t in range(9)), workspace="w")
                           for n in range(2)])  # fmt: skip
        assert engine.forget(by(workspace="w")).forgotten == 2
        assert double.log == []


def test_events_are_named_100_at_a_time() -> None:
    with on_double("direct") as (engine, double):
        engine.store(conversation(*(str(n) for n in range(250))))
        assert engine.forget(by(kinds=(ItemKind.CONVERSATION,))).forgotten == 1
        sizes = [len(r.body["selector"]["memory_ids"]) for r in double.asked("forget")]
        assert sizes == [100, 100, 50]
        assert double.log == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_scope_with_nothing_to_remove_gets_no_request(wire: str) -> None:
    with on_double(wire) as (engine, double):
        engine.store(document("a", workspace="w"))
        assert engine.forget(by(workspace="none")).forgotten == 0
        assert engine.forget(by_ids("unknown")).forgotten == 0
        assert counted(routes(double), "forget") == 0
        assert engine.forget(by(workspace="w")).forgotten == 1
        assert counted(routes(double), "forget") == 1
        assert all(
            "confirm_all" not in request.body and request.body["selector"]["memory_ids"]
            for request in double.asked("forget")
        )


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("target", [ForgetTarget(ids=()), ForgetTarget(filter=MetaFilter()),
                                    ForgetTarget()])  # fmt: skip
def test_an_empty_target_is_refused_and_sends_nothing(wire: str, target: ForgetTarget) -> None:
    with on_double(wire) as (engine, double):
        with pytest.raises(errors.InvalidRequest):
            engine.forget(target)
        assert double.requests == []


def test_an_item_that_shares_a_label_stays() -> None:
    with on_double("direct") as (engine, double):
        (other,) = events(document("other"))
        double.add_foreign("app:tinymemory/app:documents", other.text, [label("i", "asked")])
        double.add_foreign("app:tinymemory/app:documents", "a note", [label("i", "asked")])
        assert engine.forget(by_ids("asked")).forgotten == 0
        assert len(double.log) == 2


def test_a_filter_forgets_what_it_admits_and_nothing_beside_it() -> None:
    with on_double("direct") as (engine, double):
        for path in ("/n/a", "/n/a/b", "/n/ab", "/m"):
            engine.store(document(path, file_path=path, workspace="w"))
        (alien,) = events(learning("alien", workspace="w", file_path="/n/a"))
        double.add_foreign("app:tinymemory/app:documents", alien.text, alien.labels)
        assert engine.forget(by(file_path="/n/a", workspace="w")).forgotten == 2
        assert event_texts(double) == ["/n/ab", "/m", "alien"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_reach_confines_a_forget_by_filter(wire: str) -> None:
    with on_double(wire) as (engine, _):
        nodes = ["root", "agent:a", "agent:a/agent:b", "agent:ab"]
        engine.store_many([document(at, namespace=node(at)) for at in nodes])
        assert engine.forget(by(reach=Reach.subtree(node("agent:a")))).forgotten == 2
        assert listed(engine) == ["root", "agent:ab"]


def test_every_copy_of_an_item_goes() -> None:
    with on_double("direct") as (engine, double):
        (event,) = events(document("twice"))
        for _ in range(3):
            double.add_foreign(event.scope.path, event.text, event.labels)
        assert engine.forget(by_ids(event.envelope.id)).forgotten == 1
        assert double.log == []


def test_ids_that_are_found_early_need_no_discovery() -> None:
    with on_double("direct") as (engine, double):
        items = [document(str(n)) for n in range(100)]
        engine.store_many(items)
        double.requests.clear()
        assert engine.forget(by_ids(*ids(items))).forgotten == 100
        assert routes(double) == ["list", "list", "forget"]


def test_direct_a_forget_is_sent_once() -> None:
    with on_double("direct") as (engine, double):
        item = document("a")
        engine.store(item)
        double.fail("forget", status=503)
        with pytest.raises(errors.Unavailable):
            engine.forget(by_ids(item.fingerprint()))
        assert counted(routes(double), "forget") == 1
        assert engine.forget(by_ids(item.fingerprint())).forgotten == 1


@pytest.mark.parametrize("trouble", [{"status": 429}, {"status": 503}, {"drop": True}])
def test_hosted_a_forget_is_tried_three_times(trouble: dict[str, object]) -> None:
    with on_double("hosted") as (engine, double):
        item = document("a")
        engine.store(item)
        double.fail("forget", 2, **trouble)
        assert engine.forget(by_ids(item.fingerprint())).forgotten == 1
        assert counted(routes(double), "forget") == 3
        assert double.log == []
        engine.store(item)
        double.fail("forget", None, **trouble)
        with pytest.raises(errors.Unavailable):
            engine.forget(by_ids(item.fingerprint()))
        assert counted(routes(double), "forget") == 6


def test_hosted_a_404_on_a_retry_means_that_it_is_done() -> None:
    with on_double("hosted") as (engine, double):
        item = document("a")
        engine.store(item)
        double.fail("forget", after_applying=True, drop=True)
        assert engine.forget(by_ids(item.fingerprint())).forgotten == 1
        assert [request.status for request in double.asked("forget")] == [0, 404]


def test_hosted_a_404_at_first_is_not() -> None:
    with on_double("hosted") as (engine, double):
        engine.store(document("a", workspace="w"))
        double.fail("forget", status=404)
        with pytest.raises(errors.NotFound):
            engine.forget(by(workspace="w"))
