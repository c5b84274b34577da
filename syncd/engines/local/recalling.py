"""A recall by quotation: the best passages under numbers that the citations share.

A quotation says what memory holds and nothing else, so `instructions` cannot steer it.
"""

from __future__ import annotations

from collections.abc import Sequence

from syncd.memory import Citation, Hit, RecallAnswer
from syncd.memory.wire import is_blank

NOTHING = "Memory holds nothing about this."


def quote(hits: Sequence[Hit]) -> RecallAnswer:
    """The answer that quotes `hits`, each with its passage."""
    if not hits:
        return RecallAnswer(NOTHING, ())
    quotes = [f"[{number}] {_place(hit)}\n{_indented(hit)}" for number, hit in enumerate(hits, 1)]
    citations = tuple(
        Citation(hit.id, hit.kind, hit.passage or hit.text, hit.meta, hit.score) for hit in hits
    )
    return RecallAnswer("\n\n".join(quotes), citations)


def _place(hit: Hit) -> str:
    meta = hit.meta
    for place in (meta.file_path, meta.url, meta.commit, meta.thread_id):
        if place is not None and not is_blank(place):
            return place
    return hit.kind.value


def _indented(hit: Hit) -> str:
    passage = hit.passage or hit.text
    return "\n".join(f"    {line}" for line in passage.splitlines())
