"""A facet's values, and the way from a bucket back to a filter."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.memory import (
    Facet,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
    ToolCallRef,
    errors,
)
from tests.memory import strategies

FULL = MemoryMeta(
    namespace=Namespace.parse("agent:a"),
    workspace="workspace",
    folder="/folder",
    file_path="/folder/file",
    language="language",
    repo="repo",
    commit="commit",
    url="url",
    thread_id="thread",
    agent_id="agent",
    tool_call=ToolCallRef("tool", "call"),
    source=SourceRef(SourceKind.RSS, "source"),
    tags=("one", "two", "one"),
)
VALUES: dict[Facet, tuple[str, ...]] = {
    Facet.KIND: ("learning",),
    Facet.SOURCE: ("rss",),
    Facet.SOURCE_ID: ("source",),
    Facet.WORKSPACE: ("workspace",),
    Facet.FOLDER: ("/folder",),
    Facet.FILE_PATH: ("/folder/file",),
    Facet.LANGUAGE: ("language",),
    Facet.REPO: ("repo",),
    Facet.URL: ("url",),
    Facet.THREAD: ("thread",),
    Facet.AGENT: ("agent",),
    Facet.TOOL_CALL: ("tool",),
    Facet.TAG: ("one", "two"),
    Facet.NAMESPACE: ("agent:a",),
}
NARROWED: dict[Facet, tuple[str, dict[str, Any]]] = {
    Facet.KIND: ("learning", {"kinds": (ItemKind.LEARNING,)}),
    Facet.SOURCE: ("rss", {"sources": (SourceKind.RSS,)}),
    Facet.SOURCE_ID: ("x", {"source_id": "x"}),
    Facet.WORKSPACE: ("x", {"workspace": "x"}),
    Facet.FOLDER: ("/x", {"folder": "/x"}),
    Facet.FILE_PATH: ("/x", {"file_path": "/x"}),
    Facet.LANGUAGE: ("x", {"language": "x"}),
    Facet.REPO: ("x", {"repo": "x"}),
    Facet.URL: ("x", {"url": "x"}),
    Facet.THREAD: ("x", {"thread_id": "x"}),
    Facet.AGENT: ("x", {"agent_id": "x"}),
    Facet.TOOL_CALL: ("x", {"tool_call": "x"}),
    Facet.TAG: ("x", {"tags_any": ("x",)}),
    Facet.NAMESPACE: ("agent:x", {"reach": Reach.exact(Namespace.parse("agent:x"))}),
}


def test_there_are_14_facets_with_the_contracts_names() -> None:
    names = "kind source source_id workspace folder file_path language repo url"
    names += " thread agent tool_call tag namespace"
    assert [facet.value for facet in Facet] == names.split()


@pytest.mark.parametrize("facet", Facet)
def test_an_item_has_the_values_of_its_metadata(facet: Facet) -> None:
    assert facet.values(ItemKind.LEARNING, FULL) == VALUES[facet]


@pytest.mark.parametrize("facet", Facet)
def test_what_is_unset_has_no_value(facet: Facet) -> None:
    always = {
        Facet.KIND: ("document",),
        Facet.SOURCE: ("agent",),
        Facet.NAMESPACE: ("root",),
    }
    assert facet.values(ItemKind.DOCUMENT, MemoryMeta()) == always.get(facet, ())


@pytest.mark.parametrize("facet", Facet)
@given(filter=strategies.filters())
def test_a_bucket_replaces_the_one_field_that_it_targets(facet: Facet, filter: MetaFilter) -> None:
    value, changes = NARROWED[facet]
    assert facet.narrow(filter, value) == replace(filter, **changes)


@pytest.mark.parametrize("facet", Facet)
@pytest.mark.parametrize("value", ["", " ", "\n\u3000"])
def test_a_blank_value_is_refused(facet: Facet, value: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        facet.narrow(MetaFilter(), value)


@pytest.mark.parametrize(
    ("facet", "value"),
    [(Facet.KIND, "note"), (Facet.SOURCE, "disk"), (Facet.NAMESPACE, "nowhere")],
)
def test_a_value_that_the_facet_cannot_have_is_refused(facet: Facet, value: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        facet.narrow(MetaFilter(), value)


@given(st.sampled_from(Facet), strategies.kinds, strategies.metas())
def test_every_bucket_admits_the_items_that_it_counts(
    facet: Facet, kind: ItemKind, meta: MemoryMeta
) -> None:
    for value in facet.values(kind, meta):
        if value.strip():
            assert facet.narrow(MetaFilter(), value).matches(kind, meta)


def test_every_filter_field_but_four_has_a_facet() -> None:
    reached = {name for _, changes in NARROWED.values() for name in changes}
    unreached = {field.name for field in fields(MetaFilter)} - reached
    assert unreached == {"commit", "turns", "observed_after", "observed_before"}
