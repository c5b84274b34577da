"""What a well-behaved client never does; each breach is a line that tests assert absent.

Nothing here refuses a request: a real server would take most of it, and that is the danger.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from tests.cortex.double.values import Recorded

MAX_LABELS = 50
MAX_PAGE = 200
MAX_FORGET_IDS = 100
MAX_PACK_EVENTS = 1000
KEY = re.compile(r"tm-[A-Za-z0-9]+-\d+-\d+")
LABEL = re.compile(r"tm:([itsrwalk]):[0-9a-f]{16}")
PARAMETERS = {
    "append": {"direct": {"wait"}, "hosted": set()},
    "list": {wire: {"scope", "limit", "labels", "cursor"} for wire in ("direct", "hosted")},
    "scopes": {wire: {"prefix", "limit"} for wire in ("direct", "hosted")},
    "health": {"direct": set(), "hosted": {"prefix", "limit"}},
}
ENVELOPE_KEYS = (
    *("v", "id", "kind", "text", "meta", "title", "mime"),
    *("learning_kind", "confidence", "evidence", "turn"),
)
TURN_KEYS = ("index", "count", "role", "at", "tool_calls")
KINDS = {
    "document": ("document", "documents"),
    "conversation": ("conversation", "conversations"),
    "learning": ("observation", "learnings"),
}


def label(tag: str, value: str) -> str:
    return f"tm:{tag}:{hashlib.sha256(value.encode()).hexdigest()[:16]}"


def of_request(request: Recorded, wire: str) -> Iterator[str]:
    """Breaches in the line, the parameters and the headers."""
    known: set[str] = PARAMETERS.get(request.route, {}).get(wire, set())
    pairs = parse_qsl(request.raw_query, keep_blank_values=True)
    names = [name for name, _ in pairs]
    yield from (f"unknown parameter {name}" for name in names if name not in known)
    yield from (f"repeated parameter {name}" for name in {*names} if names.count(name) > 1)
    if "authorization" not in request.headers:
        yield "no Authorization header"
    if request.method == "POST":
        if not request.headers.get("content-type", "").startswith("application/json"):
            yield "no Content-Type header that says JSON"
        if request.route == "append" and wire == "direct" and request.query != {"wait": "indexed"}:
            yield "append without wait=indexed"
    if wire == "hosted" and "x-cortex-actor" in request.headers:
        yield "an actor on the hosted wire"
    yield from _of_limits(request)


def _of_limits(request: Recorded) -> Iterator[str]:
    limit = request.query.get("limit", "none")
    if request.route == "list" and not (limit.isdecimal() and 1 <= int(limit) <= MAX_PAGE):
        yield f"a page of {limit}"
    if request.route == "scopes" and limit != "1000":
        yield f"scopes up to {limit}"
    if request.route == "scopes" and not request.query.get("prefix"):
        yield "scopes without a prefix"


def of_labels(labels: list[str]) -> Iterator[str]:
    """Breaches in the labels that narrow a read."""
    if len(labels) > MAX_LABELS:
        yield f"{len(labels)} labels, {MAX_LABELS} at most"
    matches = [LABEL.fullmatch(text) for text in labels]
    if None in matches:
        yield "a label that no event carries"
    if len({match[1] for match in matches if match}) > 1:
        yield "labels of more than one field"


def of_recall(body: Mapping[str, Any]) -> Iterator[str]:
    limits = body["budgets"]["per_layer_limits"]
    if not 1 <= limits.get("events", 0) <= MAX_PACK_EVENTS:
        yield f"a budget of {limits.get('events')} events"
    if "filters" in body:
        yield from of_labels(body["filters"]["metadata"]["labels"])
    if body.get("view") == "descend" and body["scope"] != "app:tinymemory":
        yield "descends from a scope that is not the whole memory"


def of_answer(body: Mapping[str, Any], wire: str) -> Iterator[str]:
    if body["cite_sources"] is not True or body["include_context"] is not True:
        yield "an answer without sources or context"
    if wire == "direct" and "answer_instructions" not in body:
        yield "answer_instructions left out on the direct wire"


def of_forget(body: Mapping[str, Any]) -> Iterator[str]:
    ids = body.get("selector", {}).get("memory_ids", [])
    if not ids:
        yield "empty selector"
    if len(ids) > MAX_FORGET_IDS:
        yield f"{len(ids)} ids, {MAX_FORGET_IDS} at most"
    if "confirm_all" in body:
        yield "confirm_all"
    if body["layers"] != ["events"]:
        yield f"layers {body['layers']}"
    if body.get("audit_note") != "tinymemory: forget":
        yield f"audit note {body.get('audit_note')!r}"


def of_bulk(body: Mapping[str, Any]) -> Iterator[str]:
    items = body["items"]
    if len(items) < 2:
        yield f"a bulk of {len(items)}"
    if len({(item["scope"], *item["context"]["labels"][:1]) for item in items}) > 1:
        yield "a bulk of more than one item"


def of_event(body: Mapping[str, Any]) -> Iterator[str]:
    """Breaches in one event that is to be stored: its key, envelope, labels, scope and role."""
    if KEY.fullmatch(body["idempotency_key"]) is None:
        yield f"idempotency key {body['idempotency_key']!r}"
    try:
        envelope = json.loads(body["content"]["text"])
    except ValueError:
        envelope = None
    if not _is_envelope(envelope):
        yield "text that is no envelope"
        return
    yield from _of_envelope(envelope)
    yield from _of_place(envelope, body)
    given = body["context"]["labels"]
    expected = labels_of(envelope)
    if given[:1] != expected[:1] or sorted(given) != sorted(expected):
        yield f"labels {given}, not {expected}"


def _is_envelope(found: Any) -> bool:
    if not isinstance(found, dict) or found.get("kind") not in KINDS:
        return False
    meta = found.get("meta")
    inner = (meta, meta.get("source") if isinstance(meta, dict) else None, found.get("turn", {}))
    return all(isinstance(part, dict) for part in inner)


def _of_envelope(envelope: Mapping[str, Any]) -> Iterator[str]:
    yield from _of_order(envelope, ENVELOPE_KEYS, "envelope")
    if envelope.get("v") != 2:
        yield f"envelope version {envelope.get('v')!r}"
    if re.fullmatch(r"[0-9a-f]{40}", str(envelope.get("id"))) is None:
        yield f"envelope id {envelope.get('id')!r}"
    if ("turn" in envelope) != (envelope["kind"] == "conversation"):
        yield "a turn where none belongs, or none where one does"
    if "turn" in envelope:
        yield from _of_order(envelope["turn"], TURN_KEYS, "turn")


def _of_order(found: Mapping[str, Any], known: tuple[str, ...], name: str) -> Iterator[str]:
    if list(found) != [key for key in known if key in found]:
        yield f"{name} keys {list(found)}"
    yield from (f"{name} with a null {key}" for key, value in found.items() if value is None)


def _of_place(envelope: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[str]:
    modality, leaf = KINDS[envelope["kind"]]
    meta, turn = envelope.get("meta", {}), envelope.get("turn", {})
    node = meta.get("namespace")
    scope = "/".join(["app:tinymemory", *([node] if node else []), f"app:{leaf}"])
    wanted = {
        "scope": (body["scope"], scope),
        "modality": (body["modality"], modality),
        "role": (body["content"]["role"], turn.get("role", "user")),
        "observed_at": (
            body["context"].get("observed_at"),
            turn.get("at", meta.get("observed_at")),
        ),
    }
    for name, (given, expected) in wanted.items():
        if given != expected:
            yield f"{name} {given!r}, not {expected!r}"


def labels_of(envelope: Mapping[str, Any]) -> list[str]:
    """The labels of an envelope's event, its item's first."""
    meta = envelope.get("meta", {})
    source = meta.get("source", {})
    values = {
        "i": envelope.get("id"),
        "t": meta.get("thread_id"),
        "s": source.get("id"),
        "r": meta.get("repo"),
        "w": meta.get("workspace"),
        "a": meta.get("agent_id"),
        "l": meta.get("language"),
        "k": source.get("kind"),
    }
    return [label(tag, value) for tag, value in values.items() if value is not None]
