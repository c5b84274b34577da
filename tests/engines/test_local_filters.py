"""SQL and MetaFilter.matches admit the same items, and selective filters use an index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from syncd.engines.local import rows, schema
from syncd.engines.local.filters import condition, probe
from syncd.memory import (
    Document,
    Instant,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
    ToolCallRef,
    TurnRange,
)

# Values that differ only by what SQL might treat specially.
_PATHS = "/a/b /a/bc /a/b/ /a/b//c /a/b/c /a/b0 /a/b. /A/b a/ a a0 a/% a/_ / // /a /a/é é/ 日本/語"
PATHS = st.sampled_from([*_PATHS.split(), "", "/a/e\u0301", "/a/b\0c", "/a/b\0/c", "\0"])
WORDS = st.sampled_from(["x", "X", "x%", "x_", "%", "_", "x'y", 'x"y', "", " ", "\0", "x\0", "é"])
NAMESPACES = st.sampled_from(
    ["", "agent:a", "agent:a-b", "agent:a/team:t", "agent:a/team:t/user:u", "agent:b", "user:a"]
).map(Namespace.parse)
TURNS = st.builds(TurnRange, st.integers(0, 2), st.just(2**32 - 1))
TIMES = st.sampled_from([Instant.MIN.ns, -1, 0, 1, 999_999_999, 10**9, Instant.MAX.ns]).map(Instant)
TAGS = st.lists(WORDS, max_size=3).map(tuple)
META_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "namespace": NAMESPACES,
    "workspace": WORDS,
    "folder": PATHS,
    "file_path": PATHS,
    "language": WORDS,
    "repo": WORDS,
    "commit": WORDS,
    "url": WORDS,
    "thread_id": WORDS,
    "turns": TURNS,
    "agent_id": WORDS,
    "tool_call": st.builds(ToolCallRef, WORDS),
    "source": st.builds(SourceRef, st.sampled_from(SourceKind), st.none() | WORDS),
    "tags": TAGS,
    "observed_at": TIMES,
}
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "reach": st.builds(Reach, NAMESPACES, st.booleans(), st.booleans()),
    "workspace": WORDS,
    "folder": PATHS,
    "file_path": PATHS,
    "language": WORDS,
    "repo": WORDS,
    "commit": WORDS,
    "url": WORDS,
    "thread_id": WORDS,
    "turns": TURNS,
    "agent_id": WORDS,
    "tool_call": WORDS,
    "source_id": WORDS,
    "kinds": st.lists(st.sampled_from(ItemKind), max_size=2).map(tuple),
    "sources": st.lists(st.sampled_from(SourceKind), max_size=5).map(tuple),
    "tags_any": TAGS,
    "observed_after": TIMES,
    "observed_before": TIMES,
}


@st.composite
def metas(draw: st.DrawFn) -> MemoryMeta:
    names = draw(st.sets(st.sampled_from(sorted(META_FIELDS)), max_size=4))
    return MemoryMeta(**{name: draw(META_FIELDS[name]) for name in sorted(names)})


@st.composite
def filters(draw: st.DrawFn) -> MetaFilter:
    """One to three set fields; more would hardly ever match anything."""
    names = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=3, unique=True))
    return MetaFilter(**{name: draw(FIELDS[name]) for name in names})


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in schema.MIGRATIONS[0]:
        connection.execute(statement)
    yield connection
    connection.close()


def fill(connection: sqlite3.Connection, metas: list[MemoryMeta]) -> None:
    connection.execute("DELETE FROM items")
    connection.execute("DELETE FROM tags")
    for seq, meta in enumerate(metas):
        row = rows.meta_row(Document("x", meta=meta))
        connection.execute(rows.INSERT_ITEM, (seq, seq.to_bytes(2, "big"), 1, *row))
        for tag in dict.fromkeys(meta.tags):
            connection.execute("INSERT INTO tags VALUES (?, ?)", (tag, seq))


def selected(connection: sqlite3.Connection, filter: MetaFilter) -> list[int]:
    where = condition(filter)
    found = connection.execute(f"SELECT seq FROM items WHERE {where.sql}", where.values)
    return sorted(row[0] for row in found)


@settings(max_examples=300, deadline=None)
@given(known=st.lists(metas(), min_size=1, max_size=5), filter=filters())
@example(
    [MemoryMeta(file_path=path) for path in ("/a/b/c", "/a/bc")], MetaFilter(file_path="/a/b/")
)
@example([MemoryMeta(folder=path) for path in ("", "/", "/a", "a")], MetaFilter(folder="/"))
def test_sql_and_matches_agree(
    connection: sqlite3.Connection, known: list[MemoryMeta], filter: MetaFilter
) -> None:
    fill(connection, known)
    expected = [n for n, meta in enumerate(known) if filter.matches(ItemKind.DOCUMENT, meta)]
    assert selected(connection, filter) == expected
    judged = probe(filter)
    found = connection.execute(f"SELECT seq FROM items WHERE {judged.sql}", judged.values)
    assert sorted(row[0] for row in found) == expected


@settings(max_examples=200, deadline=None)
@given(data=st.data(), meta=metas())
def test_a_filter_made_of_an_items_own_values_admits_it(
    connection: sqlite3.Connection, data: st.DataObject, meta: MemoryMeta
) -> None:
    own = {
        name: getattr(meta, name) for name in ("workspace", "folder", "file_path", "url", "turns")
    }
    own |= {"reach": Reach.of(meta.namespace), "source_id": meta.source.id, "tags_any": meta.tags}
    own |= {"sources": (meta.source.kind,), "observed_after": meta.observed_at}
    picked = data.draw(st.sets(st.sampled_from(sorted(own))))
    fill(connection, [meta])
    assert selected(connection, MetaFilter(**{name: own[name] for name in picked})) == [0]


def test_an_empty_filter_admits_everything(connection: sqlite3.Connection) -> None:
    fill(connection, [MemoryMeta(), MemoryMeta(folder="x")])
    assert selected(connection, MetaFilter()) == [0, 1]


@pytest.mark.parametrize(
    ("filter", "index"),
    [
        (MetaFilter(source_id="s", file_path="/a"), "items_path (file_path>? AND file_path<?)"),
        (MetaFilter(file_path="/a", reach=Reach()), "items_path (file_path>? AND file_path<?)"),
        (MetaFilter(source_id="s", commit="c"), "items_commit_hash (commit_hash=?)"),
        (MetaFilter(folder="/a", workspace="w"), "items_folder (folder>? AND folder<?)"),
        (MetaFilter(thread_id="t", turns=TurnRange(0, 1)), "items_thread_id (thread_id=?)"),
        (MetaFilter(url="u"), "items_url (url=?)"),
        (MetaFilter(agent_id="a"), "items_agent_id (agent_id=?)"),
        (MetaFilter(tool_call="t"), "items_tool_name (tool_name=?)"),
        (MetaFilter(repo="r"), "items_repo (repo=?)"),
        (MetaFilter(workspace="w"), "items_workspace (workspace=?)"),
        (MetaFilter(source_id="s"), "items_source (source_id=?)"),
        (MetaFilter(tags_any=("t",)), "PRIMARY KEY"),
        (MetaFilter(reach=Reach.of(Namespace.parse("agent:a"))), "items_namespace (namespace=?)"),
        (MetaFilter(observed_after=Instant(0)), "items_observed ("),
        (MetaFilter(kinds=(ItemKind.LEARNING,)), "items_kind (kind=?)"),
        (MetaFilter(sources=(SourceKind.RSS,)), "items_source_kind (source_kind=?)"),
    ],
)
def test_selective_filters_use_an_index(
    connection: sqlite3.Connection, filter: MetaFilter, index: str
) -> None:
    where = condition(filter)
    plan = connection.execute(
        f"EXPLAIN QUERY PLAN SELECT items.seq FROM items WHERE {where.sql} LIMIT 5", where.values
    ).fetchall()
    told = " | ".join(row[3] for row in plan)
    assert index in told
    assert "SCAN" not in told


def test_a_forget_by_source_and_prefix_reads_only_what_lies_below(
    connection: sqlite3.Connection,
) -> None:
    source = SourceRef(SourceKind.FOLDER, "s")
    fill(connection, [MemoryMeta(file_path=f"/d{n % 50}/{n}", source=source) for n in range(200)])
    where = condition(MetaFilter(source_id="s", file_path="/d7"))
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection.set_progress_handler(count, 1)
    found = connection.execute(f"SELECT seq FROM items WHERE {where.sql}", where.values).fetchall()
    connection.set_progress_handler(None, 1)
    assert sorted(row[0] for row in found) == [7, 57, 107, 157]
    assert steps < 200, "a look at every row would take several steps for each"
