"""Items are the reference implementation's, byte for byte: same wire form, same identity."""

from __future__ import annotations

import copy
import hashlib
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.memory import (
    Conversation,
    Document,
    Instant,
    Item,
    Learning,
    LearningKind,
    MemoryMeta,
    Namespace,
    Role,
    SourceKind,
    SourceRef,
    ToolCallRef,
    Turn,
    TurnRange,
    Uri,
    load_item,
)
from syncd.memory.wire import compact
from tests.memory import strategies

VECTORS = json.loads((Path(__file__).parent / "fingerprints.json").read_text("utf-8"))

CHANGED_META: dict[str, Any] = {
    "namespace": Namespace.parse("agent:x"),
    **dict.fromkeys(
        ("workspace", "folder", "file_path", "language", "repo", "commit", "url"), "changed"
    ),
    "thread_id": "changed",
    "turns": TurnRange(0, 1),
    "agent_id": "changed",
    "tool_call": ToolCallRef("changed"),
    "source": SourceRef(SourceKind.RSS),
    "tags": ("changed",),
    "observed_at": Instant(0),
}
CHANGES: list[tuple[Item, dict[str, Any]]] = [
    (Document("text"), {"body": "texts", "title": "", "mime": ""}),
    (
        Conversation((Turn(Role.USER, "text"),)),
        {
            "turns": (Turn(Role.USER, "text"), Turn(Role.USER, "text")),
        },
    ),
    (
        Learning("text", LearningKind.FACT, 0.5),
        {
            "text": "texts",
            "learning_kind": LearningKind.OTHER,
            "confidence": 0.50000006,
            "evidence": "",
        },
    ),
]


def test_there_are_as_many_vectors_as_the_reference_made() -> None:
    assert len(VECTORS) == 50


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_wire_and_fingerprint_are_those_of_the_reference(vector: dict[str, Any]) -> None:
    item = load_item(vector["item"])
    assert item.wire() == vector["wire"]
    assert item.fingerprint() == vector["fingerprint"]
    item.validate()


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_what_is_parsed_is_written_as_it_was(vector: dict[str, Any]) -> None:
    parsed = load_item(json.loads(vector["wire"]))
    assert parsed == load_item(vector["item"])
    assert parsed.wire() == vector["wire"]


@given(strategies.items())
def test_an_item_survives_its_wire_form(item: Item) -> None:
    item.validate()
    again = load_item(json.loads(item.wire()))
    assert again == item
    assert again.wire() == item.wire()
    assert hash(again) == hash(item)


@given(strategies.unresolved)
def test_a_uri_survives_its_wire_form(item: Document) -> None:
    assert load_item(json.loads(item.wire())) == item
    assert isinstance(item.body, Uri)


@given(strategies.items())
def test_a_fingerprint_is_the_hash_of_the_wire_form_never_observed(item: Item) -> None:
    bare = replace(item, meta=replace(item.meta, observed_at=None))
    digest = hashlib.sha256(bare.wire().encode("utf-8")).hexdigest()
    assert item.fingerprint() == bare.fingerprint() == digest[:40]


@given(strategies.items(), st.none() | strategies.instants)
def test_when_an_item_was_observed_is_no_part_of_it(item: Item, at: Instant | None) -> None:
    seen = replace(item, meta=replace(item.meta, observed_at=at))
    assert seen.fingerprint() == item.fingerprint()


@given(strategies.items(), strategies.items())
def test_items_are_one_only_when_all_but_observation_is_equal(left: Item, right: Item) -> None:
    same = left.wire() == right.wire()
    bare = [replace(i, meta=replace(i.meta, observed_at=None)) for i in (left, right)]
    assert (left.fingerprint() == right.fingerprint()) == (bare[0] == bare[1])
    assert not same or left == right


def test_the_changes_name_every_field() -> None:
    assert set(CHANGED_META) == {field.name for field in fields(MemoryMeta)}
    for item, changes in CHANGES:
        assert {*changes, "meta"} == {field.name for field in fields(item)}


@pytest.mark.parametrize("name", sorted(CHANGED_META))
@pytest.mark.parametrize("item", [item for item, _ in CHANGES], ids=lambda item: item.kind)
def test_every_field_of_the_metadata_but_one_is_identity(item: Item, name: str) -> None:
    changed = replace(item, meta=replace(item.meta, **{name: CHANGED_META[name]}))
    same = changed.fingerprint() == item.fingerprint()
    assert same == (name == "observed_at")


@pytest.mark.parametrize(
    ("item", "name", "value"),
    [(item, name, value) for item, changes in CHANGES for name, value in changes.items()],
)
def test_every_field_of_an_item_is_identity(item: Item, name: str, value: Any) -> None:
    assert replace(item, **{name: value}).fingerprint() != item.fingerprint()


@pytest.mark.parametrize(
    "turn",
    [
        Turn(Role.ASSISTANT, "text"),
        Turn(Role.USER, "texts"),
        Turn(Role.USER, "text", Instant(0)),
        Turn(Role.USER, "text", tool_calls=(ToolCallRef("a"),)),
        Turn(Role.USER, "text", tool_calls=(ToolCallRef("a", "b"),)),
    ],
)
def test_every_field_of_a_turn_is_identity(turn: Turn) -> None:
    plain = Conversation((Turn(Role.USER, "text"),))
    assert Conversation((turn,)).fingerprint() != plain.fingerprint()


def test_keys_are_in_wire_order_whatever_their_order_was() -> None:
    full = MemoryMeta(**CHANGED_META)
    order = list(json.loads(Document("text", meta=full).wire())["meta"])
    assert order == [field.name for field in fields(MemoryMeta)]
    shuffled = {name: full.as_json()[name] for name in reversed(order)}
    assert MemoryMeta.from_json(shuffled) == full


def test_unset_is_absent_and_empty_is_not() -> None:
    source = '"meta":{"source":{"kind":"agent"}}}'
    assert Document("a").wire() == '{"type":"document","body":{"text":"a"},' + source
    titled = Document("a", title="", mime="").wire()
    assert titled == '{"type":"document","title":"","body":{"text":"a"},"mime":"",' + source
    meta = MemoryMeta(workspace="", tags=("",), source=SourceRef(id=""))
    wanted = {"workspace": "", "source": {"kind": "agent", "id": ""}, "tags": [""]}
    assert meta.as_json() == wanted
    assert MemoryMeta(tags=()).as_json() == {"source": {"kind": "agent"}}


def test_an_identity_is_not_carried_over_to_a_changed_item() -> None:
    item = Document("one")
    first = item.fingerprint()
    assert replace(item, body="two").fingerprint() != first
    assert copy.copy(item).fingerprint() == first
    assert item.fingerprint() == first


def test_a_tool_call_is_rendered_with_its_id_even_when_that_is_empty() -> None:
    turn = Turn(Role.USER, "hi", tool_calls=(ToolCallRef("a", ""), ToolCallRef("b")))
    assert Conversation((turn,)).render_text() == "user: hi [tools: a (), b]"


@given(strategies.items())
def test_metadata_is_written_as_its_fields_say(item: Item) -> None:
    meta = item.meta
    assert meta.wire() == compact(meta.as_json())
    assert meta.wire(observed=False) == compact(meta.as_json(observed=False))
