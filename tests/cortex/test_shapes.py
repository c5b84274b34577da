"""Bodies byte for byte, and answers of every shape."""

from __future__ import annotations

from typing import Any

import pytest

from syncd.engines.cortex import shapes
from syncd.engines.cortex.events import Ask, Raw
from syncd.engines.cortex.failures import Garbled
from syncd.memory.errors import Engine
from syncd.memory.wire import compact


def test_a_listing_is_asked_for_with_labels_once() -> None:
    assert shapes.list_query("s", [], None) == (("scope", "s"), ("limit", "200"))
    assert shapes.list_query("s", ["a", "b"], "c") == (
        ("scope", "s"), ("limit", "200"), ("labels", "a,b"), ("cursor", "c"),
    )  # fmt: skip


def test_over_50_labels_are_never_sent() -> None:
    with pytest.raises(AssertionError):
        shapes.list_query("s", ["x"] * 51, None)


def item(id: Any = "e", text: Any = "t") -> dict[str, Any]:
    return {"id": id, "scope": "s", "content": {"text": text}, "context": {}}


def test_a_page_goes_on_only_with_more_and_a_cursor() -> None:
    for more, cursor, leads in [
        (True, "c", "c"), (False, "c", None), (True, None, None), (None, "c", None),
        (True, "", None),
    ]:  # fmt: skip
        page = shapes.page({"items": [item()], "has_more": more, "next_cursor": cursor}, None)
        assert page == ((Raw("e", "t"),), leads)


def test_the_same_cursor_back_is_an_error_of_the_engine() -> None:
    with pytest.raises(Engine, match="its own cursor"):
        shapes.page({"items": [], "has_more": True, "next_cursor": "c"}, "c")


def test_entries_of_a_page_that_are_no_events_are_passed_over_but_counted() -> None:
    odd = [7, {}, {"id": 3, "content": "x"}, item("e", None), item("\ud800"), item("e", "\ud800")]
    page = shapes.page({"items": odd}, None)
    assert page.events == (
        Raw(None, None), Raw(None, None), Raw(None, None), Raw("e", None), Raw(None, "t"),
        Raw("e", None),
    )  # fmt: skip


@pytest.mark.parametrize("data", [None, [], "x", {}, {"items": None}, {"items": {}}])
def test_what_is_no_page(data: Any) -> None:
    with pytest.raises(Garbled):
        shapes.page(data, None)


@pytest.mark.parametrize(
    ("limit", "derived"),
    [(1, [1, 0, 0, 0]), (4, [1, 1, 1, 1]), (6, [2, 2, 1, 1]), (10, [3, 3, 2, 2])],
)
def test_the_derived_layers_share_the_limit(limit: int, derived: list[int]) -> None:
    assert list(shapes.budgets(2 * limit, limit).values()) == [2 * limit, *derived]
    assert list(shapes.budgets(1, 1)) == ["events", "facts", "beliefs", "episodes", "understanding"]


def test_a_recall_body() -> None:
    plain = Ask("s", "q", shapes.budgets(6))
    assert compact(shapes.recall_body(plain)) == (
        '{"scope":"s","query":"q","budgets":{"per_layer_limits":{"events":6}}}'
    )
    full = plain._replace(labels=("a",), descend=True)
    assert compact(shapes.recall_body(full)) == (
        '{"scope":"s","query":"q","budgets":{"per_layer_limits":{"events":6}},'
        '"filters":{"metadata":{"labels":["a"]}},"view":"descend"}'
    )


def test_a_pack_is_read_however_its_events_are_rendered() -> None:
    events = [item(), {"event_id": "f", "text": "u"}, {"id": "g", "content": "v"}, "w", 7]
    pack = shapes.pack({"pack_id": "p", "layers": {"events": events}})
    assert pack.id == "p"
    assert pack.events == (
        Raw("e", "t"), Raw("f", "u"), Raw("g", "v"), Raw(None, "w"), Raw(None, None),
    )  # fmt: skip


@pytest.mark.parametrize(
    "layers", [{}, {"layers": None}, {"layers": {}}, {"layers": {"events": 3}}]
)
def test_a_pack_may_hold_nothing(layers: dict[str, Any]) -> None:
    assert shapes.pack(layers) == (None, ())


def test_an_answer_body() -> None:
    assert compact(shapes.answer_body("s", "q", "p")) == (
        '{"scope":"s","question":"q","use_pack_id":"p","cite_sources":true,"include_context":true}'
    )


def test_an_answer_names_its_model_where_the_server_does() -> None:
    assert shapes.answer({"answer": "a", "diagnostics": {"answer_model": "m"}}) == ("a", "m")
    for diagnostics in (None, {}, {"answer_model": 3}, []):
        assert shapes.answer({"answer": "a", "diagnostics": diagnostics}) == ("a", None)


@pytest.mark.parametrize("data", [{}, {"answer": None}, {"answer": " "}, {"answer": 3}, None, []])
def test_an_answer_without_text_is_an_error_of_the_engine(data: Any) -> None:
    with pytest.raises(Engine):
        shapes.answer(data)


def test_a_forget_body_names_events_and_never_all() -> None:
    assert compact(shapes.forget_body("s", ["a", "b"])) == (
        '{"scope":"s","layers":["events"],"selector":{"memory_ids":["a","b"]},'
        '"audit_note":"tinymemory: forget"}'
    )
    with pytest.raises(ValueError, match="at least one"):
        shapes.forget_body("s", [])


@pytest.mark.parametrize("data", [None, {}, {"event_id": None}, {"event_id": ""}, "ev", []])
def test_an_event_without_an_id_is_garbled(data: Any) -> None:
    with pytest.raises(Garbled):
        shapes.event_id(data)


@pytest.mark.parametrize(
    "results",
    [None, [], [{"event_id": "a"}], [{"event_id": "a"}, {"error": "x"}], [{"event_id": "a"}] * 3],
)
def test_a_bulk_that_does_not_name_each_event_is_garbled(results: Any) -> None:
    with pytest.raises(Garbled):
        shapes.event_ids({"results": results}, 2)


def test_a_bulk_that_does() -> None:
    data = {"results": [{"event_id": "a"}, {"event_id": "b"}]}
    assert shapes.event_ids(data, 2) == ["a", "b"]


@pytest.mark.parametrize("name", ["items", "scopes"])
def test_scopes_come_as_texts_or_objects(name: str) -> None:
    assert shapes.scopes({name: ["a", {"path": "b"}, 3, {}, {"path": None}]}) == ["a", "b"]
    with pytest.raises(Garbled):
        shapes.scopes({})
