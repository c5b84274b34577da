"""One source as the daemon sees it: what is pending, its watch, and how long to leave it alone."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from syncd.daemon.hints import Due, Hint, Kind, Pending
from syncd.daemon.watch import Watch
from syncd.sources.source import Source
from syncd.sync.passes import Scope, covered
from syncd.sync.plan import Hold

# How often a source is scanned that the kernel will not watch whole.
POLL_SECONDS = 30.0


class WatchableSource(Source, Protocol):
    """A source whose changes show as events below its root."""

    def key(self, os_path: str) -> str | None:
        """The key of an absolute OS path, None when it lies outside."""

    def is_pruned(self, os_dir: str) -> bool:
        """Whether a directory is never looked into, so that it needs no watch."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A source to be kept in memory; `rescan` is in seconds."""

    source: WatchableSource
    hold: Hold
    rescan: float


@dataclass(slots=True)
class Patience:
    """Growing, jittered pauses between attempts, in seconds; success makes them short again."""

    longest: float
    pause: float = 1.0

    def next(self) -> float:
        pause, self.pause = self.pause, min(2 * self.pause, self.longest)
        return pause * random.uniform(0.75, 1.25)

    def reset(self) -> None:
        self.pause = 1.0


@dataclass(slots=True)
class Desk:
    """What is to be done for one source. `on_hint` is called from the watch's thread."""

    watched: Watched
    on_hint: Callable[[Desk, Hint], None]
    pending: Pending = field(default_factory=Pending)
    patience: Patience = field(default_factory=lambda: Patience(30.0))
    not_before: float = 0.0
    poll_at: float | None = None
    owed: frozenset[str] = frozenset()
    watch: Watch | None = None
    fresh: bool = False

    @property
    def source(self) -> WatchableSource:
        return self.watched.source

    @property
    def degraded(self) -> str | None:
        """Why the watch does not see everything, or None when it does."""
        if self.watch is None:
            return None
        if self.watch.alive and not self.watch.unwatched:
            return None
        return self.watch.reason or "changes cannot be watched"

    def scan_later(self, now: float) -> None:
        """Let everything be looked at when the desk is next attended."""
        self.pending.add(Hint(Kind.LOST, self.source.root), now)

    def due_at(self) -> float | None:
        """When there is something to do, None when nothing is pending."""
        times = [t for t in (self.pending.next_due(), self.poll_at) if t is not None]
        return max(min(times), self.not_before) if times else None

    def take(self, now: float) -> Scope | None:
        """What falls due by `now`, None when nothing does."""
        at = self.due_at()
        if at is None or at > now:
            return None
        if self.poll_at is not None and self.poll_at <= now:
            self.poll_at = None
            self.scan_later(now)
        due = self.pending.due(now)
        if due is None:
            return None
        scope = scope_of(due, self.source.key)
        owed, self.owed = self.owed, frozenset()
        return Scope(scope.paths, scope.witnessed | owed)

    def give_back(self, scope: Scope, now: float, pause: float) -> None:
        """A pass failed: look at everything after `pause` seconds, with what was witnessed."""
        self.owed |= scope.witnessed
        self.not_before = now + pause
        self.scan_later(now)

    def arm(self) -> None:
        """Watch the source, or what of it is not watched. Before the scan, so no gap is left."""
        if self.watch is not None and self.watch.alive:
            if not self.fresh:
                self.watch.renew()
            self.fresh = False
            return
        self.disarm()
        self.watch = Watch(self.source.root, self.source.is_pruned, self._hear)
        self.watch.start()
        self.fresh = True

    def disarm(self) -> None:
        if self.watch is not None:
            self.watch.stop()
            self.watch = None

    def poll_if_degraded(self) -> None:
        """Scan by the clock as long as events do not tell everything."""
        if self.degraded is not None:
            self.poll_at = time.monotonic() + min(POLL_SECONDS, self.watched.rescan)

    def _hear(self, hint: Hint) -> None:
        self.on_hint(self, hint)


def scope_of(due: Due, key: Callable[[str], str | None]) -> Scope:
    """The scope of a pass from the OS paths that fell due."""
    gone = frozenset(k for k in map(key, due.gone) if k)
    if due.everything:
        return Scope(witnessed=gone)
    keys = (key(path) for path in (*due.paths, *due.trees))
    paths = covered(k for k in keys if k is not None)
    return Scope(paths, gone)
