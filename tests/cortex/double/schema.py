"""The shapes of request bodies: what the hosted wire enforces and the direct wire shrugs at.

A shape is a type, a set of words, a pattern, a one-element list (a list of that), or a dict;
a key that ends with "?" may be left out.
"""

from __future__ import annotations

import re
from typing import Any

SCOPE = re.compile(r"[a-z]+:[A-Za-z0-9_.-]+(/[a-z]+:[A-Za-z0-9_.-]+)*")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
ANY_TEXT = re.compile(r"(?s).*\S.*")

EVENT: dict[str, Any] = {
    "scope": SCOPE,
    "modality": {"document", "observation", "conversation"},
    "idempotency_key": ANY_TEXT,
    "content": {
        "kind": {"message"},
        "role": {"user", "assistant", "system", "tool"},
        "text": ANY_TEXT,
    },
    "context": {"labels": [str], "observed_at?": INSTANT},
}
LAYERS = {f"{layer}?": int for layer in ("events", "facts", "beliefs", "episodes", "understanding")}
SHAPES: dict[str, dict[str, Any]] = {
    "append": EVENT,
    "bulk": {"items": [EVENT], "ordering": {"strict_temporal"}},
    "recall": {
        "scope": SCOPE,
        "query": ANY_TEXT,
        "budgets": {"per_layer_limits": LAYERS},
        "filters?": {"metadata": {"labels": [str]}},
        "view?": {"descend"},
    },
    "answer": {
        "scope": SCOPE,
        "question": ANY_TEXT,
        "use_pack_id": ANY_TEXT,
        "cite_sources": bool,
        "include_context": bool,
        "answer_instructions?": str,
    },
    "forget": {
        "scope": SCOPE,
        "layers": [{"events", "facts", "beliefs", "episodes", "understanding"}],
        "selector?": {"memory_ids?": [str]},
        "audit_note?": str,
        "confirm_all?": bool,
    },
}


def unknown_keys(shape: Any, value: Any, at: str = "") -> list[str]:
    """Paths of keys that the shape does not list."""
    if isinstance(shape, list) and isinstance(value, list):
        return [key for item in value for key in unknown_keys(shape[0], item, at)]
    if not (isinstance(shape, dict) and isinstance(value, dict)):
        return []
    known = {key.rstrip("?"): inner for key, inner in shape.items()}
    found: list[str] = []
    for key, item in value.items():
        found += unknown_keys(known[key], item, f"{at}{key}.") if key in known else [at + key]
    return found


def mismatches(shape: Any, value: Any, at: str = "body") -> list[str]:
    """What is missing or of the wrong type, in words."""
    if isinstance(shape, dict):
        return _dict_mismatches(shape, value, at)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{at} must be a list"]
        return [word for item in value for word in mismatches(shape[0], item, at)]
    return [] if _fits(shape, value) else [f"{at} has a value that is not allowed"]


def _dict_mismatches(shape: dict[str, Any], value: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{at} must be an object"]
    found = []
    for key, inner in shape.items():
        name = key.rstrip("?")
        if name in value:
            found += mismatches(inner, value[name], f"{at}.{name}")
        elif not key.endswith("?"):
            found.append(f"{at}.{name} is missing")
    return found


def _fits(shape: Any, value: Any) -> bool:
    if isinstance(shape, set):
        return isinstance(value, str) and value in shape
    if isinstance(shape, re.Pattern):
        return isinstance(value, str) and shape.fullmatch(value) is not None
    if shape is int:  # JSON true is no number
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return isinstance(value, shape)
