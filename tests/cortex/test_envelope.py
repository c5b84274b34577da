"""The envelope byte for byte, and every text that is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.engines.cortex.envelope import decode, envelopes, hit
from syncd.engines.cortex.events import Keys, events
from syncd.memory import (
    Conversation,
    Document,
    Instant,
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
)
from syncd.memory.conformance import specimens
from syncd.memory.wire import compact
from tests.cortex.rig import conversation, document

META = MemoryMeta(
    namespace=Namespace.parse("team:a/agent:b"),
    source=SourceRef(SourceKind.FOLDER, "notes"),
    tags=("x",),
    observed_at=Instant.parse("2026-01-02T03:04:05.5Z"),
)
META_TEXT = (
    '{"namespace":"team:a/agent:b","source":{"kind":"folder","id":"notes"},"tags":["x"],'
    '"observed_at":"2026-01-02T03:04:05.500Z"}'
)


def test_a_document_is_one_envelope() -> None:
    item = Document('a "tab"\t\x7f\u2028/é', title="T", mime="text/plain", meta=META)
    (only,) = envelopes(item)
    assert only.encode() == (
        f'{{"v":2,"id":"{item.fingerprint()}","kind":"document",'
        f'"text":"a \\"tab\\"\\t\x7f\u2028/é","meta":{META_TEXT},"title":"T","mime":"text/plain"}}'
    )


def test_unset_fields_are_left_out() -> None:
    item = Document("x")
    assert envelopes(item)[0].encode() == (
        f'{{"v":2,"id":"{item.fingerprint()}","kind":"document","text":"x",'
        '"meta":{"source":{"kind":"agent"}}}'
    )


@pytest.mark.parametrize(
    ("confidence", "shown"), [(0.8, "0.8"), (1, "1.0"), (1e-7, "1e-7"), (1 / 3, "0.33333334")]
)
def test_a_learning_carries_its_confidence_as_a_32_bit_float(confidence: float, shown: str) -> None:
    item = Learning("t", LearningKind.FACT, confidence, "because")
    assert envelopes(item)[0].encode() == (
        f'{{"v":2,"id":"{item.fingerprint()}","kind":"learning","text":"t",'
        '"meta":{"source":{"kind":"agent"}},"learning_kind":"fact",'
        f'"confidence":{shown},"evidence":"because"}}'
    )


def test_a_conversation_is_one_envelope_a_turn() -> None:
    at = Instant.parse("2026-01-01T00:00:00Z")
    calls = (ToolCallRef("grep", "c1"), ToolCallRef("read"))
    item = Conversation((Turn(Role.USER, "q", at), Turn(Role.TOOL, "r", tool_calls=calls)))
    head = f'{{"v":2,"id":"{item.fingerprint()}","kind":"conversation","text":'
    meta = '"meta":{"source":{"kind":"agent"}}'
    assert [each.encode() for each in envelopes(item)] == [
        f'{head}"q",{meta},"turn":{{"index":0,"count":2,"role":"user","at":"{at}"}}}}',
        f'{head}"r",{meta},"turn":{{"index":1,"count":2,"role":"tool",'
        '"tool_calls":[{"name":"grep","id":"c1"},{"name":"read"}]}}',
    ]


def items() -> list[Item]:
    return [
        *specimens.trio("w"),
        *(item for case in specimens.cases("w") for item in case.items),
        *specimens.nodes("w"),
    ]


@pytest.mark.parametrize("item", items(), ids=lambda item: item.fingerprint()[:8])
def test_every_item_reads_back_whole(item: Item) -> None:
    read = [decode(each.encode()) for each in envelopes(item)]
    assert read == list(envelopes(item))
    found = hit(each for each in reversed(read) if each)
    confidence = item.confidence if isinstance(item, Learning) else None
    assert (found.id, found.kind, found.text) == (item.fingerprint(), item.kind, item.render_text())
    assert (found.meta, found.confidence, found.score) == (item.meta, confidence, 0.0)


@given(st.text(min_size=1), st.none() | st.text(), st.none() | st.text())
def test_any_text_reads_back(text: str, title: str | None, mime: str | None) -> None:
    item = Document(text, title, mime)
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        return
    (only,) = envelopes(item)
    assert decode(only.encode()) == only
    assert json.loads(only.encode())["text"] == text


def test_recall_puts_the_speaker_in_front() -> None:
    item = document("[user] not a role")
    (only,) = envelopes(item)
    assert decode(f"[user] {only.encode()}") == only
    assert decode(f"[tool_result] {only.encode()}") == only
    assert decode(f"[user] [user] {only.encode()}") is None


def valid(**change: Any) -> str:
    fields = {
        "v": 2, "id": "i", "kind": "document", "text": "t", "meta": {"source": {"kind": "agent"}},
    }  # fmt: skip
    return compact({name: value for name, value in (fields | change).items() if value != "gone"})


TURN = {"index": 0, "count": 1, "role": "user"}


@pytest.mark.parametrize(
    "text",
    [
        None, "", "{", "[]", "null", "a note", "[user] a note", "{}", "[user]" + valid(),
        valid(v=1), valid(v=3), valid(v="2"), valid(v=True), valid(v="gone"),
        valid(id="gone"), valid(id=7), valid(id=" "), valid(kind="memo"), valid(kind="gone"),
        valid(text=None), valid(text="gone"), valid(meta="gone"), valid(meta=[]),
        valid(meta={"source": {"kind": "martian"}}), valid(meta={"namespace": "nowhere"}),
        valid(meta={"tags": "x"}), valid(title=7), valid(kind="conversation"),
        valid(kind="conversation", turn={**TURN, "index": -1}),
        valid(kind="conversation", turn={**TURN, "index": True}),
        valid(kind="conversation", turn={**TURN, "role": "narrator"}),
        valid(kind="conversation", turn={**TURN, "tool_calls": "x"}),
        valid(kind="conversation", turn={**TURN, "tool_calls": ["x"]}),
        valid(kind="conversation", turn={**TURN, "at": "yesterday"}),
        valid(kind="learning", confidence="high"), valid(kind="learning", confidence=10**400),
        valid(kind="learning", learning_kind="hunch"), valid(kind="learning", confidence=True),
        '{"v":2,"id":"i","kind":"document","text":"\\ud800","meta":{}}',
        "[" * 100_000, '{"a":' * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_envelope_is_someone_else_s(text: str | None) -> None:
    assert decode(text) is None


def test_what_others_add_is_passed_over() -> None:
    read = decode(valid(colour="red", title=None))
    assert read is not None
    assert (read.id, read.text, read.title) == ("i", "t", None)


def test_a_learning_without_its_kind_reads_as_other() -> None:
    read = decode(valid(kind="learning", confidence=1))
    assert read is not None
    assert (read.learning_kind, read.confidence) == (LearningKind.OTHER, 1.0)


def test_a_conversation_is_rendered_from_the_turns_that_are_there_in_order() -> None:
    parts = envelopes(conversation("a", "b", "c"))
    found = hit([parts[2], parts[0], parts[2]])
    assert found.text == "user: a\nuser: c"
    assert found.kind is ItemKind.CONVERSATION


def test_an_event_has_exactly_these_fields() -> None:
    item = Document("x", meta=META)
    (event,) = events(item)
    assert compact(event.body("tm-1")) == compact(
        {
            "scope": "app:tinymemory/team:a/agent:b/app:documents",
            "modality": "document",
            "idempotency_key": "tm-1",
            "content": {"kind": "message", "role": "user", "text": event.envelope.encode()},
            "context": {
                "labels": list(event.labels),
                "observed_at": "2026-01-02T03:04:05.500Z",
            },
        }
    )


def test_a_turn_speaks_for_itself_and_when_it_was_said() -> None:
    at = Instant.parse("2027-01-01T00:00:00Z")
    item = Conversation((Turn(Role.SYSTEM, "a", at), Turn(Role.ASSISTANT, "b")), META)
    first, second = (event.body("k") for event in events(item))
    assert (first["content"]["role"], first["context"]["observed_at"]) == ("system", str(at))
    assert second["content"]["role"] == "assistant"
    assert second["context"]["observed_at"] == str(META.observed_at)
    assert first["modality"] == "conversation"


def test_a_learning_is_an_observation_and_nothing_unset_is_sent() -> None:
    (event,) = events(Learning("t", LearningKind.FACT, 0.5))
    body = event.body("k")
    assert body["modality"] == "observation"
    assert list(body["context"]) == ["labels"]


def test_keys_are_fresh_and_say_nothing_of_the_content() -> None:
    keys = Keys()
    made = [keys.next() for _ in range(100)]
    assert len(set(made)) == 100
    for key in made:
        tm, salt, nanos, _ = key.split("-")
        assert tm == "tm"
        assert len(salt) >= 8
        assert nanos.isdecimal()
    assert Keys().next().split("-")[1] != made[0].split("-")[1]
