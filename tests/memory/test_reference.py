"""The reference engine where the conformance suite does not look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.memory import (
    Document,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    ListRequest,
    MetaFilter,
    Reach,
    errors,
)
from syncd.memory.reference import ReferenceEngine
from tests.memory import strategies


@given(st.lists(strategies.documents(), max_size=6), strategies.filters())
def test_the_reference_lists_what_the_filter_admits(
    items: list[Document], filter: MetaFilter
) -> None:
    engine = ReferenceEngine()
    for item in items:
        engine.store(item)
    listed = {hit.id for hit in engine.list(ListRequest(filter)).items}
    assert listed == {i.fingerprint() for i in items if filter.matches(i.kind, i.meta)}


def test_a_listing_goes_on_where_it_was_though_items_went_and_came() -> None:
    engine = ReferenceEngine()
    ids = [engine.store(Document(f"text {number}")).id for number in range(6)]
    first = engine.list(ListRequest(limit=2))
    engine.forget(ForgetTarget(ids=(ids[1], ids[2])))
    late = engine.store(Document("late")).id
    rest = engine.list(ListRequest(limit=10, cursor=first.next_cursor))
    assert [hit.id for hit in rest.items] == [*ids[3:], late]
    assert rest.next_cursor is None


def test_a_cursor_belongs_to_its_request() -> None:
    engine = ReferenceEngine()
    for number in range(4):
        engine.store(Document(f"text {number}"))
    listed = engine.list(ListRequest(limit=1)).next_cursor
    fetched = engine.fetch(FetchRequest("text", limit=1)).next_cursor
    assert listed
    assert fetched
    for request in (
        FetchRequest("text", cursor=listed),
        FetchRequest("texts", cursor=fetched),
        FetchRequest("text", FetchMode.HYBRID, cursor=fetched),
        FetchRequest("text", filter=MetaFilter(reach=Reach()), cursor=fetched),
    ):
        with pytest.raises(errors.InvalidRequest, match="cursor"):
            engine.fetch(request)
    with pytest.raises(errors.InvalidRequest, match="cursor"):
        engine.list(ListRequest(cursor=fetched))


def test_keyword_finds_shared_words_and_vectors_find_what_is_near() -> None:
    engine = ReferenceEngine()
    near, far = (engine.store(Document(text)).id for text in ("harbours and boats", "a red fox"))

    def found(query: str, mode: FetchMode) -> list[str]:
        return [hit.id for hit in engine.fetch(FetchRequest(query, mode)).hits]

    assert found("Boats", FetchMode.KEYWORD) == [near]
    assert found("harbour", FetchMode.KEYWORD) == []
    assert found("harbour", FetchMode.VECTOR) == [near, far]
    assert found("fox", FetchMode.HYBRID) == [far, near]
    assert found("?", FetchMode.VECTOR) == [near, far]
