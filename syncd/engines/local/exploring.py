"""Counts per value of a facet, made by SQLite over the slim metadata rows."""

from __future__ import annotations

import sqlite3

from syncd.engines.local.filters import Condition
from syncd.memory import Bucket, ExplorePage, ExploreRequest, Facet

_VALUE = {
    Facet.KIND: "items.kind",
    Facet.SOURCE: "items.source_kind",
    Facet.SOURCE_ID: "items.source_id",
    Facet.WORKSPACE: "items.workspace",
    Facet.FOLDER: "items.folder",
    Facet.FILE_PATH: "items.file_path",
    Facet.LANGUAGE: "items.language",
    Facet.REPO: "items.repo",
    Facet.URL: "items.url",
    Facet.THREAD: "items.thread_id",
    Facet.AGENT: "items.agent_id",
    Facet.TOOL_CALL: "items.tool_name",
    Facet.TAG: "tags.tag",
    Facet.NAMESPACE: "CASE items.namespace WHEN '' THEN 'root' ELSE items.namespace END",
}
# What is set in an item's row when it has a value, where that is not the value itself.
_SET = {Facet.TAG: "items.tags"}


def explore(
    connection: sqlite3.Connection, request: ExploreRequest, where: Condition
) -> ExplorePage:
    """The page of `request`; nothing is left uncounted, so that it is never truncated."""
    # From the tags to their items: tags have no index in the other direction.
    tagged = "tags CROSS JOIN" if request.facet is Facet.TAG else ""
    joined = "ON items.seq = tags.seq" if request.facet is Facet.TAG else ""
    # BINARY order of UTF-8 is the order of code points, which is Python's.
    rows = connection.execute(
        f"WITH counted AS MATERIALIZED (SELECT {_VALUE[request.facet]} AS value, count(*) AS n"
        f" FROM {tagged} items {joined} WHERE {where.sql} GROUP BY 1 HAVING value IS NOT NULL)"
        " SELECT value, n, (SELECT count(*) FROM counted)"
        " FROM counted ORDER BY n DESC, value LIMIT ?",
        (*where.values, request.limit),
    ).fetchall()
    buckets = tuple(Bucket(value, n) for value, n, _ in rows)
    distinct = rows[0][2] if rows else 0
    total, missing = _totals(connection, _SET.get(request.facet, _VALUE[request.facet]), where)
    return ExplorePage(request.facet, buckets, total, missing, distinct - len(buckets), False)


def _totals(connection: sqlite3.Connection, value: str, where: Condition) -> tuple[int, int]:
    """How many items there are, and how many of them without a value."""
    total, having = connection.execute(
        f"SELECT count(*), count({value}) FROM items WHERE {where.sql}", where.values
    ).fetchone()
    return total, total - having
