"""How many requests each operation costs; fewer is the measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from syncd.memory import (
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    ItemKind,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
)
from tests.cortex.rig import conversation, document, ids, learning, on_double, routes

ITEMS = [document(f"text {n}", file_path=f"/n/{n}") for n in range(100)]
ROOT = MetaFilter(reach=Reach.exact(Namespace.root()))
DOCUMENTS = MetaFilter(reach=ROOT.reach, kinds=(ItemKind.DOCUMENT,))

COSTS: dict[str, tuple[Callable[[MemoryEngine], object], dict[str, int]]] = {
    "a batch that is a replay": (lambda e: e.store_many(ITEMS), {"list": 2}),
    "one more item": (
        lambda e: e.store(document("more")), {"list": 2, "append": 1, "recall": 1}
    ),
    "a conversation of 40 turns": (
        lambda e: e.store(conversation(*map(str, range(40)))),
        {"list": 2, "append": 1, "recall": 1},
    ),
    "three kinds": (
        lambda e: e.store_many([document("d"), learning("l"), conversation("c", "c")]),
        {"list": 6, "append": 3, "recall": 1},
    ),
    "get of 100": (lambda e: e.get(GetRequest(tuple(ids(ITEMS)))), {"list": 2}),
    "forget of 100": (
        lambda e: e.forget(ForgetTarget(ids=tuple(ids(ITEMS)))), {"list": 2, "forget": 1}
    ),
    "a page of 50": (lambda e: e.list(ListRequest(DOCUMENTS, 50)), {"list": 1}),
    "a page that ends with its scope": (lambda e: e.list(ListRequest(ROOT, 100)), {"list": 1}),
    "a fetch": (
        lambda e: e.fetch(FetchRequest("text", FetchMode.HYBRID, ROOT)), {"recall": 3}
    ),
    "a fetch anywhere": (
        lambda e: e.fetch(FetchRequest("text", FetchMode.HYBRID)), {"scopes": 1, "recall": 3}
    ),
    "a recall": (lambda e: e.recall(RecallRequest("text")), {"recall": 1, "answer": 1}),
    "health": (lambda e: e.health(), {"health": 1}),
}  # fmt: skip


def test_a_batch_of_100_documents_on_the_direct_wire() -> None:
    with on_double("direct") as (engine, double):
        engine.store_many(ITEMS)
        assert Counter(routes(double)) == {"list": 2 + 1, "append": 100, "recall": 1}
        # And once in the life of the engine, who is calling.
        assert len(double.requests) == 105


def test_a_batch_of_100_documents_on_the_hosted_wire() -> None:
    with on_double("hosted") as (engine, double):
        engine.store_many(ITEMS)
        assert Counter(routes(double)) == {"list": 2 + 1, "append": 100, "recall": 1}
        assert len(double.requests) == 104


@pytest.mark.parametrize("what", COSTS)
def test_what_an_operation_costs(what: str) -> None:
    operation, cost = COSTS[what]
    with on_double("direct") as (engine, double):
        engine.store_many(ITEMS)
        double.requests.clear()
        operation(engine)
        assert Counter(routes(double)) == cost


def test_a_lag_costs_polls_of_one_scope_and_nothing_else() -> None:
    with on_double("direct", 2.0, recall_lag=1.0) as (engine, double):
        engine.store_many(ITEMS)
        # Every 250 ms: 2 s until it is listed, another second until it is ranked.
        assert Counter(routes(double)) == {"list": 2 + 9, "append": 100, "recall": 5}


def test_a_lag_on_the_hosted_wire_is_polled_ever_less_often() -> None:
    with on_double("hosted", 9.0, recall_lag=0) as (engine, double):
        engine.store(document("a"))
        # At 0, 0.25, 0.75, 1.75, 3.75, 5.75, 7.75 and 9.75 s.
        assert Counter(routes(double)) == {"list": 1 + 8, "append": 1, "recall": 1}
