"""fetch and recall: scopes interleaved, budgets, one answer from one pack, citations."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest

from syncd.engines.cortex import cursors
from syncd.engines.cortex.events import events
from syncd.engines.cortex.ranking import interleave
from syncd.engines.cortex.scopes import Scope
from syncd.memory import (
    FetchMode,
    FetchRequest,
    Item,
    ItemKind,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    errors,
)
from tests.cortex.double import label
from tests.cortex.rig import (
    WIRES,
    conversation,
    document,
    ids,
    learning,
    node,
    on_double,
    routes,
    scripted,
)

ROOT = Namespace.root()
ROOT_DOCUMENTS = MetaFilter(reach=Reach.exact(ROOT), kinds=(ItemKind.DOCUMENT,))


def asking(query: str, filter: MetaFilter = ROOT_DOCUMENTS, **more: Any) -> FetchRequest:
    return FetchRequest(query, FetchMode.HYBRID, filter, **more)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("mode", [FetchMode.KEYWORD, FetchMode.VECTOR])
def test_other_modes_are_unsupported_before_anything_else(wire: str, mode: FetchMode) -> None:
    with on_double(wire) as (engine, double):
        with pytest.raises(errors.Unsupported, match=f"does not offer {mode.value} fetch"):
            engine.fetch(FetchRequest("", mode, limit=0, cursor="junk"))
        with pytest.raises(errors.InvalidRequest):
            engine.fetch(asking(" "))
        assert double.requests == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_cursor_of_another_operation_is_refused(wire: str) -> None:
    with on_double(wire) as (engine, double):
        scope = Scope(ItemKind.DOCUMENT, ROOT)
        for cursor in (cursors.write_list(scope, cursors.Place()), "x", "f", ""):
            with pytest.raises(errors.InvalidRequest, match="does not belong"):
                engine.fetch(asking("x", cursor=cursor))
        assert double.requests == []


def test_hits_come_best_first_with_a_score_of_their_rank() -> None:
    with on_double("direct") as (engine, _):
        engine.store_many([document("apple pear"), document("apple"), document("apple pear plum")])
        hits = engine.fetch(asking("plum pear apple")).hits
        assert [hit.text for hit in hits] == ["apple pear plum", "apple pear", "apple"]
        assert [hit.score for hit in hits] == [1.0, 1 / 2, 1 / 3]


@pytest.mark.parametrize(
    ("limit", "offset", "events_asked"),
    [(1, 0, 6), (10, 0, 33), (10, 20, 93), (332, 0, 999), (333, 0, 1000), (5000, 0, 1000)],
)
def test_three_events_are_asked_for_a_hit_and_at_most_1000(
    limit: int, offset: int, events_asked: int
) -> None:
    engine, script = scripted("direct", {"pack_id": "p", "layers": {"events": []}})
    engine.fetch(asking("q", limit=limit, cursor=cursors.write_fetch(offset)))
    (body,) = script.bodies
    assert body["budgets"] == {"per_layer_limits": {"events": events_asked}}
    assert "view" not in body
    assert body["scope"] == "app:tinymemory/app:documents"


def test_recall_is_narrowed_by_one_label_and_the_full_filter_decides() -> None:
    with on_double("direct") as (engine, double):
        engine.store_many([document(f"word {n}", workspace="w", language=str(n)) for n in range(3)])
        double.requests.clear()
        filter = MetaFilter(workspace="w", language="1", reach=Reach.exact(ROOT))
        assert [hit.text for hit in engine.fetch(asking("word", filter)).hits] == ["word 1"]
        sent = [request.body["filters"] for request in double.asked("recall")]
        assert sent == [{"metadata": {"labels": [label("w", "w")]}}] * 3


@pytest.mark.parametrize("wire", WIRES)
def test_pages_follow_one_another_and_end(wire: str) -> None:
    with on_double(wire) as (engine, _):
        engine.store_many([document(f"word {n}") for n in range(7)])
        seen: list[str] = []
        scores: list[float] = []
        cursor = None
        pages = 0
        while True:
            page = engine.fetch(asking("word", limit=3, cursor=cursor))
            seen += [hit.id for hit in page.hits]
            scores += [hit.score for hit in page.hits]
            pages += 1
            cursor = page.next_cursor
            if cursor is None:
                break
            assert cursors.read_fetch(cursor) == 3 * pages
        assert len(seen) == len(set(seen)) == 7
        assert scores == [1 / (1 + rank) for rank in range(7)]
        assert pages == 3
        assert engine.fetch(asking("word", limit=7)).next_cursor is None
        assert engine.fetch(asking("word", limit=6)).next_cursor is not None


def test_scopes_are_interleaved_rank_by_rank() -> None:
    scopes = [Scope(kind, ROOT) for kind in (ItemKind.DOCUMENT, ItemKind.LEARNING)]
    made: list[list[Item]] = [
        [document("d1"), document("d2"), document("d3")], [learning("l1"), learning("l2")]
    ]  # fmt: skip
    rankings = [
        [(scope, events(item)[0].envelope) for item in some]
        for scope, some in zip(scopes, made, strict=True)
    ]
    merged = interleave([*rankings, rankings[0][:1]])
    assert [each.text for _, each in merged] == ["d1", "l1", "d2", "l2", "d3"]
    assert interleave([]) == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_is_one_hit_with_all_its_turns(wire: str) -> None:
    with on_double(wire) as (engine, double):
        talks = [conversation(f"word {n}", "more word", "other") for n in range(3)]
        engine.store_many([*talks, document("word")])
        double.requests.clear()
        page = engine.fetch(asking("word", MetaFilter(reach=Reach.exact(ROOT))))
        assert sorted(hit.text for hit in page.hits) == sorted(
            [*(talk.render_text() for talk in talks), "word"]
        )
        assert routes(double) == ["recall"] * 3 + ["list"]


def test_fetch_looks_into_every_scope_that_the_reach_admits_and_no_sibling() -> None:
    with on_double("direct") as (engine, double):
        nodes = ["root", "agent:a", "agent:a/agent:b", "agent:z"]
        engine.store_many([document("word", namespace=node(at)) for at in nodes])
        double.requests.clear()
        page = engine.fetch(asking("word", MetaFilter(reach=Reach.of(node("agent:a")))))
        assert sorted(str(hit.meta.namespace) for hit in page.hits) == ["agent:a", "root"]
        assert not any("agent:z" in request.body["scope"] for request in double.asked("recall"))


def test_events_of_others_in_a_pack_are_passed_over() -> None:
    with on_double("direct") as (engine, double):
        engine.store(document("word"))
        double.add_foreign("app:tinymemory/app:documents", "word word word")
        (alien,) = events(learning("word word"))
        double.add_foreign("app:tinymemory/app:documents", alien.text)
        everything = MetaFilter(reach=Reach.exact(ROOT))
        assert [hit.text for hit in engine.fetch(asking("word", everything)).hits] == ["word"]


def packs(double: Any) -> list[dict[str, Any]]:
    return [request.body for request in double.asked("recall")]


@pytest.mark.parametrize("wire", WIRES)
def test_recall_answers_from_one_pack_over_one_scope(wire: str) -> None:
    with on_double(wire) as (engine, double):
        engine.store_many([document(f"word {n}") for n in range(5)])
        double.requests.clear()
        answer = engine.recall(RecallRequest("which word?", ROOT_DOCUMENTS, 3, "be brief"))
        assert routes(double) == ["recall", "answer"]
        (pack,) = packs(double)
        assert pack == {
            "scope": "app:tinymemory/app:documents",
            "query": "which word?",
            "budgets": {
                "per_layer_limits": {
                    "events": 6, "facts": 1, "beliefs": 1, "episodes": 1, "understanding": 0,
                }
            },
        }  # fmt: skip
        (asked,) = double.asked("answer")
        assert asked.body["answer_instructions"] == "be brief"
        assert asked.body["question"] == "which word?"
        assert answer.answer.endswith("which word?")
        assert answer.model == "double-1"
        assert len(answer.citations) == 3
        assert {citation.score for citation in answer.citations} == {None}


@pytest.mark.parametrize("wire", WIRES)
def test_without_a_reach_one_pack_descends_from_the_root(wire: str) -> None:
    with on_double(wire) as (engine, double):
        nodes = ["root", "agent:a", "agent:a/agent:b"]
        items = [document("word", namespace=node(at)) for at in nodes]
        engine.store_many(items)
        double.requests.clear()
        answer = engine.recall(RecallRequest("word", MetaFilter()))
        assert routes(double) == ["recall", "answer"]
        (pack,) = packs(double)
        assert (pack["scope"], pack["view"]) == ("app:tinymemory", "descend")
        assert double.asked("answer")[0].body["scope"] == "app:tinymemory"
        assert [citation.id for citation in answer.citations] == list(reversed(ids(items)))


def test_without_a_reach_but_in_one_scope_the_pack_is_that_scope_s() -> None:
    with on_double("direct") as (engine, double):
        engine.store(document("word"))
        double.requests.clear()
        engine.recall(RecallRequest("word", MetaFilter(kinds=(ItemKind.DOCUMENT,))))
        assert routes(double) == ["scopes", "recall", "answer"]
        (pack,) = packs(double)
        assert pack["scope"] == "app:tinymemory/app:documents"
        assert "view" not in pack


@pytest.mark.parametrize("wire", WIRES)
def test_a_reach_over_several_scopes_is_one_exact_pack_each_the_most_specific_first(
    wire: str,
) -> None:
    with on_double(wire) as (engine, double):
        engine.store(document("word at the root"))
        engine.store(document("word below", namespace=node("agent:a")))
        engine.store(document("word of a sibling", namespace=node("agent:z")))
        double.requests.clear()
        answer = engine.recall(RecallRequest("word", MetaFilter(reach=Reach.of(node("agent:a")))))
        assert len(packs(double)) == 6
        assert not any("view" in pack or "agent:z" in pack["scope"] for pack in packs(double))
        # Each pack holds one admitted event: the most specific node's answers, and is cited first.
        (asked,) = double.asked("answer")
        assert asked.body["scope"] == "app:tinymemory/agent:a/app:documents"
        cited = [citation.snippet for citation in answer.citations]
        assert cited == ["word below", "word at the root"]


def test_the_pack_with_most_admitted_events_answers() -> None:
    with on_double("direct") as (engine, double):
        engine.store_many([document(f"word {n}", language="x") for n in range(3)])
        below = [document(f"word {n}", namespace=node("agent:a")) for n in range(5)]
        engine.store_many([*below, document("word", language="x", namespace=node("agent:a"))])
        double.requests.clear()
        filter = MetaFilter(
            reach=Reach.of(node("agent:a")), kinds=(ItemKind.DOCUMENT,), language="x"
        )
        engine.recall(RecallRequest("word", filter))
        assert double.asked("answer")[0].body["scope"] == "app:tinymemory/app:documents"


def test_several_packs_are_built_four_at_a_time() -> None:
    together = threading.Barrier(3, timeout=30)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("answer"):
            return httpx.Response(200, json={"answer": "a"})
        together.wait()
        return httpx.Response(200, json={"pack_id": "p", "layers": {"events": []}})

    engine, _ = scripted("direct", answer)
    with engine:
        engine.recall(RecallRequest("q", MetaFilter(reach=Reach.exact(ROOT))))


@pytest.mark.parametrize("wire", WIRES)
def test_a_pack_without_decodable_events_still_answers(wire: str) -> None:
    with on_double(wire) as (engine, double):
        double.add_foreign("app:tinymemory/app:documents", "no envelope")
        answer = engine.recall(RecallRequest("why?", ROOT_DOCUMENTS))
        assert answer.answer
        assert answer.citations == ()


def test_a_citation_is_one_an_item_with_the_envelope_s_text() -> None:
    with on_double("direct") as (engine, _):
        talk = conversation("word one", "word two")
        engine.store(talk)
        filter = MetaFilter(reach=Reach.exact(ROOT), kinds=(ItemKind.CONVERSATION,))
        (citation,) = engine.recall(RecallRequest("word two", filter)).citations
        assert (citation.id, citation.snippet) == (talk.fingerprint(), "word two")


@pytest.mark.parametrize("pack", [{"layers": {"events": []}}, {"pack_id": None}, {"pack_id": 7}])
def test_a_pack_without_an_id_is_an_error_of_the_engine(pack: dict[str, Any]) -> None:
    engine, script = scripted("direct", pack, {"answer": "a"})
    with pytest.raises(errors.Engine, match="without the id of its pack"):
        engine.recall(RecallRequest("q", ROOT_DOCUMENTS))
    assert len(script.requests) == 1


def test_an_answer_without_text_is_an_error_of_the_engine() -> None:
    pack = {"pack_id": "p", "layers": {"events": []}}
    engine, _ = scripted("direct", pack, {"answer": "", "diagnostics": {}})
    with pytest.raises(errors.Engine, match="without an answer"):
        engine.recall(RecallRequest("q", ROOT_DOCUMENTS))


def test_what_the_filter_keeps_out_is_never_cited() -> None:
    with on_double("hosted") as (engine, _):
        engine.store(document("word secret", folder="/private"))
        engine.store(document("word open", folder="/public"))
        for filter in (MetaFilter(folder="/public"), MetaFilter(folder="/public/", workspace=None)):
            answer = engine.recall(RecallRequest("word", filter))
            assert [citation.snippet for citation in answer.citations] == ["word open"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_read_is_repeated_and_a_rendered_role_is_stripped(wire: str) -> None:
    with on_double(wire) as (engine, double):
        engine.store(document("word"))
        double.fail("recall", 2, status=503)
        (hit,) = engine.fetch(asking("word")).hits
        assert hit.text == "word"
        double.fail("answer", 2, status=502)
        assert engine.recall(RecallRequest("word", ROOT_DOCUMENTS)).citations[0].id == hit.id
        assert json.loads(double.log[0].text)["text"] == "word"
