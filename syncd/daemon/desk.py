"""One source as the daemon sees it: what is pending, its watch, and how long to leave it alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from syncd.daemon.hints import Due, Hint, Kind, Pending
from syncd.daemon.watch import Watch
from syncd.sources import SourceUnavailable
from syncd.sources.source import WatchableSource
from syncd.sync.census import EVERY_SECONDS
from syncd.sync.plan import Hold
from syncd.sync.scope import Scope, covered

# Above this many paths one look at the whole source is cheaper than a look at each.
_MOST_OWED = 2_000


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the daemon leaves alone what failed, in seconds.

    Pauses grow from `first` to `source` or `engine`; a refused credential waits for a person, and
    `key` is how often it is looked whether there is another. `asked`: the longest that an engine
    may ask for; `recount`: how often one is counted that has to list everything for it.
    `poll`: how often a source is scanned that the kernel will not watch whole; `review`: how soon
    after a change a hold is looked at again; `back`: how soon after an event a source that was
    unavailable is; `rest`: how often one that is busy is asked whether it rests; `glance`: how
    often a pass asks whether another waits; `fetch`: how long fetching may take.
    """

    first: float = 1.0
    source: float = 30.0
    engine: float = 300.0
    refused: float = 30.0
    key: float = 2.0
    asked: float = 900.0
    recount: float = EVERY_SECONDS
    poll: float = 30.0
    review: float = 2.0
    back: float = 1.0
    rest: float = 0.25
    glance: float = 0.05
    fetch: float = 600.0


@dataclass(frozen=True, slots=True)
class Watched:
    """A source to be kept in memory; `rescan` and `refetch` are in seconds.

    `fetch`, for a source that lies elsewhere, brings its copy here up to date within so many
    seconds, unless it is told to stop; it raises SourceUnavailable.
    """

    source: WatchableSource
    hold: Hold
    rescan: float
    fetch: Callable[[float, Callable[[], bool]], bool] | None = None
    refetch: float = 300.0


@dataclass(slots=True)
class Patience:
    """Growing, jittered pauses between attempts, in seconds; success makes them short again."""

    longest: float
    first: float = 1.0
    failures: int = 0

    def next(self) -> float:
        # The exponent has a bound because it would overflow after a long outage.
        pause = min(self.first * 2.0 ** min(self.failures, 40), self.longest)
        self.failures += 1
        return pause * random.uniform(0.75, 1.25)

    def reset(self) -> None:
        self.failures = 0


class Desk:
    """What is to be done for one source. `on_hint` is called from the watch's thread."""

    def __init__(
        self, watched: Watched, on_hint: Callable[[Desk, Hint], None], pace: Pace | None = None
    ) -> None:
        self.watched = watched
        self.pace = pace or Pace()
        self.pending = Pending()
        self.patience = Patience(self.pace.source, self.pace.first)
        self.watches: list[Watch] = []
        self._unwatched: str | None = None
        self.away: str | None = None  # why what lies elsewhere could not be fetched
        self._on_hint = on_hint
        self._not_before = 0.0
        self._scan_at: float | None = None
        self._is_away = False
        self._is_fresh = False
        self._depth = 0
        self._again = Scope(())
        self._owed = Scope(())

    @property
    def source(self) -> WatchableSource:
        return self.watched.source

    @property
    def degraded(self) -> str | None:
        """Why events do not tell everything, or None when they do."""
        for watch in self.watches:
            if not watch.alive or watch.unwatched:
                return watch.reason or "changes cannot be watched"
        return self._unwatched

    # -- what is pending -----------------------------------------------------------------------

    def hear(self, hint: Hint, now: float) -> None:
        """Take in a hint. One of a source that was away says that it may be back."""
        self.pending.add(hint, now)
        if self._is_away:
            self._not_before = min(self._not_before, now + self.pace.back)

    def scan_later(self, now: float) -> None:
        """Let everything be looked at when the desk is next attended."""
        self.pending.add(Hint(Kind.LOST, self.source.root), now)

    def scan_within(self, now: float, seconds: float) -> None:
        """Let everything be looked at so many seconds from now, or sooner."""
        at = now + seconds
        self._scan_at = at if self._scan_at is None else min(self._scan_at, at)

    def due_at(self) -> float | None:
        """When there is something to do, None when nothing is pending."""
        times = [t for t in (self.pending.next_due(), self._scan_at) if t is not None]
        if self._owed.paths and not self.under_way:
            times.append(0.0)
        return max(min(times), self._not_before) if times else None

    def is_ready(self, now: float) -> bool:
        """Whether something is due that can be done now, which a whole look inside one cannot."""
        at = self.due_at()
        if at is None or at > now:
            return False
        if not self.under_way:
            return True
        next_due = self.pending.next_due()
        small = not self.pending.is_whole(self.source.root)
        return small and next_due is not None and next_due <= now

    def take(self, now: float, *, whole: bool = False) -> Scope | None:
        """What falls due by `now`, None when nothing does; or everything, when it is asked for."""
        if not (whole or self.is_ready(now)):
            return None
        if self._scan_at is not None and self._scan_at <= now and not self.under_way:
            self._scan_at = None
            whole = True
        due = self.pending.due(now, early=whole)
        scope = scope_of(due, self.source.key) if due is not None else Scope(())
        if not self.under_way:
            scope, self._owed = both(scope, self._owed), Scope(())
        if whole:
            scope = Scope(witnessed=scope.witnessed)
        return scope if scope.paths else None

    def give_back(self, scope: Scope, now: float, pause: float, *, away: bool = False) -> None:
        """A pass failed: look at everything after `pause` seconds, with what was witnessed."""
        self._owed = both(self._owed, Scope(("",), scope.witnessed))
        self._not_before = now + pause
        self._is_away = away

    # -- passes --------------------------------------------------------------------------------

    @property
    def under_way(self) -> bool:
        """Whether a pass of this source runs now."""
        return self._depth > 0

    @property
    def is_inside(self) -> bool:
        """Whether the pass that runs is one inside another of this source."""
        return self._depth > 1

    def enter(self, scope: Scope) -> None:
        """A pass begins. One inside another is repeated later: the other's listing is older."""
        if self.under_way:
            self._again = both(self._again, scope)
        self._depth += 1

    def leave(self) -> None:
        """A pass ended, one way or the other."""
        self._depth -= 1
        if not self.under_way:
            self._owed, self._again = both(self._owed, self._again), Scope(())

    def succeeded(self) -> None:
        self.patience.reset()
        self._is_away = False

    # -- the watch -----------------------------------------------------------------------------

    def arm(self) -> None:
        """Watch the source, or what of it is not watched. Before the scan, so no gap is left."""
        fresh, self._is_fresh = self._is_fresh, False
        for watch in self.watches if not fresh else ():
            watch.renew()
        # Asked again: renewing may have found another folder in the place of the one watched.
        if not self.watches or not all(watch.alive for watch in self.watches):
            self.disarm()
            self.watches = self._watches()
            for watch in self.watches:
                watch.start()
            self._is_fresh = not self.under_way

    def _watches(self) -> list[Watch]:
        source = self.source
        try:
            grounds = source.grounds()
        except SourceUnavailable as error:
            self._unwatched = error.reason
            return []
        self._unwatched = None
        return [
            Watch(ground.root, ground.is_pruned, self._hear, source.rules_changed)
            for ground in grounds
        ]

    def disarm(self) -> None:
        watches, self.watches = self.watches, []
        for watch in watches:
            watch.stop()

    def poll_if_degraded(self, now: float) -> None:
        """Scan by the clock as long as events do not tell everything."""
        if self.degraded is not None:
            self.scan_within(now, min(self.pace.poll, self.watched.rescan))

    def _hear(self, hint: Hint) -> None:
        self._on_hint(self, hint)


def both(one: Scope, other: Scope) -> Scope:
    """What covers two scopes: the whole source when that is shorter."""
    paths = covered((*one.paths, *other.paths))
    if len(paths) > _MOST_OWED:
        paths = ("",)
    return Scope(paths, one.witnessed | other.witnessed)


def scope_of(due: Due, key: Callable[[str], str | None]) -> Scope:
    """The scope of a pass from the OS paths that fell due."""
    gone = frozenset(k for k in map(key, due.gone) if k)
    if due.everything:
        return Scope(witnessed=gone)
    keys = (key(path) for path in (*due.paths, *due.trees))
    paths = covered(k for k in keys if k is not None)
    return Scope(paths, gone)
