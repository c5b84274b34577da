"""Labels: digests by which the service narrows a listing (contract 3, "Labels").

They only narrow. Two values may share a label, so the full filter is always applied again.
"""

from __future__ import annotations

import hashlib

from syncd.memory import ItemKind, MemoryMeta, MetaFilter

MAX_LABELS = 50


def label(tag: str, value: str) -> str:
    """`tm:<tag>:` and the first 16 hex digits of the value's SHA-256."""
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"tm:{tag}:{digest[:16]}"


def item_label(id: str) -> str:
    return label("i", id)


def of_event(id: str, meta: MemoryMeta) -> tuple[str, ...]:
    """The labels of every event of an item, the item's own first."""
    values = {
        "i": id,
        "t": meta.thread_id,
        "s": meta.source.id,
        "r": meta.repo,
        "w": meta.workspace,
        "a": meta.agent_id,
        "l": meta.language,
        "k": meta.source.kind.value,
    }
    return tuple(label(tag, value) for tag, value in values.items() if value is not None)


def of_filter(filter: MetaFilter) -> tuple[str, ...]:
    """The labels of one field of `filter`: the first that is set, of those that have labels."""
    values = {
        "t": filter.thread_id,
        "s": filter.source_id,
        "r": filter.repo,
        "w": filter.workspace,
        "a": filter.agent_id,
        "l": filter.language,
    }
    for tag, value in values.items():
        if value is not None:
            return (label(tag, value),)
    return tuple(label("k", kind.value) for kind in dict.fromkeys(filter.sources))


def kinds_of(filter: MetaFilter) -> tuple[ItemKind, ...]:
    """The item kinds that `filter` admits, in the contract's order."""
    return tuple(kind for kind in ItemKind if not filter.kinds or kind in filter.kinds)
