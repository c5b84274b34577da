"""What an item is: its rendering, what is refused, and how wrong data is named."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import pytest

import syncd.memory
from syncd.memory import (
    Conversation,
    Document,
    Item,
    ItemKind,
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
    errors,
    load_item,
)

TURN = Turn(Role.USER, "text")


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (Document("body\n"), "body\n"),
        (Document("body", title="Title"), "# Title\n\nbody"),
        (Document("body", title=" Title "), "#  Title \n\nbody"),
        (Document("body", title=""), "body"),
        (Document("body", title=" \u3000\n"), "body"),
        (Document("body", title="\x1f"), "# \x1f\n\nbody"),
        (Learning("text", LearningKind.FACT, 1.0, "evidence"), "text"),
        (Conversation((TURN,)), "user: text"),
        (Conversation((TURN, Turn(Role.TOOL, "a\nb"))), "user: text\ntool: a\nb"),
        (
            Conversation((Turn(Role.ASSISTANT, "x", tool_calls=(ToolCallRef("a"),)),)),
            "assistant: x [tools: a]",
        ),
        (
            Conversation(
                (Turn(Role.SYSTEM, "x", tool_calls=(ToolCallRef("a", "1"), ToolCallRef("b"))),)
            ),
            "system: x [tools: a (1), b]",
        ),
    ],
)
def test_an_item_renders_as_the_contract_says(item: Item, text: str) -> None:
    assert item.render_text() == text


INVALID: list[tuple[Item, str]] = [
    (Document(""), "body"),
    (Document(" \t\n\u00a0"), "body"),
    (Document(Uri("file:///a")), "uri"),
    (Conversation(()), "at least one turn"),
    (Conversation((TURN, Turn(Role.USER, " "))), "text"),
    (Learning("\n", LearningKind.FACT, 0.5), "text"),
    (Learning("text", LearningKind.FACT, 1.0000001), "confidence"),
    (Learning("text", LearningKind.FACT, -1e-45), "confidence"),
    (Learning("text", LearningKind.FACT, float("nan")), "confidence"),
    (Learning("text", LearningKind.FACT, float("inf")), "confidence"),
    (Document("text", title="\ud800"), "title"),
    (Document("text", mime="\ud800"), "mime"),
    (Document("text", meta=MemoryMeta(file_path="/\udc80")), "file_path"),
    (Document("text", meta=MemoryMeta(tags=("a", "\ud800"))), "unicode"),
    (Document("text", meta=MemoryMeta(source=SourceRef(id="\ud800"))), "unicode"),
    (Document("text", meta=MemoryMeta(tool_call=ToolCallRef("a", "\ud800"))), "unicode"),
    (Conversation((Turn(Role.USER, "\ud800"),)), "turn"),
    (Conversation((Turn(Role.USER, "a", tool_calls=(ToolCallRef("\ud800"),)),)), "tool call"),
    (Learning("text", LearningKind.FACT, 0.5, "\ud800"), "unicode"),
]


@pytest.mark.parametrize(("item", "word"), INVALID, ids=range(len(INVALID)))
def test_an_invalid_item_is_refused_by_name(item: Item, word: str) -> None:
    with pytest.raises(errors.InvalidRequest, match=word):
        item.validate()


@pytest.mark.parametrize(
    "item",
    [
        Document("\x1f"),
        Document("\0"),
        Document("\u200b"),
        Learning("text", LearningKind.FACT, 0.0),
        Learning("text", LearningKind.FACT, -0.0),
        Learning("text", LearningKind.FACT, 1),
        # Nearer to 1 than to the next 32-bit float above it.
        Learning("text", LearningKind.FACT, 1.00000001),
    ],
    ids=range(7),
)
def test_what_only_looks_invalid_is_accepted(item: Item) -> None:
    item.validate()


def document(**fields: Any) -> dict[str, Any]:
    return {"type": "document", "body": {"text": "a"}, **fields}


def meta(**fields: Any) -> dict[str, Any]:
    return document(meta=fields)


def learning(**fields: Any) -> dict[str, Any]:
    return {"type": "learning", "text": "a", "kind": "fact", "confidence": 0.5, **fields}


def conversation(**turn: Any) -> dict[str, Any]:
    return {"type": "conversation", "turns": [{"role": "user", "text": "a", **turn}]}


WRONG: list[tuple[Any, str]] = [
    ([], "an item must be an object"),
    ("document", "an item must be an object"),
    (None, "an item must be an object"),
    ({}, "item type"),
    ({"type": "note"}, "item type 'note' is none of document, conversation, learning"),
    ({"type": ["document"]}, "item type"),
    ({"type": "document"}, "body is missing"),
    (document(body="a"), "body must be an object"),
    (document(body={}), "text is missing"),
    (document(body={"text": 1}), "text must be a string"),
    (document(body={"uri": ["a"]}), "uri must be a string"),
    (document(body={"text": "a", "uri": "b"}), "either a text or a uri"),
    (document(title=1), "title must be a string"),
    (document(mime=False), "mime must be a string"),
    (document(meta=[]), "meta must be an object"),
    (meta(namespace="agent"), "namespace"),
    (meta(namespace=3), "namespace must be a string"),
    (meta(workspace=["a"]), "workspace must be a string"),
    (meta(turns=[1, 2]), "turns must be an object"),
    (meta(turns={"first": 0}), "a turn is a number"),
    (meta(turns={"first": 0, "last": 1.0}), "a turn is a number"),
    (meta(turns={"first": True, "last": 1}), "a turn is a number"),
    (meta(turns={"first": -1, "last": 1}), "a turn is a number"),
    (meta(turns={"first": 0, "last": 2**32}), "a turn is a number"),
    (meta(tool_call="grep"), "tool_call must be an object"),
    (meta(tool_call={"id": "1"}), "name is missing"),
    (meta(source="folder"), "source must be an object"),
    (meta(source={"kind": "disk"}), "source kind 'disk' is none of folder, file"),
    (meta(source={"kind": "folder", "id": 1}), "id must be a string"),
    (meta(tags="a"), "tags must be a list"),
    (meta(tags=None), "tags must be a list"),
    (meta(tags=["a", 1]), "tags must be a list of strings"),
    (meta(observed_at=1), "observed_at must be a string"),
    (meta(observed_at="yesterday"), "'yesterday' is not an rfc 3339 time"),
    ({"type": "conversation"}, "turns must be a list"),
    ({"type": "conversation", "turns": ["a"]}, "a turn must be an object"),
    (conversation(role="robot"), "role 'robot' is none of user"),
    (conversation(text=None), "text is missing"),
    (conversation(at="now"), "rfc 3339"),
    (conversation(tool_calls=None), "tool_calls must be a list"),
    (conversation(tool_calls=["a"]), "a tool call must be an object"),
    (conversation(tool_calls=[{}]), "name is missing"),
    (learning(text=None), "text is missing"),
    (learning(kind="guess"), "learning kind 'guess' is none of preference"),
    (learning(confidence="0.5"), "confidence must be a number"),
    (learning(confidence=True), "confidence must be a number"),
    (learning(confidence=None), "confidence must be a number"),
    (learning(confidence=10**400), "confidence is out of range"),
    (learning(evidence={}), "evidence must be a string"),
]


@pytest.mark.parametrize(("data", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_wire_data_is_refused_with_the_field(data: Any, message: str) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        load_item(data)
    assert message in caught.value.message


def test_null_is_unset_and_unknown_fields_are_ignored() -> None:
    data = document(title=None, mime=None, colour="blue")
    data["meta"] = {"workspace": None, "turns": None, "observed_at": None, "later": 1}
    assert load_item(data) == load_item(document()) == Document("a")


def test_an_integer_confidence_is_a_float() -> None:
    item = load_item(learning(confidence=1))
    assert isinstance(item, Learning)
    assert '"confidence":1.0' in item.wire()


def test_words_become_members_and_sequences_tuples() -> None:
    turn = Turn("user", "a", at="2026-01-01T00:00:00Z", tool_calls=[])  # type: ignore[arg-type]
    assert turn.role is Role.USER
    assert str(turn.at) == "2026-01-01T00:00:00Z"
    assert turn.tool_calls == ()
    assert Conversation([turn]).turns == (turn,)  # type: ignore[arg-type]
    assert Learning("a", "fact", 1).learning_kind is LearningKind.FACT  # type: ignore[arg-type]
    assert SourceRef("rss").kind is SourceKind.RSS  # type: ignore[arg-type]
    assert MemoryMeta(tags=["a"]).tags == ("a",)  # type: ignore[arg-type]


def test_a_documents_text_is_its_body_once_resolved() -> None:
    assert Document("body", title="Title").text == "body"
    with pytest.raises(errors.InvalidRequest, match="resolved"):
        _ = Document(Uri("file:///a")).text


def test_every_kind_knows_its_name() -> None:
    kinds = (Document.kind, Conversation.kind, Learning.kind)
    assert kinds == tuple(ItemKind)


def values() -> list[type]:
    public = (getattr(syncd.memory, name) for name in syncd.memory.__all__)
    return [entry for entry in public if dataclasses.is_dataclass(entry)]  # type: ignore[misc]


def test_there_are_values_to_look_at() -> None:
    assert len(values()) > 25


@pytest.mark.parametrize("kind", values(), ids=lambda kind: kind.__name__)
def test_values_are_frozen_and_slotted(kind: Any) -> None:
    assert kind.__dataclass_params__.frozen
    assert "__slots__" in vars(kind)
    assert kind.__hash__ is not None
    if inspect.isabstract(kind):
        return
    hollow = object.__new__(kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(hollow, dataclasses.fields(kind)[0].name, "changed")
    assert not hasattr(hollow, "__dict__")


def test_equal_values_are_one_key() -> None:
    first = Document("a", meta=MemoryMeta(turns=TurnRange(1, 2), tags=("x",)))
    second = load_item(
        document(meta={"turns": {"first": 1, "last": 2}, "tags": ["x"], "namespace": "root"})
    )
    assert {first, second} == {first}
    assert first.meta.namespace == Namespace.root()
