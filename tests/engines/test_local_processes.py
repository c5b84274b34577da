"""Readers and writers in several processes and threads share one file."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from syncd.engines.local.engine import LocalEngine
from syncd.memory import (
    ExploreRequest,
    Facet,
    FetchRequest,
    ForgetTarget,
    ListRequest,
    MetaFilter,
    StoreReceipt,
    errors,
)
from tests.engines.making import document, pages, store

SPAWN = multiprocessing.get_context("spawn")


def write_until(path: Path, stop: Event, begun: Event) -> None:
    """A writer that stores and forgets batch after batch."""
    with LocalEngine(path) as engine:
        turn = 0
        while not stop.is_set():
            store(engine, (document(f"pair {turn} {n}", f"/w/{n}.md") for n in range(20)))
            begun.set()
            engine.forget(ForgetTarget(filter=MetaFilter(folder="/w")))
            turn += 1


def store_ten(path: Path, start: int) -> None:
    with LocalEngine(path) as engine:
        for n in range(start, start + 10):
            engine.store(document(f"text {n}"))


def test_others_read_while_one_writes(path: Path) -> None:
    with LocalEngine(path) as engine:
        store(engine, (document(f"steady pair {n}", f"/s/{n}.md") for n in range(30)))
    stop, begun = SPAWN.Event(), SPAWN.Event()
    writer = SPAWN.Process(target=write_until, args=(path, stop, begun))
    writer.start()
    try:
        assert begun.wait(60)
        with LocalEngine(path, read_only=True) as reader, LocalEngine(path) as other:
            for turn in range(60):
                engine = reader if turn % 2 else other
                assert len(engine.fetch(FetchRequest("steady", limit=50)).hits) == 30
                # A batch is there whole or not at all.
                assert len(engine.fetch(FetchRequest("pair", limit=99)).hits) in (30, 50)
                listed = engine.list(ListRequest(limit=99)).items
                assert len(listed) in (30, 50)
                assert engine.explore(ExploreRequest(Facet.KIND)).total in (30, 50)
    finally:
        stop.set()
        writer.join(60)
    assert writer.exitcode == 0


def test_two_processes_may_create_and_write_at_once(path: Path) -> None:
    writers = [SPAWN.Process(target=store_ten, args=(path, start)) for start in (0, 10, 20)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with LocalEngine(path) as engine:
        assert sorted(pages(engine)) == sorted(f"text {n}" for n in range(30))


def test_a_writer_that_waits_too_long_is_told_to_try_later(path: Path) -> None:
    with LocalEngine(path, busy_seconds=0.05) as engine:
        engine.store(document("one"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.Unavailable, match="is busy: another process is writing"):
            engine.store(document("two"))
        assert pages(engine) == ["one"], "reading goes on"
        other.execute("ROLLBACK")
        other.close()
        engine.store(document("two"))
        assert pages(engine) == ["two", "one"]


def test_threads_share_one_engine(path: Path) -> None:
    with LocalEngine(path) as engine, ThreadPoolExecutor(8) as pool:
        items = [document(f"thread text {n}", f"/t/{n}.md") for n in range(120)]
        futures = [pool.submit(engine.store, item) for item in items]
        asked = [pool.submit(engine.fetch, FetchRequest("thread")) for _ in range(60)]
        receipts: list[StoreReceipt] = [future.result() for future in futures]
        assert all(len(future.result().hits) <= 10 for future in asked)
        assert [receipt.id for receipt in receipts] == [item.fingerprint() for item in items]
        assert len(pages(engine)) == 120


def test_the_same_item_stored_by_many_threads_is_stored_once(path: Path) -> None:
    with LocalEngine(path) as engine, ThreadPoolExecutor(8) as pool:
        gate = threading.Barrier(8)

        def race() -> bool:
            gate.wait(30)
            return engine.store(document("only once")).replayed

        replays = [future.result() for future in [pool.submit(race) for _ in range(8)]]
        assert sorted(replays) == [False] + [True] * 7
