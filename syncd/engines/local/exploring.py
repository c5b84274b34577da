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


def explore(
    connection: sqlite3.Connection, request: ExploreRequest, where: Condition
) -> ExplorePage:
    """The page of `request`; nothing is left uncounted, so that it is never truncated."""
    tagged = "LEFT JOIN tags ON tags.seq = items.seq" if request.facet is Facet.TAG else ""
    # BINARY order of UTF-8 is the order of code points, which is Python's.
    rows = connection.execute(
        f"WITH counted AS MATERIALIZED (SELECT {_VALUE[request.facet]} AS value, count(*) AS n"
        f" FROM items {tagged} WHERE {where.sql} GROUP BY 1)"
        " SELECT value, n, (SELECT count(*) FROM counted WHERE value IS NOT NULL),"
        " (SELECT n FROM counted WHERE value IS NULL)"
        " FROM counted ORDER BY value IS NULL, n DESC, value LIMIT ?",
        (*where.values, request.limit),
    ).fetchall()
    buckets = tuple(Bucket(value, n) for value, n, *_ in rows if value is not None)
    distinct, missing = (rows[0][2], rows[0][3] or 0) if rows else (0, 0)
    total = _total(connection, where)
    return ExplorePage(request.facet, buckets, total, missing, distinct - len(buckets), False)


def _total(connection: sqlite3.Connection, where: Condition) -> int:
    row = connection.execute(f"SELECT count(*) FROM items WHERE {where.sql}", where.values)
    return int(row.fetchone()[0])
