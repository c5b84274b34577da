"""Filters against an independent, slow reading of the contract's table."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings

from syncd.memory import (
    Instant,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
    ToolCallRef,
    TurnRange,
    errors,
)
from tests.memory import strategies

DOCUMENT = ItemKind.DOCUMENT
SET: dict[str, Any] = {
    **dict.fromkeys(
        ("workspace", "folder", "file_path", "language", "repo", "commit", "url"), "value"
    ),
    "thread_id": "value",
    "agent_id": "value",
    "tool_call": "value",
    "source_id": "value",
    "reach": Reach(),
    "turns": TurnRange(1, 2),
    "kinds": (DOCUMENT,),
    "sources": (SourceKind.RSS,),
    "tags_any": ("value",),
    "observed_after": Instant(0),
    "observed_before": Instant(0),
}


def below(path: str, value: str | None) -> bool:
    """`value` is the directory `path` or lies in it, by walking up from it."""
    while path.endswith("/"):
        path = path[:-1]
    while value is not None:
        if value == path:
            return True
        value = value.rpartition("/")[0] if "/" in value else None
    return False


def admits(filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> bool:
    """The table of the contract, line by line."""
    flat = {
        **{field.name: getattr(meta, field.name) for field in fields(meta)},
        "source_id": meta.source.id,
        "tool_call": None if meta.tool_call is None else meta.tool_call.name,
    }
    verdicts = []
    for field in fields(filter):
        wanted = getattr(filter, field.name)
        if wanted is None or wanted == ():
            continue
        match field.name:
            case "reach":
                verdicts.append(wanted.admits(meta.namespace))
            case "folder" | "file_path":
                verdicts.append(below(wanted, flat[field.name]))
            case "kinds":
                verdicts.append(wanted.count(kind) > 0)
            case "sources":
                verdicts.append(wanted.count(meta.source.kind) > 0)
            case "tags_any":
                verdicts.append(any(tag in meta.tags for tag in wanted))
            case "observed_after":
                verdicts.append(meta.observed_at is not None and meta.observed_at >= wanted)
            case "observed_before":
                verdicts.append(meta.observed_at is not None and meta.observed_at < wanted)
            case name:
                verdicts.append(flat[name] is not None and flat[name] == wanted)
    return False not in verdicts


@settings(max_examples=200)
@given(strategies.filters(), strategies.kinds, strategies.metas())
def test_a_filter_is_its_table(filter: MetaFilter, kind: ItemKind, meta: MemoryMeta) -> None:
    assert filter.matches(kind, meta) == admits(filter, kind, meta)


@settings(max_examples=200)
@given(strategies.filters(), strategies.kinds, strategies.metas())
def test_a_filter_with_one_field_is_its_line(
    filter: MetaFilter, kind: ItemKind, meta: MemoryMeta
) -> None:
    verdicts = []
    for field in fields(filter):
        single = MetaFilter(**{field.name: getattr(filter, field.name)})
        assert single.matches(kind, meta) == admits(single, kind, meta), field.name
        verdicts.append(single.matches(kind, meta))
    assert filter.matches(kind, meta) == all(verdicts)


@pytest.mark.parametrize("field", ["folder", "file_path"])
@pytest.mark.parametrize(
    ("wanted", "value", "admitted"),
    [
        ("/a/b", "/a/b", True),
        ("/a/b", "/a/b/c", True),
        ("/a/b/", "/a/b", True),
        ("/a/b///", "/a/b/c/d", True),
        ("/a/b", "/a/b/", True),
        ("/a/b", "/a/bc", False),
        ("/a/b", "/a", False),
        ("/a/b", "/a/B", False),
        ("/a/b", "a/b", False),
        ("/a/b", "/x/a/b", False),
        ("/a/%", "/a/b", False),
        ("/a/_", "/a/b", False),
        ("/", "/a", True),
        ("/", "a", False),
        (".", "./a", True),
        (".", ".a", False),
        ("/a/b", None, False),
        ("/", None, False),
        ("", None, False),
    ],
)
def test_paths_match_below_a_boundary(
    field: str, wanted: str, value: str | None, admitted: bool
) -> None:
    meta = MemoryMeta(**{field: value})  # type: ignore[arg-type]
    filter = MetaFilter(**{field: wanted})  # type: ignore[arg-type]
    assert filter.matches(DOCUMENT, meta) == admitted
    assert below(wanted, value) == admitted


def test_the_table_names_every_field() -> None:
    assert set(SET) == {field.name for field in fields(MetaFilter)}


@pytest.mark.parametrize("name", sorted(SET))
def test_a_filter_is_empty_only_when_nothing_is_set(name: str) -> None:
    filter = MetaFilter(**{name: SET[name]})
    assert not filter.is_empty()
    assert list(filter.as_json()) == [name]
    json.dumps(filter.as_json())


@pytest.mark.parametrize("name", sorted(set(SET) - {"reach", "kinds"}))
def test_what_an_item_lacks_never_matches(name: str) -> None:
    assert not MetaFilter(**{name: SET[name]}).matches(DOCUMENT, MemoryMeta())


@given(strategies.kinds, strategies.metas())
def test_the_empty_filter_admits_everything(kind: ItemKind, meta: MemoryMeta) -> None:
    assert MetaFilter().is_empty()
    assert MetaFilter().as_json() == {}
    assert MetaFilter().matches(kind, meta)


def test_an_unset_reach_admits_every_node_and_the_default_one_the_root() -> None:
    below_root = MemoryMeta(namespace=Namespace.parse("agent:a"))
    assert MetaFilter().matches(DOCUMENT, below_root)
    assert not MetaFilter(reach=Reach()).matches(DOCUMENT, below_root)
    assert MetaFilter(reach=Reach()).matches(DOCUMENT, MemoryMeta())


def test_after_is_inclusive_and_before_is_not() -> None:
    meta = MemoryMeta(observed_at=Instant(5))
    window = MetaFilter(observed_after=Instant(5), observed_before=Instant(6))
    assert window.matches(DOCUMENT, meta)
    assert not MetaFilter(observed_before=Instant(5)).matches(DOCUMENT, meta)
    assert not MetaFilter(observed_after=Instant(6)).matches(DOCUMENT, meta)


def test_a_tool_call_matches_by_name_and_never_by_id() -> None:
    meta = MemoryMeta(tool_call=ToolCallRef("grep", "call"))
    assert MetaFilter(tool_call="grep").matches(DOCUMENT, meta)
    assert not MetaFilter(tool_call="call").matches(DOCUMENT, meta)


def test_words_and_lists_are_taken_as_they_come() -> None:
    filter = MetaFilter(
        kinds=["document"],  # type: ignore[arg-type, list-item]
        sources=["rss"],  # type: ignore[arg-type, list-item]
        tags_any=["a"],  # type: ignore[arg-type]
        observed_after="1970-01-01T00:00:00Z",  # type: ignore[arg-type]
    )
    meta = MemoryMeta(source=SourceRef(SourceKind.RSS), tags=("a",), observed_at=Instant(0))
    assert filter.matches(DOCUMENT, meta)
    assert hash(filter) == hash(
        MetaFilter(**{f.name: getattr(filter, f.name) for f in fields(filter)})
    )
    assert filter.as_json() == {
        "kinds": ["document"],
        "sources": ["rss"],
        "tags_any": ["a"],
        "observed_after": "1970-01-01T00:00:00Z",
    }


@pytest.mark.parametrize(
    "fields", [{"kinds": ("note",)}, {"sources": ("disk",)}, {"observed_after": "yesterday"}]
)
def test_unknown_words_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidRequest):
        MetaFilter(**fields)
