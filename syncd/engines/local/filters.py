"""A MetaFilter as a SQL condition on `items`, admitting exactly what `MetaFilter.matches` admits.

One condition, the most selective, may use an index; the others are written so that SQLite
cannot be tempted by theirs (a unary plus). Without statistics its guess would be blind.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

from syncd.engines.local.schema import (
    UNUSUAL_KIND,
    UNUSUAL_SOURCE,
    USUAL_KINDS,
    USUAL_SOURCES,
)
from syncd.memory import Instant, MetaFilter, Namespace, Reach
from syncd.memory.filters import path_prefix


class Condition(NamedTuple):
    """A SQL condition and the values of its placeholders."""

    sql: str
    values: tuple[Any, ...] = ()


EVERYTHING = Condition("1")
_MANY = 5000

# Most selective first, as memories usually are.
_EXACT = (
    ("commit", "commit_hash"),
    ("url", "url"),
    ("thread_id", "thread_id"),
    ("tool_call", "tool_name"),
    ("agent_id", "agent_id"),
)
_BROAD = (
    ("workspace", "workspace"),
    ("repo", "repo"),
    ("source_id", "source_id"),
    ("language", "language"),
)


def condition(filter: MetaFilter) -> Condition:
    """`filter` as SQL that finds rows; only the first part keeps its index."""
    tagged = _tagged(filter.tags_any)
    parts = _parts(filter, tagged)
    if parts and tagged is not None and parts[0] is not tagged:
        parts = _parts(filter, _tagged_itself(filter.tags_any))
    return _joined(parts, "")


def selecting(connection: sqlite3.Connection, filter: MetaFilter) -> Condition:
    """`filter` as SQL for a reader who wants a few rows of many.

    A tag is looked up unless so many items have it that they are met soon enough on the way.
    """
    where = condition(filter)
    if filter.tags_any and "tags.seq FROM tags" in where.sql:
        some = f"SELECT 1 FROM tags WHERE tags.tag IN ({_marks(filter.tags_any)}) LIMIT ?"
        many = f"SELECT count(*) FROM ({some})"
        (count,) = connection.execute(many, (*filter.tags_any, _MANY)).fetchone()
        return probe(filter) if count == _MANY else where
    return where


def probe(filter: MetaFilter) -> Condition:
    """`filter` as SQL that judges a row which was found otherwise, without any index."""
    return _joined(_parts(filter, _tagged_itself(filter.tags_any)), "+")


def _joined(parts: list[Condition], first: str) -> Condition:
    if not parts:
        return EVERYTHING
    free = [part.sql.replace("%", "+" if at else first) for at, part in enumerate(parts)]
    values = tuple(value for part in parts for value in part.values)
    return Condition(" AND ".join(f"({sql})" for sql in free), values)


def _parts(filter: MetaFilter, tagged: Condition | None) -> list[Condition]:
    """The conditions, most selective first; `%` stands before each column that has an index."""
    parts = [_equal(column, getattr(filter, name)) for name, column in _EXACT]
    if filter.turns is not None:
        turns = (filter.turns.first, filter.turns.last)
        parts.append(Condition("items.turns_first = ? AND items.turns_last = ?", turns))
    # A range of turns means little outside its thread, and has no index of its own.
    parts += [_below("file_path", filter.file_path), _below("folder", filter.folder)]
    parts.append(tagged)
    parts += [_equal(column, getattr(filter, name)) for name, column in _BROAD]
    parts.append(_observed(filter.observed_after, filter.observed_before))
    parts.append(_reach(filter.reach))
    parts.append(_among("kind", filter.kinds, USUAL_KINDS, UNUSUAL_KIND))
    parts.append(_among("source_kind", filter.sources, USUAL_SOURCES, UNUSUAL_SOURCE))
    return [part for part in parts if part is not None]


def _equal(column: str, value: str | None) -> Condition | None:
    return None if value is None else Condition(f"%items.{column} = ?", (value,))


def _among(
    column: str, words: tuple[str, ...], usual: frozenset[str], unusual: str
) -> Condition | None:
    """`column` is one of `words`; where all of them are unusual, that is said for the index."""
    if not words:
        return None
    sql = f"%items.{column} IN ({_marks(words)})"
    sql += f" AND {unusual}" if usual.isdisjoint(words) else ""
    return Condition(sql, tuple(str(word) for word in words))


def _below(column: str, path: str | None) -> Condition | None:
    """`path` itself or below it: "0" is the character after "/", so the range holds all below."""
    if path is None:
        return None
    prefix = path_prefix(path)
    return Condition(
        f"%items.{column} >= ? AND %items.{column} < ?"
        f" AND (+items.{column} = ? OR +items.{column} >= ?)",
        (prefix, prefix + "0", prefix, prefix + "/"),
    )


def _tagged(tags: tuple[str, ...]) -> Condition | None:
    if not tags:
        return None
    sql = f"%items.seq IN (SELECT tags.seq FROM tags WHERE tags.tag IN ({_marks(tags)}))"
    return Condition(sql, tags)


def _tagged_itself(tags: tuple[str, ...]) -> Condition | None:
    if not tags:
        return None
    sql = f"SELECT 1 FROM tags WHERE tags.tag IN ({_marks(tags)}) AND tags.seq = items.seq"
    return Condition(f"EXISTS ({sql})", tags)


def _observed(after: Instant | None, before: Instant | None) -> Condition | None:
    if after is None and before is None:
        return None
    low = divmod((after or Instant.MIN).ns, 1_000_000_000)
    sql = "(%items.observed_s, items.observed_ns) >= (?, ?)"
    if before is None:
        return Condition(sql, low)
    high = divmod(before.ns, 1_000_000_000)
    return Condition(sql + " AND (%items.observed_s, items.observed_ns) < (?, ?)", (*low, *high))


def _reach(reach: Reach | None) -> Condition | None:
    if reach is None:
        return None
    places = [reach.at, *(reach.at.ancestors() if reach.inherit else ())]
    paths = tuple(place.path for place in places)
    sql = f"%items.namespace IN ({_marks(paths)})"
    if not reach.descendants:
        return Condition(sql, paths)
    return _with_descendants(Condition(sql.replace("%", "+"), paths), reach.at)


def _with_descendants(own: Condition, at: Namespace) -> Condition:
    if at.is_root:
        return Condition("1")
    below = f"{own.sql} OR (+items.namespace >= ? AND +items.namespace < ?)"
    return Condition(below, (*own.values, at.path + "/", at.path + "0"))


def _marks(values: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(values))
