"""Items and questions for the tests of the local engine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from syncd.memory import (
    Document,
    FetchRequest,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    SourceKind,
    SourceRef,
)

EVERYTHING = MetaFilter()
LANGUAGES = {".py": "python", ".md": "markdown", ".js": "javascript", ".c": "c"}


def document(body: str, path: str | None = None, **meta: Any) -> Document:
    """A document as the folder source makes it, of source `notes` unless told otherwise."""
    meta.setdefault("source", SourceRef(SourceKind.FOLDER, "notes"))
    if path is None:
        return Document(body, meta=MemoryMeta(**meta))
    meta.setdefault("language", LANGUAGES.get(os.path.splitext(path)[1]))
    meta.setdefault("folder", os.path.dirname(path))
    return Document(body, title=os.path.basename(path), meta=MemoryMeta(file_path=path, **meta))


def store(engine: MemoryEngine, items: Iterable[Document]) -> None:
    batch = list(items)
    for start in range(0, len(batch), 100):
        engine.store_many(batch[start : start + 100])


def pages(engine: MemoryEngine, filter: MetaFilter = EVERYTHING, limit: int = 100) -> list[str]:
    """The texts that a listing returns over all its pages."""
    texts: list[str] = []
    cursor: str | None = None
    while True:
        page = engine.list(ListRequest(filter, limit, cursor))
        texts += [hit.text for hit in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return texts


def titles(engine: MemoryEngine, query: str, limit: int = 10, **filter: Any) -> list[str]:
    """What a fetch finds, by title, best first."""
    page = engine.fetch(FetchRequest(query, filter=MetaFilter(**filter), limit=limit))
    return [hit.text.partition("\n")[0].removeprefix("# ") for hit in page.hits]
