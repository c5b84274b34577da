"""From hints to what falls due: pure, without threads and without a clock of its own.

Invariant: no hint is lost. Every path that was added is covered by a later `Due`: by itself, by a
directory above it, or by everything; and a witnessed removal stays a witnessed removal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

EVERYTHING = ""  # the key of "the whole source" among pending paths, which are never empty

HOLD, LONGEST_HOLD = 0.25, 5.0
SETTLE, LATEST_SETTLE = 0.3, 2.0
LONGEST_TOUCHED = 10.0
GRACE = 0.6  # editors that move the old file away first are back by then
FORGET_AFTER = 30.0
# Syncthing's aggregator collapses at the same sizes
MOST_IN_DIRECTORY, MOST_IN_ALL = 128, 512
MANY_GONE = 20_000
MOST_PAST = 4_096


class Kind(Enum):
    """What a hint says about its path."""

    SAVED = "saved"  # closed after writing, or moved in: whole now
    TOUCHED = "touched"  # created, modified while open, attributes changed: may go on
    GONE = "gone"  # deleted or moved away: a witnessed removal
    TREE = "tree"  # a directory appeared, or the rules below it changed
    LOST = "lost"  # events were lost: only a scan tells


class Hint(NamedTuple):
    """One hint; `path` is an absolute OS path (surrogateescape), for LOST the root."""

    kind: Kind
    path: str


class Due(NamedTuple):
    """What is to be looked at now: single paths, whole directories, or the whole source.

    `gone` are paths (files or directories with all below them) whose removal was witnessed.
    """

    paths: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    everything: bool = False

    def witnessed(self, path: str) -> bool:
        """Whether the removal of this path, or of a directory above it, was witnessed."""
        return path in self.gone or any(parent in self.gone for parent in parents(path))


class _Mode(Enum):
    AT_ONCE = 0
    HELD = 1  # changed again right after it was handed out: until it is quiet
    SETTLING = 2  # touched, or gone and perhaps back in a moment: until it is quiet


@dataclass(slots=True)
class _Entry:
    """A pending path: when it first changed, when it falls due, removals that it stands for."""

    first: float
    mode: _Mode = _Mode.SETTLING
    due: float = 0.0
    tree: bool = False
    gone: set[str] = field(default_factory=set)
    reduce_at: int = MANY_GONE

    def mark(self, gone: set[str]) -> None:
        """Remember witnessed removals; many are reduced to the topmost, which imply the rest."""
        self.gone |= gone
        if len(self.gone) > self.reduce_at:
            self.gone = {path for path in self.gone if self.gone.isdisjoint(parents(path))}
            self.reduce_at = max(MANY_GONE, 2 * len(self.gone))


@dataclass(slots=True)
class _Past:
    """When a path was last handed out, and how long its next changes wait."""

    at: float
    hold: float = HOLD
    settle: float = SETTLE


def parents(path: str) -> Iterator[str]:
    """The directories above an absolute path, nearest first."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)
    if path.startswith("/") and path != "/":
        yield "/"


def parent_of(path: str) -> str:
    """The directory that holds this path; EVERYTHING above the top."""
    return next(parents(path), EVERYTHING)


class Pending:
    """The changes of one source that wait to be looked at. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._in_directory: Counter[str] = Counter()
        self._past: dict[str, _Past] = {}  # in the order of `at`

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, hint: Hint, now: float) -> None:
        """Take in one hint; `now` never decreases between calls."""
        key = self._key(hint)
        entry = self._entry(key, now)
        if hint.kind is Kind.GONE:
            entry.mark({hint.path})
        self._schedule(key, entry, hint.kind, now)
        if hint.kind in (Kind.TREE, Kind.LOST):
            self._swallow(key, entry, now)
        self._collapse(key, hint.kind, now)

    def is_whole(self, root: str) -> bool:
        """Whether the whole source, whose root this is, waits to be looked at."""
        return EVERYTHING in self._entries or root in self._entries

    def due(self, now: float, *, early: bool = False) -> Due | None:
        """Hand out what is due by now, or `early` all there is; None when that is nothing."""
        ready = {key: entry for key, entry in self._entries.items() if early or entry.due <= now}
        if not ready:
            return None
        for key, entry in ready.items():
            self._remove(key)
            self._remember(key, entry.mode, now)
        return Due(
            paths=tuple(key for key, entry in ready.items() if not entry.tree),
            trees=tuple(key for key, entry in ready.items() if entry.tree and key != EVERYTHING),
            gone=frozenset().union(*(entry.gone for entry in ready.values())),
            everything=EVERYTHING in ready,
        )

    def next_due(self) -> float | None:
        """The time at which `due` next has something, None when nothing is pending."""
        return min((entry.due for entry in self._entries.values()), default=None)

    def oldest(self, now: float) -> float | None:
        """The age in seconds of the oldest pending change, None when nothing is pending."""
        first = min((entry.first for entry in self._entries.values()), default=None)
        return None if first is None else now - first

    def _key(self, hint: Hint) -> str:
        """The pending entry that covers this hint: a directory looked at whole, or its own path."""
        if hint.kind is Kind.LOST or EVERYTHING in self._entries:
            return EVERYTHING
        for key in parents(hint.path):
            entry = self._entries.get(key)
            if entry is not None and entry.tree:
                return key
        return hint.path

    def _entry(self, key: str, now: float) -> _Entry:
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(first=now)
            self._in_directory[parent_of(key)] += 1
        return entry

    def _remove(self, key: str) -> _Entry:
        directory = parent_of(key)
        self._in_directory[directory] -= 1
        if not self._in_directory[directory]:
            del self._in_directory[directory]
        return self._entries.pop(key)

    def _schedule(self, key: str, entry: _Entry, kind: Kind, now: float) -> None:
        """Set when the entry falls due, from what just happened and what was handed out before."""
        past = self._recent(key, now)
        if kind is Kind.GONE and entry.mode is _Mode.AT_ONCE and not entry.tree:
            entry.mode = _Mode.SETTLING
        elif kind not in (Kind.GONE, Kind.TOUCHED) and entry.mode is _Mode.SETTLING:
            held = past is not None and now - past.at < past.hold
            entry.mode, entry.due = (_Mode.HELD if held else _Mode.AT_ONCE), now
        if entry.mode is _Mode.HELD and past is not None:
            latest = entry.first + min(4 * past.hold, LONGEST_HOLD)
            entry.due = min(now + past.hold, latest)
        elif entry.mode is _Mode.SETTLING:
            quiet = now + (GRACE if kind is Kind.GONE else SETTLE)
            entry.due = min(quiet, entry.first + LATEST_SETTLE)
            if past is not None:
                entry.due = max(entry.due, past.at + past.settle)

    def _swallow(self, key: str, entry: _Entry, now: float) -> None:
        """Look at this directory whole, instead of at single paths below it."""
        if entry.tree:
            return
        entry.tree = True
        for below in [path for path in self._entries if path != key and _is_below(path, key)]:
            swallowed = self._remove(below)
            entry.first = min(entry.first, swallowed.first)
            entry.mark(swallowed.gone)
            if swallowed.mode is _Mode.AT_ONCE:
                self._schedule(key, entry, Kind.TREE, now)

    def _collapse(self, key: str, kind: Kind, now: float) -> None:
        """Too many paths in one directory become that directory, too many in all everything."""
        directory = parent_of(key)
        if len(self._entries) > MOST_IN_ALL:
            directory = EVERYTHING
        elif self._in_directory[directory] <= MOST_IN_DIRECTORY:
            return
        entry = self._entry(directory, now)
        self._schedule(directory, entry, kind, now)
        self._swallow(directory, entry, now)

    def _recent(self, key: str, now: float) -> _Past | None:
        past = self._past.get(key)
        return past if past is not None and now - past.at <= FORGET_AFTER else None

    def _remember(self, key: str, mode: _Mode, now: float) -> None:
        """Note that the path was handed out; what keeps changing waits longer the next time."""
        past = self._recent(key, now) or _Past(now)
        self._past.pop(key, None)
        self._past[key] = past
        past.at = now
        if mode is _Mode.HELD:
            past.hold = min(2 * past.hold, LONGEST_HOLD)
        elif mode is _Mode.SETTLING:
            past.settle = min(2 * past.settle, LONGEST_TOUCHED)
        while self._is_forgettable(oldest := next(iter(self._past)), now):
            del self._past[oldest]

    def _is_forgettable(self, key: str, now: float) -> bool:
        return len(self._past) > MOST_PAST or now - self._past[key].at > FORGET_AFTER


def _is_below(path: str, directory: str) -> bool:
    return directory == EVERYTHING or path.startswith(directory.rstrip("/") + "/")
