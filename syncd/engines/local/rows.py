"""Items as rows and rows as items; each text is stored once, and everything can be rebuilt.

A body is always the text that is read back (without a document's title), so that a search in
the file and a search through the engine see the same words.
"""

from __future__ import annotations

import functools
import json
from typing import Any, NamedTuple

from syncd.engines.local.faults import Damage
from syncd.engines.local.schema import META_COLUMNS
from syncd.memory import (
    Conversation,
    Document,
    Hit,
    Instant,
    Item,
    ItemKind,
    Learning,
    LearningKind,
    MemoryMeta,
    Namespace,
    SourceKind,
    SourceRef,
    ToolCallRef,
    Turn,
    TurnRange,
)
from syncd.memory.errors import MemoryError
from syncd.memory.wire import compact, is_blank

_SECOND = 1_000_000_000

META_SELECT = ", ".join(f"items.{name}" for name in META_COLUMNS)
HIT_SELECT = f"items.id, {META_SELECT}, texts.title, texts.extra, texts.body"
HIT_FROM = "items CROSS JOIN texts ON texts.seq = items.seq"
INSERT_ITEM = (
    f"INSERT INTO items(seq, id, size, {', '.join(META_COLUMNS)})"
    f" VALUES ({', '.join('?' * (len(META_COLUMNS) + 3))})"
)
INSERT_TEXT = "INSERT INTO texts(seq, title, mime, extra, body) VALUES (?, ?, ?, ?, ?)"


class Text(NamedTuple):
    """The part of an item that is not metadata, as the table `texts` holds it."""

    title: str | None
    mime: str | None
    extra: str | None
    body: str

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return len(self.body) if self.body.isascii() else len(self.body.encode())


def meta_row(item: Item) -> tuple[Any, ...]:
    """The metadata in the order of META_COLUMNS."""
    meta = item.meta
    turns = (meta.turns.first, meta.turns.last) if meta.turns else (None, None)
    tool = (meta.tool_call.name, meta.tool_call.id) if meta.tool_call else (None, None)
    seen = divmod(meta.observed_at.ns, _SECOND) if meta.observed_at else (None, None)
    return (
        item.kind.value,
        meta.namespace.path,
        meta.workspace,
        meta.folder,
        meta.file_path,
        meta.language,
        meta.repo,
        meta.commit,
        meta.url,
        meta.thread_id,
        *turns,
        meta.agent_id,
        *tool,
        meta.source.kind.value,
        meta.source.id,
        *seen,
        _tags(meta.tags) if meta.tags else None,
    )


@functools.lru_cache(maxsize=256)
def _tags(tags: tuple[str, ...]) -> str:
    return compact(list(tags))


def text_row(item: Item) -> Text:
    """What the table `texts` holds of `item`."""
    if isinstance(item, Document):
        return Text(item.title, item.mime, None, item.text)
    if isinstance(item, Conversation):
        return Text(
            None, None, compact([_turn_row(turn) for turn in item.turns]), item.render_text()
        )
    extra = [item.learning_kind.value, item.confidence, item.evidence]
    return Text(None, None, compact(extra), item.text)


def _turn_row(turn: Turn) -> list[Any]:
    calls = [[call.name, call.id] for call in turn.tool_calls]
    at = str(turn.at) if turn.at is not None else None
    return [turn.role.value, len(turn.text), len(turn.render()), at, calls]


def read_meta(row: tuple[Any, ...]) -> tuple[ItemKind, MemoryMeta]:
    """Kind and metadata of a row that was selected with META_SELECT."""
    kind, namespace, workspace, folder, path, language, repo, commit, url, thread = row[:10]
    first, last, agent, tool, tool_id, source, source_id, seconds, ns, tags = row[10:]
    return ItemKind(kind), MemoryMeta(
        Namespace.parse(namespace),
        workspace,
        folder,
        path,
        language,
        repo,
        commit,
        url,
        thread,
        TurnRange(first, last) if first is not None else None,
        agent,
        ToolCallRef(tool, tool_id) if tool is not None else None,
        SourceRef(SourceKind(source), source_id),
        tuple(read_tags(tags)),
        Instant(seconds * _SECOND + ns) if seconds is not None else None,
    )


def read_hit(row: tuple[Any, ...]) -> Hit:
    """The hit of a row that was selected with HIT_SELECT; Damage when it makes no sense."""
    title, extra, body = row[-3:]
    try:
        kind, meta = read_meta(row[1:-3])
        confidence = json.loads(extra)[1] if kind is ItemKind.LEARNING else None
        return Hit(row[0].hex(), kind, rendered(title, body), meta, confidence=confidence)
    except (ValueError, TypeError, LookupError, AttributeError, MemoryError) as error:
        raise Damage(f"an item cannot be read back: {error}") from error


def read_tags(text: str | None) -> list[str]:
    """The tags of a row; Damage when they cannot be read."""
    try:
        return list(json.loads(text)) if text is not None else []
    except (ValueError, TypeError) as error:
        raise Damage(f"tags cannot be read back: {error}") from error


def rendered(title: str | None, body: str) -> str:
    """The text that is read back, as `render_text` of the contract makes it."""
    return body if title is None or is_blank(title) else f"# {title}\n\n{body}"


def read_item(meta: tuple[Any, ...], text: Text) -> Item:
    """The whole item, equal to the one that was stored."""
    kind, known = read_meta(meta)
    if kind is ItemKind.DOCUMENT:
        return Document(text.body, text.title, text.mime, known)
    extra = json.loads(text.extra or "null")
    if kind is ItemKind.LEARNING:
        return Learning(text.body, LearningKind(extra[0]), extra[1], extra[2], known)
    return Conversation(tuple(_read_turns(extra, text.body)), known)


def _read_turns(rows: list[list[Any]], body: str) -> list[Turn]:
    turns, start = [], 0
    for role, length, rendered_length, at, calls in rows:
        text = body[start + len(role) + 2 :][:length]
        named = tuple(ToolCallRef(name, id) for name, id in calls)
        turns.append(Turn(role, text, Instant.parse(at) if at else None, named))
        start += rendered_length + 1
    return turns
