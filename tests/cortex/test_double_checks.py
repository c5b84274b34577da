"""Strict schemas, and each breach that the double notes: one broken request for each rule."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cortex.double import Double, label
from tests.cortex.double.raw import DOCUMENTS, Raw, compact, data, said

Event = dict[str, Any]


@pytest.fixture(params=["direct", "hosted"])
def raw(request: pytest.FixtureRequest) -> Iterator[Raw]:
    with Double(request.param) as double, Raw(double) as client:
        yield client


def test_a_well_behaved_client_breaks_nothing(raw: Raw) -> None:
    meta: dict[str, Any] = {"source": {"kind": "folder", "id": "notes"}, "thread_id": "t"}
    meta |= {"repo": "a/b", "workspace": "w", "agent_id": "x", "language": "python"}
    event = raw.event("all labels", observed_at="2026-01-02T03:04:05.123Z", **meta)
    assert [text[3] for text in event["context"]["labels"]] == list("itsrwalk")
    ids = [data(raw.append(event))["event_id"], raw.stored("b", namespace="agent:x/project:p")]
    raw.page(labels=label("t", "t"))
    pack = data(raw.recall(filters={"metadata": {"labels": [label("k", "folder")]}}))["pack_id"]
    raw.answer(pack)
    raw.forget(ids)
    raw.scopes()
    raw.health()
    assert raw.double.violations == []
    assert all(request.status in (200, 202) for request in raw.double.requests)


def test_unknown_body_keys_are_refused_only_by_the_strict_wire(raw: Raw) -> None:
    pack = data(raw.recall())["pack_id"]
    event = raw.event()
    event["content"]["extra"] = 1
    answers = {
        "append: unknown key content.extra": raw.append(event),
        "recall: unknown key top": raw.recall(top=3),
        "answer: unknown key model": raw.answer(pack, model="x"),
        "forget: unknown key selector.labels": raw.forget(
            [], selector={"memory_ids": ["x"], "labels": []}
        ),
    }
    assert raw.double.violations == list(answers)
    *taken, forgotten = answers.values()
    if raw.direct:
        assert [answer.status_code for answer in taken] == [202, 200, 200]
        assert forgotten.status_code == 404, "x is here no more than anywhere"
    else:
        assert {said(answer) for answer in answers.values()} == {(400, "VALIDATION_FAILED")}
        assert raw.double.log == []


def test_null_instructions_are_for_the_direct_wire_alone(raw: Raw) -> None:
    pack = data(raw.recall())["pack_id"]
    assert raw.answer(pack, answer_instructions=None).status_code == (200 if raw.direct else 400)
    assert raw.answer(pack, answer_instructions="briefly").status_code == 200


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("scope",), ""),
        (("scope",), "app:tinymemory/"),
        (("modality",), "learning"),
        (("idempotency_key",), " "),
        (("content", "kind"), "text"),
        (("content", "role"), "robot"),
        (("content", "text"), None),
        (("context", "labels"), "a,b"),
        (("context", "labels"), [1]),
        (("context", "observed_at"), None),
        (("context", "observed_at"), "yesterday"),
        (("context",), []),
    ],
)
def test_wrong_values_are_refused(raw: Raw, path: tuple[str, ...], value: Any) -> None:
    event = raw.event()
    part = event
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    assert raw.append(event, "claim").status_code == (422 if raw.direct else 400)
    assert raw.double.log == []


@pytest.mark.parametrize("key", ["scope", "modality", "idempotency_key", "content", "context"])
def test_missing_values_are_refused(raw: Raw, key: str) -> None:
    event = raw.event()
    del event[key]
    assert raw.append(event, "claim").status_code == (422 if raw.direct else 400)
    assert raw.double.violations == [f"append: body.{key} is missing"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3"])
def test_a_body_that_is_no_object_is_refused(raw: Raw, body: bytes) -> None:
    headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    answer = raw.client.post(f"{raw.prefix}/recall", content=body, headers=headers)
    assert answer.status_code == (422 if raw.direct else 400)


@pytest.mark.parametrize("limit", ["0", "-1", "x", ""])
def test_a_limit_that_is_no_number_is_refused(raw: Raw, limit: str) -> None:
    answer = raw.client.get(f"{raw.prefix}/events", params={"scope": DOCUMENTS, "limit": limit})
    assert answer.status_code == 400


def test_a_listing_needs_a_scope(raw: Raw) -> None:
    assert raw.client.get(f"{raw.prefix}/events", params={"limit": "9"}).status_code == 400
    assert raw.double.violations == ["list: no scope"]


def of_envelope(change: Callable[[Event], object]) -> Callable[[Event], None]:
    """A change of the envelope within an event."""

    def changed(event: Event) -> None:
        envelope = json.loads(event["content"]["text"])
        change(envelope)
        event["content"]["text"] = compact(envelope)

    return changed


BREACHES: dict[str, tuple[str, Callable[[Event], object]]] = {
    "idempotency key 'mine'": ("document", lambda e: e.update(idempotency_key="mine")),
    "text that is no envelope": ("document", lambda e: e["content"].update(text="hello")),
    "envelope version 1": ("document", of_envelope(lambda e: e.update(v=1))),
    "envelope with a null title": ("document", of_envelope(lambda e: e.update(title=None))),
    "envelope keys ['v', 'id', 'kind', 'text', 'meta', 'mime', 'title']": (
        "document",
        of_envelope(lambda e: e.update(mime="m", title="t")),
    ),
    "envelope keys ['v', 'id', 'kind', 'text', 'meta', 'extra']": (
        "document",
        of_envelope(lambda e: e.update(extra=1)),
    ),
    "a turn where none belongs, or none where one does": (
        "conversation",
        of_envelope(lambda e: e.pop("turn")),
    ),
    "turn keys ['index', 'count', 'role', 'tool_calls', 'at']": (
        "conversation",
        of_envelope(lambda e: e["turn"].update(tool_calls=[], at="2026-01-01T00:00:00Z")),
    ),
    "scope 'app:tinymemory/app:documents', not 'app:tinymemory/app:learnings'": (
        "learning",
        lambda e: e.update(scope=DOCUMENTS),
    ),
    "modality 'document', not 'observation'": ("learning", lambda e: e.update(modality="document")),
    "role 'assistant', not 'user'": (
        "conversation",
        lambda e: e["content"].update(role="assistant"),
    ),
    "observed_at '2026-01-01T00:00:00Z', not None": (
        "document",
        lambda e: e["context"].update(observed_at="2026-01-01T00:00:00Z"),
    ),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_each_breach_of_an_event_is_noted_and_still_stored(raw: Raw, breach: str) -> None:
    kind, change = BREACHES[breach]
    event = copy.deepcopy(raw.event("a", kind))
    change(event)
    raw.append(event, "claim")
    assert f"append: {breach}" in raw.double.violations
    assert len(raw.double.log) == 1


def test_labels_are_checked_against_the_envelope(raw: Raw) -> None:
    event = raw.event("a", repo="x/y")
    event["context"]["labels"].reverse()
    raw.append(event)
    missing = raw.event("b", repo="x/y")
    missing["context"]["labels"].pop()
    raw.append(missing)
    assert [text[:15] for text in raw.double.violations] == ["append: labels "] * 2


def test_reads_narrow_by_one_field(raw: Raw) -> None:
    raw.page(labels=f"{label('r', 'x')},{label('w', 'x')}")
    raw.recall(filters={"metadata": {"labels": ["workspace:x"]}})
    assert raw.double.violations == [
        "list: labels of more than one field",
        "recall: a label that no event carries",
    ]


def test_budgets_views_pages_and_probes(raw: Raw) -> None:
    raw.recall(events=1001)
    raw.recall(view="descend")
    raw.page(limit=201)
    raw.scopes("", 10)
    assert raw.double.violations == [
        "recall: a budget of 1001 events",
        "recall: descends from a scope that is not the whole memory",
        "list: a page of 201",
        "scopes: scopes up to 10",
        "scopes: scopes without a prefix",
    ]


def test_forget_says_what_it_forgets_and_why(raw: Raw) -> None:
    event = raw.stored()
    raw.forget([event], layers=["events", "facts"], audit_note="")
    assert raw.double.violations == [
        "forget: layers ['events', 'facts']",
        "forget: audit note ''",
    ]


def test_an_answer_cites(raw: Raw) -> None:
    raw.answer(data(raw.recall())["pack_id"], cite_sources=False)
    assert raw.double.violations == ["answer: an answer without sources or context"]


def test_headers_and_parameters_of_each_wire(raw: Raw) -> None:
    raw.append(raw.event(), wait="done")
    raw.client.headers["X-Cortex-Actor"] = "user:double"
    content = compact({"scope": DOCUMENTS})
    raw.client.post(f"{raw.prefix}/answer", content=content.encode())
    first, *rest = raw.double.violations
    assert first == f"append: {'append without wait=indexed' if raw.direct else WAIT_UNKNOWN}"
    assert rest[0] == "answer: no Content-Type header that says JSON"
    assert ("answer: an actor on the hosted wire" in rest) is not raw.direct


WAIT_UNKNOWN = "unknown parameter wait"


def test_bulks_are_of_one_item_with_several_events() -> None:
    with Double() as double, Raw(double) as raw:
        raw.bulk([raw.event()])
        raw.bulk([raw.event("a"), raw.event("b")])
        assert raw.bulk([raw.event()] * 2, ordering="any").status_code == 422
        assert double.violations == [
            "append: a bulk of 1",
            "append: a bulk of more than one item",
            "append: body.ordering has a value that is not allowed",
        ]


def test_unknown_keys_are_seen_inside_a_bulk() -> None:
    with Double() as double, Raw(double) as raw:
        raw.bulk([raw.event("a", "conversation"), raw.event("a", "conversation") | {"extra": 1}])
        assert double.violations == ["append: unknown key items.extra"]
