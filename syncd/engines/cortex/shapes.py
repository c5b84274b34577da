"""Bodies and queries of both wires, and what their answers say (contract 3). Pure.

What an answer must have and has not is `Garbled`; what someone else wrote into it is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from syncd.engines.cortex.events import Answer, Ask, Pack, Page, Raw
from syncd.engines.cortex.failures import Garbled
from syncd.engines.cortex.labels import MAX_LABELS
from syncd.memory.errors import Engine
from syncd.memory.wire import is_blank

PAGE = 200
_SCOPES = 1000
_DERIVED = ("facts", "beliefs", "episodes", "understanding")

Query = tuple[tuple[str, str], ...]


def list_query(scope: str, labels: Sequence[str], cursor: str | None) -> Query:
    """`labels` are given once, separated by commas: the service takes no more than 50."""
    assert len(labels) <= MAX_LABELS
    query = [("scope", scope), ("limit", str(PAGE))]
    if labels:
        query.append(("labels", ",".join(labels)))
    if cursor is not None:
        query.append(("cursor", cursor))
    return tuple(query)


def page(data: Any, asked: str | None) -> Page:
    """A page of a listing; Engine when it leads back to the cursor `asked`."""
    items = _object(data, "a listing").get("items")
    if not isinstance(items, list):
        raise Garbled("a listing came without items")
    cursor = data.get("next_cursor") if data.get("has_more") is True else None
    cursor = None if cursor is None or cursor == "" else _text(cursor)
    if cursor is not None and cursor == asked:
        raise Engine("a listing leads back to its own cursor")
    return Page(tuple(_listed(item) for item in items), cursor)


def _listed(item: Any) -> Raw:
    if not isinstance(item, Mapping):
        return Raw(None, None)
    content = item.get("content")
    text = content.get("text") if isinstance(content, Mapping) else None
    return Raw(_text(item.get("id")), _text(text))


def budgets(events: int, derived: int = 0) -> dict[str, int]:
    """Entries of each layer: `derived` ones are shared out, the first layers getting the rest."""
    if not derived:
        return {"events": events}
    share, rest = divmod(derived, len(_DERIVED))
    return {
        "events": events,
        **{layer: share + (number < rest) for number, layer in enumerate(_DERIVED)},
    }


def recall_body(ask: Ask) -> dict[str, Any]:
    body: dict[str, Any] = {
        "scope": ask.scope,
        "query": ask.query,
        "budgets": {"per_layer_limits": ask.budgets},
    }
    if ask.labels:
        body["filters"] = {"metadata": {"labels": list(ask.labels)}}
    if ask.descend:
        body["view"] = "descend"
    return body


def pack(data: Any) -> Pack:
    layers = _object(data, "a recall").get("layers")
    found = layers.get("events") if isinstance(layers, Mapping) else None
    events = found if isinstance(found, list) else []
    return Pack(_text(data.get("pack_id")), tuple(map(_recalled, events)))


def _recalled(item: Any) -> Raw:
    """An event of a pack: recall renders events in its own way, so the text may lie elsewhere."""
    if isinstance(item, str):
        return Raw(None, _text(item))
    if not isinstance(item, Mapping):
        return Raw(None, None)
    content = item.get("content")
    inner = content.get("text") if isinstance(content, Mapping) else content
    texts = (inner, item.get("text"), item.get("rendered"), item.get("summary"))
    text = next((value for value in texts if isinstance(value, str)), None)
    id = next((item[n] for n in ("id", "event_id", "memory_id") if _text(item.get(n))), None)
    return Raw(id, _text(text))


def answer_body(scope: str, question: str, pack_id: str) -> dict[str, Any]:
    """The question to the answer route; each wire says in its own way what it is told besides."""
    return {
        "scope": scope,
        "question": question,
        "use_pack_id": pack_id,
        "cite_sources": True,
        "include_context": True,
    }


def answer(data: Any) -> Answer:
    said = _text(_object(data, "an answer").get("answer"))
    if said is None or is_blank(said):
        raise Engine("the answer route answered without an answer")
    about = data.get("diagnostics")
    return Answer(said, _text(about.get("answer_model")) if isinstance(about, Mapping) else None)


def forget_body(scope: str, ids: Sequence[str]) -> dict[str, Any]:
    """Names what is removed: an empty selector would mean the whole scope."""
    if not ids:
        raise ValueError("a forget names at least one event")
    return {
        "scope": scope,
        "layers": ["events"],
        "selector": {"memory_ids": list(ids)},
        "audit_note": "tinymemory: forget",
    }


def event_id(data: Any) -> str:
    """The id of an event that was accepted."""
    id = _text(data.get("event_id")) if isinstance(data, Mapping) else None
    if not id:
        raise Garbled("an event was accepted without an id")
    return id


def event_ids(data: Any, count: int) -> list[str]:
    """The ids of `count` events that were accepted together."""
    results = data.get("results") if isinstance(data, Mapping) else None
    if not isinstance(results, list) or len(results) != count:
        raise Garbled(f"{count} events were accepted without an id each")
    return [event_id(result) for result in results]


def scopes_query(prefix: str, limit: int = _SCOPES) -> Query:
    return (("prefix", prefix), ("limit", str(limit)))


def scopes(data: Any) -> list[str]:
    """The paths of a scopes answer, whose entries are strings or objects with a path."""
    answer = _object(data, "a list of scopes")
    entries = answer.get("items", answer.get("scopes"))
    if not isinstance(entries, list):
        raise Garbled("a list of scopes came without any")
    paths = [entry.get("path") if isinstance(entry, Mapping) else entry for entry in entries]
    return [path for path in paths if isinstance(path, str)]


def _object(data: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise Garbled(f"{what} is no object")
    return data


def _text(value: Any) -> str | None:
    """`value` where it is a text that can be sent back; lone surrogates cannot."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value
