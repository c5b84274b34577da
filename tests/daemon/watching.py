"""A watch over a temporary folder, and a reader of its hints that does what the daemon does."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from syncd.daemon.hints import Due, Hint, Kind, Pending
from syncd.daemon.watch import Watch
from tests.waiting import until

PRUNED = ("node_modules", ".git")


def by_name(path: str) -> bool:
    """Prune as version control directories and the like are pruned."""
    return os.path.basename(path) in PRUNED


class Watched:
    """A watch and all its hints so far."""

    def __init__(
        self,
        root: Path,
        is_pruned: Callable[[str], bool] = by_name,
        on_rules: Callable[[str], None] = lambda directory: None,
    ) -> None:
        self.root = root
        self.hints: list[Hint] = []
        self.times: dict[Hint, float] = {}
        self.blocked = threading.Event()
        self.blocked.set()
        self.watch = Watch(str(root), is_pruned, self.on_hint, on_rules)

    def on_hint(self, hint: Hint) -> None:
        self.blocked.wait()
        self.times.setdefault(hint, time.perf_counter())
        self.hints.append(hint)

    def wait(self, kind: Kind, path: Path | str) -> None:
        hint = Hint(kind, str(path))
        until(lambda: hint in self.hints, what=f"{hint} in {self.hints[-20:]}")

    def settle(self) -> list[Hint]:
        """All hints of what happened before this call: events come in order."""
        name = f"sentinel{len(self.hints)}"
        (self.root / name).write_text("")
        self.wait(Kind.SAVED, self.root / name)
        (self.root / name).unlink()
        self.wait(Kind.GONE, self.root / name)
        return [hint for hint in self.hints if "sentinel" not in hint.path]

    def forget(self) -> None:
        """Start anew: what has been hinted so far does not count."""
        self.settle()
        self.hints.clear()


@contextmanager
def watched(
    root: Path,
    is_pruned: Callable[[str], bool] = by_name,
    on_rules: Callable[[str], None] = lambda directory: None,
) -> Iterator[Watched]:
    this = Watched(root, is_pruned, on_rules)
    this.watch.start()
    try:
        assert this.watch.alive, this.watch.reason
        yield this
    finally:
        this.blocked.set()
        this.watch.stop()


class Mirror:
    """What a daemon that follows hints believes to be on disk: path -> text."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files = dict(walk(root))
        self.pending = Pending()
        self.unwitnessed: list[str] = []

    def follow(self, hints: list[Hint], now: float) -> None:
        for hint in hints:
            self.pending.add(hint, now)
        due = self.pending.due(now)
        if due is not None:
            self.look(due)

    def look(self, due: Due) -> None:
        for path in (self.root,) if due.everything else (*due.trees, *due.paths):
            there = dict(walk(path))
            below = path + "/"
            for known in [k for k in self.files if k == path or k.startswith(below)]:
                if known not in there:
                    del self.files[known]
                    if not due.witnessed(known):
                        self.unwitnessed.append(known)
            self.files.update(there)


def walk(path: str) -> Iterator[tuple[str, str]]:
    """Every regular file at or below a path with its text; what vanishes meanwhile is left out."""
    if by_name(path):
        return
    with suppress(FileNotFoundError, NotADirectoryError):
        if os.path.isfile(path):
            yield path, Path(path).read_text(encoding="utf-8")
            return
        for name in os.listdir(path):
            yield from walk(f"{path}/{name}")


def populate(root: Path, directories: int, files: int) -> None:
    """A nested tree: each directory lies in the one before, ten deep."""
    for number in range(directories):
        directory = root / str(number // 10)
        for level in range(number % 10):
            directory = directory / f"n{level}"
        directory.mkdir(parents=True, exist_ok=True)
        for file in range(files // directories):
            (directory / f"f{file}.md").write_text(f"{number} {file}")


def remove(path: Path) -> None:
    """Remove whatever lies there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
