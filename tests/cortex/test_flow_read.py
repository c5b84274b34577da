"""list, get and explore on a double: cursors, scopes that go and come, conversations, limits."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from syncd.engines.cortex import cursors, listing
from syncd.engines.cortex.cursors import Place
from syncd.engines.cortex.events import events
from syncd.engines.cortex.scopes import parse_scope
from syncd.memory import (
    ExploreRequest,
    Facet,
    ForgetTarget,
    GetRequest,
    ItemKind,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    errors,
)
from tests.cortex.double import label, labels_of
from tests.cortex.rig import (
    WIRES,
    conversation,
    counted,
    document,
    learning,
    listed,
    node,
    on_double,
    routes,
    scripted,
)

DOCUMENTS = "app:tinymemory/app:documents"
ROOT_ONLY = MetaFilter(reach=Reach.exact(Namespace.root()))


def texts(page: Any) -> list[str]:
    return [hit.text for hit in page.items]


@pytest.mark.parametrize("wire", WIRES)
def test_kinds_then_namespaces_each_newest_first(wire: str) -> None:
    with on_double(wire) as (engine, double):
        engine.store(learning("l"))
        for at in ("root", "agent:b", "agent:a"):
            engine.store(document(f"{at} old", namespace=node(at)))
            engine.store(document(f"{at} new", namespace=node(at)))
        engine.store(conversation("c"))
        found = ["root new", "root old", "agent:a new", "agent:a old", "agent:b new",
                 "agent:b old", "user: c", "l"]  # fmt: skip
        for limit in (1, 2, 3, 100):
            assert listed(engine, limit=limit) == found
        assert double.asked("scopes")


@pytest.mark.parametrize("cap", [1, 2, 3, 5, 1000])
def test_copies_are_skipped_also_across_pages(cap: int) -> None:
    with on_double("direct") as (engine, double):
        engine.store_many([document(str(n)) for n in range(7)])
        double.service.page_cap = cap
        for limit in (1, 2, 5, 100):
            page_texts = listed(engine, ROOT_ONLY, limit)
            assert sorted(page_texts) == [str(n) for n in range(7)]


def test_an_empty_memory_is_an_empty_page() -> None:
    with on_double("hosted") as (engine, _):
        page = engine.list(ListRequest())
        assert (page.items, page.next_cursor) == ((), None)


def test_there_is_no_cursor_once_the_last_scope_has_ended() -> None:
    with on_double("direct") as (engine, _):
        engine.store_many([document("a"), learning("b")])
        page = engine.list(ListRequest(ROOT_ONLY, limit=2))
        assert len(page.items) == 2
        assert page.next_cursor is None
        first = engine.list(ListRequest(ROOT_ONLY, limit=1))
        assert first.next_cursor is not None


def test_what_others_wrote_into_a_scope_is_passed_over() -> None:
    with on_double("direct") as (engine, double):
        engine.store(document("mine"))
        (alien,) = events(learning("wrong kind"))
        for text in ("a note", "{}", '{"v":1}', alien.text):
            double.add_foreign(DOCUMENTS, text)
        double.add_foreign("app:tinymemory/app:unknown", "x")
        double.add_foreign("app:tinymemory/agent:/app:documents", "x")
        assert listed(engine) == ["mine"]
        assert listed(engine, limit=1) == ["mine"]


def test_an_event_of_the_reference_implementation_reads_as_its_item() -> None:
    raw = (
        '{"v":2,"id":"' + "c" * 40 + '","kind":"document","text":"body","meta":'
        '{"file_path":"/n/a.md","source":{"kind":"folder","id":"notes"},"tags":["x"]},'
        '"title":"A title","mime":"text/markdown"}'
    )
    with on_double("direct") as (engine, double):
        double.add_foreign(DOCUMENTS, raw, labels_of(json.loads(raw)))
        (hit,) = engine.get(GetRequest(("c" * 40,)))
        assert hit.text == "# A title\n\nbody"
        assert (hit.kind, hit.meta.file_path, hit.meta.tags) == (
            ItemKind.DOCUMENT,
            "/n/a.md",
            ("x",),
        )
        assert engine.list(ListRequest(MetaFilter(source_id="notes"))).items == (hit,)


@pytest.mark.parametrize("wire", WIRES)
def test_a_stored_item_is_in_the_log_as_its_envelope_byte_for_byte(wire: str) -> None:
    with on_double(wire) as (engine, double):
        items = [document('a "ü"\u2028\n'), learning("l"), conversation("c", "d")]
        engine.store_many(items)
        stored = {event.text for event in double.log}
        assert stored == {event.text for item in items for event in events(item)}


def test_one_label_narrows_and_the_full_filter_decides() -> None:
    with on_double("direct") as (engine, double):
        engine.store_many([document(str(n), workspace="w", language=f"l{n}") for n in range(3)])
        double.requests.clear()
        filter = MetaFilter(workspace="w", language="l1", reach=Reach.exact(Namespace.root()))
        assert listed(engine, filter) == ["1"]
        assert {r.query["labels"] for r in double.asked("list")} == {label("w", "w")}
        # A label that lies: the event does not carry what its label says.
        (event,) = events(document("liar", workspace="other", language="l1"))
        double.add_foreign(DOCUMENTS, event.text, [label("w", "w")])
        assert listed(engine, filter) == ["1"]


def test_a_conversation_is_listed_once_with_all_its_turns_by_one_lookup() -> None:
    with on_double("direct") as (engine, double):
        talks = [conversation(*(f"{n}.{t}" for t in range(120))) for n in range(3)]
        engine.store_many(talks)
        kinds = MetaFilter(kinds=(ItemKind.CONVERSATION,), reach=ROOT_ONLY.reach)
        double.requests.clear()
        assert sorted(listed(engine, kinds)) == sorted(talk.render_text() for talk in talks)
        asked = [r.query.get("labels") for r in double.asked("list")]
        lookups = [labels for labels in asked if labels]
        assert {len(labels.split(",")) for labels in lookups} == {3}
        for limit in (1, 2):
            assert len(listed(engine, kinds, limit)) == 3


def test_a_half_stored_conversation_lists_with_the_turns_it_holds() -> None:
    with on_double("hosted") as (engine, double):
        double.fail("append", skip=2, status=422)
        with pytest.raises(errors.InvalidRequest):
            engine.store(conversation("a", "b", "c"))
        assert listed(engine) == ["user: a\nassistant: b"]


def test_a_cursor_holds_the_scope_s_path_and_what_was_done() -> None:
    with on_double("direct") as (engine, double):
        engine.store_many([document(str(n)) for n in range(5)])
        cursor = engine.list(ListRequest(ROOT_ONLY, limit=2)).next_cursor
        assert cursor is not None
        scope, place = cursors.read_list(cursor)
        assert scope.path == DOCUMENTS
        assert (place.page, place.offset, place.last) == (None, 4, double.log[3].id)


def test_a_scope_created_between_pages_shifts_nothing() -> None:
    with on_double("direct") as (engine, _):
        engine.store_many([document(t, namespace=node("agent:m")) for t in ("a", "b", "c")])
        first = engine.list(ListRequest(limit=1))
        engine.store(document("before", namespace=node("agent:a")))
        engine.store(document("after", namespace=node("agent:z")))
        second = engine.list(ListRequest(limit=10, cursor=first.next_cursor))
        assert sorted(texts(first) + texts(second)) == ["a", "after", "b", "c"]


def test_a_scope_gone_between_pages_is_passed_over() -> None:
    with on_double("direct") as (engine, double):
        # The cursor then holds one of the service's, which no other scope takes.
        double.service.page_cap = 2
        for at in ("agent:a", "agent:b", "agent:c"):
            engine.store_many([document(f"{at} {n}", namespace=node(at)) for n in range(3)])
        first = engine.list(ListRequest(limit=4))
        assert first.next_cursor is not None
        assert cursors.read_list(first.next_cursor)[0].path.split("/")[1] == "agent:b"
        engine.forget(ForgetTarget(filter=MetaFilter(reach=Reach.exact(node("agent:b")))))
        rest = engine.list(ListRequest(limit=10, cursor=first.next_cursor))
        assert sorted(texts(rest)) == ["agent:c 0", "agent:c 1", "agent:c 2"]
        last = cursors.write_list(parse_scope("app:tinymemory/ws:z/app:learnings"), Place())  # type: ignore[arg-type]
        assert engine.list(ListRequest(cursor=last)).items == ()


def test_forgetting_a_page_before_the_next_misses_nothing() -> None:
    with on_double("direct") as (engine, _):
        engine.store_many([document(str(n)) for n in range(50)])
        seen: list[str] = []
        cursor = None
        while True:
            page = engine.list(ListRequest(ROOT_ONLY, 7, cursor))
            seen += texts(page)
            if page.items:
                engine.forget(ForgetTarget(ids=tuple(hit.id for hit in page.items)))
            cursor = page.next_cursor
            if cursor is None:
                break
        assert sorted(seen, key=int) == [str(n) for n in range(50)]


def test_writing_before_the_next_page_repeats_nothing() -> None:
    with on_double("direct") as (engine, _):
        engine.store_many([document(str(n)) for n in range(20)])
        first = engine.list(ListRequest(ROOT_ONLY, 7))
        engine.store_many([document(f"new {n}") for n in range(5)])
        second = engine.list(ListRequest(ROOT_ONLY, 100, first.next_cursor))
        both = texts(first) + texts(second)
        assert sorted(both, key=int) == [str(n) for n in range(20)]


@pytest.mark.parametrize("wire", WIRES)
def test_a_cursor_of_another_operation_is_refused(wire: str) -> None:
    with on_double(wire) as (engine, double):
        for cursor in (cursors.write_fetch(2), "x", "l", "", "lzz"):
            with pytest.raises(errors.InvalidRequest, match="does not belong"):
                engine.list(ListRequest(cursor=cursor))
        assert double.requests == []


def endless(wire: str, same: bool) -> MemoryEngine:
    number = iter(range(10_000))

    def answer(request: httpx.Request) -> httpx.Response:
        cursor = "same" if same else f"c{next(number)}"
        return httpx.Response(200, json={"items": [], "has_more": True, "next_cursor": cursor})

    return scripted("direct", answer)[0]


def test_a_listing_ends_after_500_pages_with_an_error_and_not_with_a_part() -> None:
    with pytest.raises(errors.Engine, match="within 500 pages"):
        endless("direct", same=False).list(ListRequest(ROOT_ONLY))


def test_a_listing_that_leads_back_to_itself_ends() -> None:
    with pytest.raises(errors.Engine, match="its own cursor"):
        endless("direct", same=True).list(ListRequest(ROOT_ONLY))
    with pytest.raises(errors.Engine, match="its own cursor"):
        endless("direct", same=True).forget(ForgetTarget(filter=MetaFilter(workspace="w")))


def test_a_longer_circle_of_cursors_ends_too() -> None:
    turns = iter(range(10_000))

    def answer(request: httpx.Request) -> httpx.Response:
        cursor = f"c{next(turns) % 3}"
        return httpx.Response(200, json={"items": [], "has_more": True, "next_cursor": cursor})

    engine, script = scripted("direct", answer)
    for call in (
        lambda: engine.list(ListRequest(ROOT_ONLY)),
        lambda: engine.get(GetRequest(("x",), ROOT_ONLY.reach)),
    ):
        with pytest.raises(errors.Engine, match="its own cursor"):
            call()
    assert len(script.requests) < 12


@pytest.mark.parametrize("wire", WIRES)
def test_get_in_the_order_asked_without_what_names_nothing(wire: str) -> None:
    with on_double(wire) as (engine, _):
        items = [document("a"), conversation("b", "c"), learning("d", namespace=node("team:x"))]
        engine.store_many(items)
        a, b, d = (item.fingerprint() for item in items)
        hits = engine.get(GetRequest((d, "nothing", b, a, d, "\ud800")))
        assert [hit.id for hit in hits] == [d, b, a]
        assert [hit.text for hit in hits] == ["d", "user: b\nassistant: c", "a"]
        assert {hit.score for hit in hits} == {0.0}


def test_get_stops_as_soon_as_every_id_is_found() -> None:
    with on_double("direct") as (engine, double):
        engine.store_many([document(str(n)) for n in range(60)])
        double.requests.clear()
        wanted = tuple(document(str(n)).fingerprint() for n in range(60))
        assert len(engine.get(GetRequest(wanted))) == 60
        assert routes(double) == ["list", "list"]
        double.requests.clear()
        engine.get(GetRequest(("unknown",)))
        assert routes(double) == ["list"] * 3 + ["scopes"]


def test_get_sees_no_further_than_its_reach() -> None:
    with on_double("direct") as (engine, double):
        item = document("a", namespace=node("agent:x"))
        engine.store(item)
        id = item.fingerprint()
        assert engine.get(GetRequest((id,), Reach.of(node("agent:y")))) == []
        assert len(engine.get(GetRequest((id,), Reach.of(node("agent:x/agent:y"))))) == 1
        assert len(engine.get(GetRequest((id,), Reach.subtree(Namespace.root())))) == 1
        # An event that lies where it does not belong is not seen from there either.
        (event,) = events(item)
        double.add_foreign(DOCUMENTS, event.text, [label("i", id)])
        assert engine.get(GetRequest((id,), Reach.exact(Namespace.root()))) == []


def test_an_item_with_a_shared_label_is_not_got() -> None:
    with on_double("direct") as (engine, double):
        (event,) = events(document("other"))
        double.add_foreign(DOCUMENTS, event.text, [label("i", "asked")])
        assert engine.get(GetRequest(("asked",))) == []


def test_discovery_asks_once_a_call_and_only_where_it_is_needed() -> None:
    with on_double("direct") as (engine, double):
        engine.store(document("a", namespace=node("agent:x/agent:y")))
        for reach, prefix in [
            (None, "app:tinymemory"),
            (Reach.subtree(Namespace.root()), "app:tinymemory"),
            (Reach.subtree(node("agent:x")), "app:tinymemory/agent:x"),
            (Reach.of(node("agent:x")), None),
            (Reach.exact(node("agent:x/agent:y")), None),
        ]:
            double.requests.clear()
            engine.list(ListRequest(MetaFilter(reach=reach)))
            asked = [request.query["prefix"] for request in double.asked("scopes")]
            assert asked == ([] if prefix is None else [prefix])
            assert all(request.query["limit"] == "1000" for request in double.asked("scopes"))


def test_kinds_that_are_not_admitted_are_not_read() -> None:
    with on_double("direct") as (engine, double):
        filter = MetaFilter(kinds=(ItemKind.LEARNING,), reach=ROOT_ONLY.reach)
        engine.list(ListRequest(filter))
        assert [r.query["scope"] for r in double.asked("list")] == ["app:tinymemory/app:learnings"]


def test_a_tenant_in_front_is_no_hindrance() -> None:
    with on_double("hosted", 1, "tenant:t1") as (engine, double):
        engine.store_many([document("a", namespace=node("team:x")), learning("b")])
        assert listed(engine) == ["a", "b"]
        assert listed(engine, limit=1) == ["a", "b"]
        assert engine.forget(ForgetTarget(filter=MetaFilter(reach=Reach.subtree(node("team:x")))))
        assert listed(engine) == ["b"]
        assert all("tenant" not in str(request.body) for request in double.requests)


def test_explore_counts_by_listing() -> None:
    with on_double("hosted") as (engine, double):
        items = [document(str(n), language="py" if n % 3 else "md") for n in range(9)]
        engine.store_many([*items, conversation("x", "y", language="md")])
        page = engine.explore(ExploreRequest(Facet.LANGUAGE))
        assert [(b.value, b.count) for b in page.buckets] == [("py", 6), ("md", 4)]
        assert (page.total, page.truncated) == (10, False)
        part = engine.explore(ExploreRequest(Facet.LANGUAGE, scan_limit=4))
        assert (part.total, part.truncated) == (4, True)
        assert counted(routes(double), "recall") == 1


def test_a_lookup_reads_on_until_it_has_every_turn() -> None:
    with on_double("direct") as (engine, double):
        talk = conversation(*(str(n) for n in range(250)))
        engine.store(talk)
        double.requests.clear()
        (hit,) = engine.get(GetRequest((talk.fingerprint(),), ROOT_ONLY.reach))
        assert hit.text.count("\n") == 249
        assert listing.MAX_PAGES == 500
        assert counted(routes(double), "list") == 1 + 3
