"""Whatever happens to the file, the engine says it in one sentence and raises only its errors."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from syncd.engines.local import engine as engine_module
from syncd.engines.local import schema
from syncd.engines.local.engine import LocalEngine
from syncd.memory import (
    ExploreRequest,
    Facet,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    ListRequest,
    MetaFilter,
    RecallRequest,
    errors,
)
from tests.engines.making import document, pages, store, titles

as_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")

CALLS: dict[str, Callable[[LocalEngine], object]] = {
    "store": lambda e: e.store(document("something new")),
    "list": lambda e: e.list(ListRequest(limit=1000)),
    "fetch": lambda e: e.fetch(FetchRequest("text word", limit=1000)),
    "fetch literally": lambda e: e.fetch(FetchRequest("te*xt", limit=1000)),
    "recall": lambda e: e.recall(RecallRequest("text?")),
    "get": lambda e: e.get(GetRequest((document("text 1", "/a/1.md").fingerprint(),))),
    "explore": lambda e: e.explore(ExploreRequest(Facet.TAG)),
    "forget": lambda e: e.forget(ForgetTarget(filter=MetaFilter(source_id="notes"))),
}


def fill(path: Path, count: int = 300) -> None:
    with LocalEngine(path) as engine:
        store(engine, (document(f"text {n}", f"/a/{n}.md", tags=("t",)) for n in range(count)))


def says_the_way_out(reason: str | None, path: Path) -> bool:
    return reason is not None and all(
        part in reason for part in (str(path), "is damaged", "move it away and sync again")
    )


def test_an_empty_file_is_a_new_memory(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with LocalEngine(path) as engine:
        assert engine.health().state == "ok"
        engine.store(document("x"))
        assert pages(engine) == ["x"]


@pytest.mark.parametrize("content", [b"just a text\n" * 500, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_file_that_is_no_database_is_named_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with LocalEngine(path) as engine:
        health = engine.health()
        assert not health.is_serving()
        assert says_the_way_out(health.reason, path)
        for call in CALLS.values():
            with pytest.raises(errors.Engine, match="is damaged"):
                call(engine)
    assert path.read_bytes() == content


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_at_the_path_is_a_fault_of_the_configuration(path: Path, read_only: bool) -> None:
    path.mkdir(parents=True)
    with LocalEngine(path, read_only=read_only) as engine:
        with pytest.raises(errors.Config, match=r"is a folder, not a memory file; name another"):
            pages(engine)
        assert not engine.health().is_serving()


def test_a_pipe_at_the_path_is_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    with LocalEngine(path) as engine, pytest.raises(errors.Config, match="is a special file"):
        pages(engine)


def test_a_database_of_another_program_is_never_written(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE precious (x)")
    other.close()
    before = path.read_bytes()
    with LocalEngine(path) as engine:
        with pytest.raises(errors.Config, match="a database of another program"):
            engine.store(document("x"))
        assert not engine.health().is_serving()
    assert path.read_bytes() == before


def test_a_memory_of_a_newer_version_is_left_alone(path: Path) -> None:
    fill(path, 1)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    for read_only in (False, True):
        with LocalEngine(path, read_only=read_only) as engine:
            with pytest.raises(errors.Config, match=r"newer syncd \(schema 99, this one reads"):
                pages(engine)
            assert "newer syncd" in (engine.health().reason or "")


def test_a_reader_does_not_guess_at_an_older_version(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, 1)
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with (
        LocalEngine(path, read_only=True) as engine,
        pytest.raises(errors.Unavailable, match="older syncd; a sync renews it"),
    ):
        pages(engine)


def only_contract_errors(path: Path) -> list[str]:
    """Makes every call on a copy of the file, and returns what they raised."""
    raised = []
    for name, call in CALLS.items():
        copy = path.with_name(f"{name}.db")
        shutil.copyfile(path, copy)
        with LocalEngine(copy) as engine:
            engine.health()
            try:
                call(engine)
            except errors.MemoryError as error:
                raised.append(error.message)
    return raised


@pytest.mark.parametrize("keep", [0.9, 0.5, 0.1])
def test_a_truncated_file(path: Path, keep: float) -> None:
    fill(path)
    os.truncate(path, int(path.stat().st_size * keep))
    raised = only_contract_errors(path)
    assert raised
    assert all("is damaged" in message for message in raised)


@pytest.mark.parametrize("seed", range(12))
def test_overwritten_pages(path: Path, seed: int) -> None:
    """Noise in a few places; a call may miss it, but may not fail in any other way."""
    fill(path, 100)
    dice = random.Random(seed)
    with path.open("r+b") as file:
        for _ in range(3 + seed):
            file.seek(dice.randrange(100, path.stat().st_size))
            file.write(dice.randbytes(dice.choice((1, 50, 4000))))
    assert all("is damaged" in message for message in only_contract_errors(path))


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE items SET kind = 'nonsense'",
        "UPDATE items SET namespace = 'nowhere'",
        "UPDATE items SET tags = '[unfinished'",
        "UPDATE items SET observed_s = 1e30, observed_ns = 0",
        "UPDATE texts SET body = CAST(x'ff' AS TEXT)",
    ],
)
def test_a_row_that_makes_no_sense(path: Path, spoil: str) -> None:
    fill(path, 3)
    with sqlite3.connect(path) as connection:
        connection.execute(spoil)
    connection.close()
    with LocalEngine(path) as engine, pytest.raises(errors.Engine, match="is damaged"):
        pages(engine)


def test_a_damaged_file_moved_away_is_replaced_without_a_restart(path: Path) -> None:
    fill(path, 1)
    with LocalEngine(path) as engine:
        assert len(pages(engine)) == 1
        path.rename(path.with_suffix(".old"))
        assert pages(engine) == []
        engine.store(document("anew"))
        assert pages(engine) == ["anew"]


def test_a_read_only_engine_creates_nothing(path: Path) -> None:
    with LocalEngine(path, read_only=True) as engine:
        with pytest.raises(errors.Unavailable, match=r"nothing is in memory yet: there is no file"):
            pages(engine)
        assert not engine.health().is_serving()
        assert not path.parent.exists()
        fill(path, 2)
        assert len(pages(engine)) == 2
        for call in ("store", "forget"):
            with pytest.raises(errors.Unavailable, match="for reading only"):
                CALLS[call](engine)


def test_a_read_only_engine_finds_an_empty_file_empty(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with (
        LocalEngine(path, read_only=True) as engine,
        pytest.raises(errors.Unavailable, match="nothing is in memory yet"),
    ):
        pages(engine)
    assert path.stat().st_size == 0


@as_user
def test_a_write_protected_file_is_unavailable_and_still_read(path: Path) -> None:
    fill(path, 1)
    path.chmod(0o400)
    with LocalEngine(path) as engine, pytest.raises(errors.Unavailable, match=r"read-only|denied"):
        engine.store(document("x"))
    with LocalEngine(path, read_only=True) as engine:
        assert len(pages(engine)) == 1


@as_user
@pytest.mark.parametrize("read_only", [False, True])
def test_an_unreadable_folder_is_unavailable(path: Path, read_only: bool) -> None:
    path.parent.mkdir(mode=0)
    try:
        with LocalEngine(path, read_only=read_only) as engine, pytest.raises(errors.Unavailable):
            pages(engine)
    finally:
        path.parent.chmod(0o700)


def test_a_place_below_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        LocalEngine(tmp_path / "file" / "memory.db") as engine,
        pytest.raises(errors.Unavailable, match="cannot be made"),
    ):
        pages(engine)


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_only_the_owner_may_read_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "deep" / "er" / "memory.db"
    before = os.umask(mask)
    try:
        with LocalEngine(path) as engine:
            engine.store(document("x"))
            files = sorted(path.parent.iterdir())
            assert [file.name for file in files] == ["memory.db", "memory.db-shm", "memory.db-wal"]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    finally:
        os.umask(before)
    folders = (path.parent, path.parent.parent)
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_a_file_that_others_could_read_is_tightened(path: Path) -> None:
    fill(path, 1)
    path.chmod(0o644)
    with LocalEngine(path) as engine:
        pages(engine)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_closed_engine_is_not_used_again(path: Path) -> None:
    engine = LocalEngine(path)
    engine.close()
    engine.close()
    with pytest.raises(errors.Unavailable, match="was closed"):
        pages(engine)
    assert not engine.health().is_serving()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def until_it_is_full(engine: LocalEngine) -> tuple[int, str]:
    """How many items could be stored, and what the engine said then."""
    for n in range(5000):
        try:
            engine.store(document(f"{n} " + random.Random(n).randbytes(4000).hex()))
        except errors.Unavailable as error:
            return n, error.message
    raise AssertionError("the disk never filled")


def fill_the_disk(filler: Path) -> None:
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


@as_root
def test_a_full_disk_is_unavailable_and_loses_nothing(small_disk: Path) -> None:
    with LocalEngine(small_disk / "memory.db") as engine:
        stored, reason = until_it_is_full(engine)
        assert stored > 10
        assert "the disk is full" in reason
        assert len(pages(engine)) == stored
        assert engine.health().is_serving()
    fill_the_disk(small_disk / "filler")
    with LocalEngine(small_disk / "memory.db", read_only=True) as engine:
        assert len(pages(engine)) == stored


@as_root
def test_no_room_for_a_new_file_is_unavailable(small_disk: Path) -> None:
    filler = small_disk / "filler"
    fill_the_disk(filler)
    with LocalEngine(small_disk / "memory.db") as engine:
        with pytest.raises(errors.Unavailable, match="the disk is full"):
            engine.store(document("x"))
        assert not engine.health().is_serving()
        filler.unlink()
        engine.store(document("x"))
        assert pages(engine) == ["x"]


def test_an_index_of_another_version_is_renewed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, 600)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO search(search) VALUES ('delete-all')")
        connection.execute("UPDATE facts SET value = 0 WHERE name = 'index_version'")
    connection.close()
    with LocalEngine(path, read_only=True) as engine:
        health = engine.health()
        assert (health.state, health.is_serving()) == ("degraded", True)
        assert "search index" in (health.reason or "")
        assert titles(engine, "text") == []
    with LocalEngine(path) as engine:
        assert engine.health().state == "ok"
        assert len(titles(engine, "text", limit=1000)) == 600
    monkeypatch.setattr(engine_module.writing, "index_anew", lambda _: pytest.fail("again"))
    with LocalEngine(path) as engine:
        assert engine.health().state == "ok"
