"""Counts made by SQLite equal those that the contract's default makes by listing."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from syncd.engines.local.engine import LocalEngine
from syncd.engines.local.exploring import explore
from syncd.engines.local.filters import condition
from syncd.memory import (
    Conversation,
    ExploreRequest,
    Facet,
    Learning,
    LearningKind,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Role,
    SourceKind,
    SourceRef,
    ToolCallRef,
    Turn,
    errors,
)
from tests.engines.making import document, store

# In this order a byte-wise, a Unicode and a locale-aware comparison all differ.
WORDS = ("b", "B", "a", "é", "z", "\U0001f389", "\uffff", "")


def meta(n: int) -> dict[str, Any]:
    """Metadata in which each field is unset now and then, and values tie."""
    word = WORDS[n % len(WORDS)]
    fields = ("workspace", "language", "repo", "url", "thread_id", "agent_id")
    some = {name: word for at, name in enumerate(fields) if (n + at) % 3}
    kind = tuple(SourceKind)[n % len(SourceKind)]
    return {
        **some,
        "source": SourceRef(kind, word if n % 2 else None),
        "tags": WORDS[: n % 4] * 2,
        "tool_call": ToolCallRef(word) if n % 5 else None,
        "namespace": Namespace.parse(("root", "agent:a", "team:t/agent:a")[n % 3]),
    }


@pytest.fixture
def varied(engine: LocalEngine) -> LocalEngine:
    store(engine, (document(str(n), f"/{n % 3}/{n % 9}.md", **meta(n)) for n in range(80)))
    engine.store(Learning("learnt", LearningKind.FACT, 0.5, meta=MemoryMeta()))
    engine.store(Conversation((Turn(Role.USER, "hello"),), MemoryMeta()))
    return engine


FILTERS = (MetaFilter(), MetaFilter(folder="/1"), MetaFilter(tags_any=("b",)), MetaFilter(repo="-"))


@pytest.mark.parametrize("facet", list(Facet))
def test_counts_equal_those_made_by_listing(varied: LocalEngine, facet: Facet) -> None:
    for filter in FILTERS:
        for limit in (1, 3, 500):
            request = ExploreRequest(facet, filter, limit)
            assert varied.explore(request) == MemoryEngine.explore(varied, request)


def test_all_items_are_counted_whatever_the_scan_limit(varied: LocalEngine) -> None:
    page = varied.explore(ExploreRequest(Facet.KIND, scan_limit=1))
    assert (page.total, page.truncated) == (82, False)
    assert {bucket.value: bucket.count for bucket in page.buckets}["document"] == 80


@pytest.mark.parametrize("facet", list(Facet))
def test_an_empty_memory_has_no_buckets(engine: LocalEngine, facet: Facet) -> None:
    page = engine.explore(ExploreRequest(facet))
    assert (page.buckets, page.total, page.missing, page.more_buckets) == ((), 0, 0, 0)


@pytest.mark.parametrize("limit", [0, 501])
def test_limits_are_checked(engine: LocalEngine, limit: int) -> None:
    with pytest.raises(errors.InvalidRequest):
        engine.explore(ExploreRequest(Facet.KIND, limit=limit))


def test_counting_tags_costs_no_more_than_their_number(engine: LocalEngine, path: Path) -> None:
    store(engine, (document(str(n), tags=("x", str(n % 9))) for n in range(1000)))
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.set_progress_handler(count, 10)
        page = explore(connection, ExploreRequest(Facet.TAG), condition(MetaFilter()))
    assert (page.buckets[0].count, page.total, page.missing) == (1000, 1000, 0)
    assert steps < 20_000
