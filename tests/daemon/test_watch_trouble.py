"""The watch in trouble: a lost root, a dead thread, an overflow, and any sequence of changes."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from pathlib import Path

import pytest

from syncd.daemon.hints import Due, Hint, Kind
from syncd.daemon.watch import Watch
from tests.daemon.watching import Mirror, by_name, populate, remove, walk, watched
from tests.waiting import until

# --- the root


def test_a_deleted_root_ends_the_watch(root: Path) -> None:
    (root / "a").write_text("a")
    with watched(root) as this:
        shutil.rmtree(root)
        this.wait(Kind.LOST, root)
        assert not this.watch.alive
        assert this.watch.reason == f"{root} was deleted"


def test_a_moved_root_ends_the_watch_and_gives_no_removal(root: Path) -> None:
    populate(root, 3, 3)
    with watched(root) as this:
        os.rename(root, root.parent / "away")
        this.wait(Kind.LOST, root)
        (root.parent / "away/later").write_text("x")
        assert not this.watch.alive
        assert this.watch.reason == f"{root} was moved away"
        assert [hint.kind for hint in this.hints] == [Kind.LOST]


def test_a_missing_root_is_a_watch_that_is_not_alive(tmp_path: Path) -> None:
    watch = Watch(str(tmp_path / "missing"), by_name, lambda hint: None)
    watch.start()
    assert not watch.alive
    assert watch.reason == f"{tmp_path / 'missing'} is not watched: no such file or directory"
    watch.stop()


def test_a_root_that_is_a_file_is_a_watch_that_is_not_alive(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    watch = Watch(str(tmp_path / "file"), by_name, lambda hint: None)
    watch.start()
    assert not watch.alive
    assert "not a directory" in (watch.reason or "")


def test_no_hint_and_no_thread_and_no_descriptor_after_stop(root: Path) -> None:
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with watched(root) as this:
            (root / "a").write_text("a")
            this.settle()
            count = len(this.hints)
        (root / "a").write_text("b")
        assert len(this.hints) == count
        assert not this.watch.alive
        assert this.watch.watched == 0
        this.watch.stop()
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_receiver_may_stop_the_watch(root: Path) -> None:
    stopped = threading.Event()

    def on_hint(hint: Hint) -> None:
        watch.stop()
        stopped.set()

    watch = Watch(str(root), by_name, on_hint)
    watch.start()
    (root / "a").write_text("a")
    assert stopped.wait(30)
    assert not watch.alive


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_dead_thread_is_noticed(root: Path) -> None:
    hints: list[Hint] = []

    def on_hint(hint: Hint) -> None:
        hints.append(hint)
        if hint.kind is not Kind.LOST:
            raise RuntimeError("broken receiver")

    watch = Watch(str(root), by_name, on_hint)
    watch.start()
    (root / "a").write_text("a")
    until(lambda: Hint(Kind.LOST, str(root)) in hints)
    until(lambda: not watch.alive)
    assert watch.reason == f"{root} is not watched any more: its watcher ended"
    watch.stop()


# --- overflow


def test_an_overflow_is_seen_and_watching_goes_on(root: Path) -> None:
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queue > 50_000:
        pytest.skip("the queue is too long to overflow it in a test")
    populate(root / "storm", 50, 50)
    with watched(root) as this:
        this.blocked.clear()
        (root / "first").write_text("")
        populate(root / "storm", 50, queue // 2)
        populate(root / "unseen", 100, 100)
        shutil.rmtree(root / "storm/1")
        this.blocked.set()
        this.wait(Kind.LOST, root)
        this.settle()
        assert this.watch.alive
        assert this.watch.watched == sum(1 for _ in os.walk(root)), "also what came unseen"
        this.forget()
        (root / "unseen/9/n0/n1/late.md").write_text("late")
        this.wait(Kind.SAVED, root / "unseen/9/n0/n1/late.md")


# --- anything


def shuffle(root: Path, chance: random.Random, steps: int) -> None:
    """Random work on a small tree: make, write, rename, remove, files and directories."""
    names = ["a", "b", "c", "node_modules"]
    for step in range(steps):
        one, other = (root.joinpath(*chance.choices(names, k=chance.randint(1, 4))) for _ in "12")
        action = chance.choice(["write", "write", "mkdir", "rename", "remove"])
        try:
            if action == "write":
                one.parent.mkdir(parents=True, exist_ok=True)
                one.write_text(f"{step}")
            elif action == "mkdir":
                one.mkdir(parents=True, exist_ok=True)
            elif action == "rename":
                other.parent.mkdir(parents=True, exist_ok=True)
                os.rename(one, other)
            else:
                remove(one)
        except (FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
        except OSError as error:
            if error.errno not in (22, 39):  # into itself, not empty
                raise


@pytest.mark.parametrize("seed", range(12))
def test_who_follows_the_hints_knows_the_disk(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    shuffle(root, chance, 100)
    with watched(root) as this:
        mirror, seen = Mirror(str(root)), 0
        worker = threading.Thread(target=shuffle, args=(root, chance, 600))
        worker.start()
        pause = threading.Event()
        while worker.is_alive():
            pause.wait(0.001)
            new = this.hints[seen:]
            seen += len(new)
            mirror.follow(new, time.monotonic())
        worker.join()
        this.settle()
        mirror.follow(this.hints[seen:], time.monotonic())
        mirror.follow([], time.monotonic() + 60)
        assert mirror.files == dict(walk(str(root)))
        # a look can outrun the event that tells of a removal, but that event comes
        gone = Due(gone=frozenset(hint.path for hint in this.hints if hint.kind is Kind.GONE))
        assert all(gone.witnessed(path) for path in mirror.unwitnessed)
        directories = [
            path for path, _, _ in os.walk(root) if "/node_modules" not in path[len(str(root)) :]
        ]
        assert this.watch.watched == len(directories)
        assert this.watch.unwatched == 0
