"""What goes in comes out: items, replays, listings, look-ups, forgets."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.engines.local import rows
from syncd.engines.local.engine import LocalEngine
from syncd.memory import (
    Conversation,
    Document,
    ForgetTarget,
    GetRequest,
    Instant,
    Item,
    Learning,
    LearningKind,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    SourceKind,
    SourceRef,
    StoreReceipt,
    ToolCallRef,
    Turn,
    TurnRange,
    errors,
)
from tests.engines.making import document, pages, store

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
OPTIONAL = st.none() | TEXTS
BODIES = TEXTS.map(lambda text: f"{text}.")
CALLS = st.builds(ToolCallRef, TEXTS, OPTIONAL)
INSTANTS = st.integers(Instant.MIN.ns, Instant.MAX.ns).map(Instant)
NAMESPACES = st.sampled_from(["", "agent:a", "agent:a/team:b", "user:u"]).map(Namespace.parse)
METAS = st.builds(
    MemoryMeta,
    namespace=NAMESPACES,
    workspace=OPTIONAL,
    folder=OPTIONAL,
    file_path=OPTIONAL,
    language=OPTIONAL,
    repo=OPTIONAL,
    commit=OPTIONAL,
    url=OPTIONAL,
    thread_id=OPTIONAL,
    turns=st.none() | st.builds(TurnRange, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    agent_id=OPTIONAL,
    tool_call=st.none() | CALLS,
    source=st.builds(SourceRef, st.sampled_from(SourceKind), OPTIONAL),
    tags=st.lists(TEXTS, max_size=3).map(tuple),
    observed_at=st.none() | INSTANTS,
)
TURNS = st.builds(
    Turn,
    st.sampled_from(Role),
    BODIES,
    st.none() | INSTANTS,
    st.lists(CALLS, max_size=2).map(tuple),
)
ITEMS = st.one_of(
    st.builds(Document, BODIES, OPTIONAL, OPTIONAL, METAS),
    st.builds(Conversation, st.lists(TURNS, min_size=1, max_size=3).map(tuple), METAS),
    st.builds(
        Learning, BODIES, st.sampled_from(LearningKind), st.floats(0, 1, width=32), OPTIONAL, METAS
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(item=ITEMS)
def test_any_item_reads_back_as_it_was(engine: LocalEngine, item: Item) -> None:
    id = engine.store(item).id
    (hit,) = engine.get(GetRequest((id,)))
    assert hit.id == id == item.fingerprint()
    assert (hit.kind, hit.meta, hit.text) == (item.kind, item.meta, item.render_text())
    assert hit.confidence == (item.confidence if isinstance(item, Learning) else None)
    assert hit.score == 0.0
    assert engine.forget(ForgetTarget(ids=(id,))).forgotten == 1


@given(item=ITEMS)
def test_a_row_rebuilds_the_whole_item(item: Item) -> None:
    assert rows.read_item(rows.meta_row(item), rows.text_row(item)) == item


def test_everything_forgotten_leaves_no_row_behind(engine: LocalEngine, path: Path) -> None:
    items = [document(f"text {n} camelCase 日本", f"/a/{n}.md", tags=("x", "y")) for n in range(50)]
    store(engine, items)
    assert engine.forget(ForgetTarget(filter=MetaFilter(source_id="notes"))).forgotten == 50
    engine.close()
    with sqlite3.connect(path) as connection:
        for table in ("items", "texts", "tags", "search_docsize"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
        for word in ("text", "camel", "日本", "md"):
            query = ("SELECT count(*) FROM search WHERE search MATCH ?", (f'"{word}"',))
            assert connection.execute(*query).fetchone() == (0,), word
    connection.close()


def test_receipts_come_in_order_and_repeats_are_replays(engine: LocalEngine) -> None:
    one, two, three = (document(text) for text in ("one", "two", "three"))
    assert engine.store(two) == StoreReceipt(two.fingerprint(), False)
    receipts = engine.store_many([one, two, three, one])
    assert [r.id for r in receipts] == [i.fingerprint() for i in (one, two, three, one)]
    assert [r.replayed for r in receipts] == [False, True, False, True]
    assert sorted(pages(engine)) == ["one", "three", "two"]


def test_when_it_was_seen_makes_no_new_item(engine: LocalEngine) -> None:
    assert not engine.store(document("x", observed_at=Instant(1))).replayed
    assert engine.store(document("x", observed_at=Instant(2))).replayed
    assert not engine.store(document("x", tags=("t",))).replayed


def test_a_batch_is_stored_whole_or_not_at_all(engine: LocalEngine) -> None:
    with pytest.raises(errors.InvalidRequest, match="needs a body"):
        engine.store_many([document("fine"), document(" ")])
    for size in (0, 101):
        with pytest.raises(errors.InvalidRequest, match="1 to 100"):
            engine.store_many([document("x")] * size)
    assert pages(engine) == []


def test_a_forgotten_item_can_be_stored_again(engine: LocalEngine) -> None:
    item = document("back", tags=("t",))
    engine.store(item)
    engine.forget(ForgetTarget(ids=(item.fingerprint(),)))
    assert not engine.store(item).replayed
    assert pages(engine) == ["back"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_pages_hold_every_item_once_newest_first(engine: LocalEngine, limit: int) -> None:
    store(engine, (document(str(n)) for n in range(7)))
    assert pages(engine, limit=limit) == ["6", "5", "4", "3", "2", "1", "0"]


def test_writes_between_pages_neither_repeat_nor_lose(engine: LocalEngine) -> None:
    store(engine, (document(str(n)) for n in range(6)))
    first = engine.list(ListRequest(limit=2))
    engine.store(document("new"))
    gone = [document("4").fingerprint(), document("2").fingerprint()]
    engine.forget(ForgetTarget(ids=tuple(gone)))
    second = engine.list(ListRequest(limit=2, cursor=first.next_cursor))
    assert [hit.text for hit in first.items + second.items] == ["5", "4", "3", "1"]
    third = engine.list(ListRequest(limit=2, cursor=second.next_cursor))
    assert ([hit.text for hit in third.items], third.next_cursor) == (["0"], None)


def test_get_keeps_the_order_asked_and_leaves_out_the_unknown(engine: LocalEngine) -> None:
    store(engine, items := [document(str(n)) for n in range(3)])
    ids = [item.fingerprint() for item in items]
    asked = (ids[2], "nothing", "f" * 40, ids[0], ids[2], ids[1].upper(), ids[1] + " ")
    assert [hit.text for hit in engine.get(GetRequest(asked))] == ["2", "0"]
    assert engine.get(GetRequest(("unknown",))) == []


def test_get_sees_only_its_reach(engine: LocalEngine) -> None:
    places = ["root", "agent:a", "agent:b", "agent:a/team:t"]
    items = [document("same", namespace=Namespace.parse(place)) for place in places]
    ids = tuple(receipt.id for receipt in engine.store_many(items))
    assert len(set(ids)) == 4

    def seen(reach: Reach) -> list[str]:
        return [str(hit.meta.namespace) for hit in engine.get(GetRequest(ids, reach))]

    assert seen(Reach.of(Namespace.parse("agent:a"))) == ["root", "agent:a"]
    assert seen(Reach.exact(Namespace.parse("agent:a"))) == ["agent:a"]
    assert seen(Reach.subtree(Namespace.parse("agent:a"))) == ["agent:a", "agent:a/team:t"]
    assert seen(Reach.subtree(Namespace.root())) == places


def test_forget_counts_what_it_removed(engine: LocalEngine) -> None:
    store(engine, items := [document(str(n), f"/d/{n % 2}/{n}.md") for n in range(10)])
    ids = (items[0].fingerprint(), "unknown", items[0].fingerprint())
    assert engine.forget(ForgetTarget(ids=ids)).forgotten == 1
    below = ForgetTarget(filter=MetaFilter(source_id="notes", file_path="/d/0"))
    assert engine.forget(below).forgotten == 4
    assert engine.forget(below).forgotten == 0
    assert len(pages(engine)) == 5


def test_a_large_forget_is_split_and_counted_whole(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("syncd.engines.local.engine.FORGET_AT_ONCE", 7)
    store(engine, (document(str(n)) for n in range(21)))
    store(engine, [document("other", source=SourceRef(SourceKind.FOLDER, "other"))])
    assert engine.forget(ForgetTarget(filter=MetaFilter(source_id="notes"))).forgotten == 21
    assert pages(engine) == ["other"]


@pytest.mark.parametrize("target", [ForgetTarget(ids=()), ForgetTarget(filter=MetaFilter())])
def test_an_empty_forget_is_refused(engine: LocalEngine, target: ForgetTarget) -> None:
    engine.store(document("stays"))
    with pytest.raises(errors.InvalidRequest):
        engine.forget(target)
    assert pages(engine) == ["stays"]
