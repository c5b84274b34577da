"""Storing and forgetting, inside a write transaction that the caller holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from syncd.engines.local.filters import Condition
from syncd.engines.local.rows import INSERT_ITEM, INSERT_TEXT, meta_row, read_tags, text_row
from syncd.engines.local.words import IndexRow, index_row
from syncd.memory import Item, StoreReceipt

_INDEX = "INSERT INTO search(rowid, title, names, body, parts) VALUES (?, ?, ?, ?, ?)"
_UNINDEX = (
    "INSERT INTO search(search, rowid, title, names, body, parts) VALUES ('delete', ?, ?, ?, ?, ?)"
)
_TEXTS = (
    "SELECT items.seq, texts.title, texts.body, items.language, texts.mime, items.tags"
    " FROM items CROSS JOIN texts ON texts.seq = items.seq"
)
_CHUNK = 250


def store(connection: sqlite3.Connection, items: Sequence[Item]) -> list[StoreReceipt]:
    """Write those of `items` that memory does not hold; a receipt for each, in order."""
    ids = [item.fingerprint() for item in items]
    known = _known(connection, ids)
    fresh: dict[str, Item] = {}
    receipts = []
    for id, item in zip(ids, items, strict=True):
        replayed = id in known or id in fresh
        if not replayed:
            fresh[id] = item
        receipts.append(StoreReceipt(id, replayed))
    if fresh:
        _insert(connection, fresh)
    return receipts


def _known(connection: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
    marks = ", ".join("?" * len(ids))
    blobs = [bytes.fromhex(id) for id in ids]
    rows = connection.execute(f"SELECT id FROM items WHERE id IN ({marks})", blobs)
    return {row[0].hex() for row in rows}


def _insert(connection: sqlite3.Connection, fresh: dict[str, Item]) -> None:
    first = next_seq(connection)
    numbered = list(enumerate(fresh.items(), first))
    texts = [(seq, text_row(item)) for seq, (_, item) in numbered]
    connection.executemany(
        INSERT_ITEM,
        (
            (seq, bytes.fromhex(id), text.size, *meta_row(item))
            for (seq, text), (id, item) in zip(texts, fresh.items(), strict=True)
        ),
    )
    connection.executemany(INSERT_TEXT, ((seq, *text) for seq, text in texts))
    connection.executemany(
        "INSERT INTO tags(tag, seq) VALUES (?, ?)",
        ((tag, seq) for seq, (_, item) in numbered for tag in dict.fromkeys(item.meta.tags)),
    )
    connection.executemany(
        _INDEX,
        (
            (seq, *index_row(text.title, text.body, item.meta.language, text.mime))
            for (seq, text), item in zip(texts, fresh.values(), strict=True)
        ),
    )


def next_seq(connection: sqlite3.Connection) -> int:
    """The number that the next item gets; numbers are never used twice, so cursors stay true."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'items'").fetchone()
    return int(row[0]) + 1 if row else 1


def forget_ids(connection: sqlite3.Connection, ids: Iterable[str]) -> int:
    """Remove the items of these ids; how many there were."""
    removed = 0
    for chunk in _chunks(dict.fromkeys(filter(None, map(blob, ids)))):
        removed += _remove(connection, "items.id", chunk)
    return removed


def blob(id: str) -> bytes | None:
    """An id as it is stored; None for what cannot be one of ours."""
    try:
        return bytes.fromhex(id) if len(id) == 40 and id == id.lower() else None
    except ValueError:
        return None


def forget_where(connection: sqlite3.Connection, where: Condition, most: int) -> int:
    """Remove at most `most` of the items that `where` admits; how many were removed."""
    found = connection.execute(
        f"SELECT items.seq FROM items WHERE {where.sql} LIMIT ?", (*where.values, most)
    ).fetchall()
    return sum(
        _remove(connection, "items.seq", chunk) for chunk in _chunks(row[0] for row in found)
    )


def _chunks(values: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(values)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


def _remove(connection: sqlite3.Connection, column: str, values: list[Any]) -> int:
    marks = ", ".join("?" * len(values))
    rows = connection.execute(f"{_TEXTS} WHERE {column} IN ({marks})", values).fetchall()
    connection.executemany(_UNINDEX, ((row[0], *index_row(*row[1:5])) for row in rows))
    connection.executemany(
        "DELETE FROM tags WHERE tag = ? AND seq = ?",
        ((tag, row[0]) for row in rows for tag in read_tags(row[5])),
    )
    seqs = [(row[0],) for row in rows]
    connection.executemany("DELETE FROM texts WHERE seq = ?", seqs)
    connection.executemany("DELETE FROM items WHERE seq = ?", seqs)
    return len(rows)


def index_anew(connection: sqlite3.Connection) -> None:
    """Build the index from the stored texts, as after a change of its rules."""
    connection.execute("INSERT INTO search(search) VALUES ('delete-all')")
    connection.executemany(_INDEX, _all_index_rows(connection))


def _all_index_rows(connection: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    last = 0
    while rows := connection.execute(
        f"{_TEXTS} WHERE items.seq > ? ORDER BY items.seq LIMIT {_CHUNK}", (last,)
    ).fetchall():
        for row in rows:
            indexed: IndexRow = index_row(*row[1:5])
            yield (row[0], *indexed)
        last = rows[-1][0]
