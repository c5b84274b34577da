"""What has to be done, as pure functions from what is there and what the ledger says.

Both come as streams in ascending order of path and are merged, so that neither is held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from syncd.sources import Blind, LeftOut, Look, Seen, Sighting, Unchanged
from syncd.sync.rows import NO_LOOK, Row, State, kept

_SCATTERED = 100
Judge = Callable[[Sighting], str | None]


class Examine(NamedTuple):
    """Read the file: it is new, or may have changed."""

    sighting: Sighting
    known: bool


class LeaveOut(NamedTuple):
    """Write down that the path is deliberately not in memory."""

    path: str
    reason: str
    look: Look
    recipe: int
    known: bool


class Gone(NamedTuple):
    """A path of the ledger that is not there, or not allowed, any more."""

    path: str
    state: int
    excluded: bool
    trace: tuple[int, int, int]


class Unseen(NamedTuple):
    """A path about which nothing can be said now; what memory has below it stays."""

    path: str
    reason: str


Action = Examine | LeaveOut | Gone | Unseen


@dataclass(frozen=True, slots=True)
class Hold:
    """When inferred absence is held: more than `items` paths and more than `share` of all."""

    items: int = 10
    share: float = 0.25


def plan(seen: Iterable[Seen], rows: Iterable[Row], judge: Judge) -> Iterator[Action]:
    """The actions that make memory equal to `seen`, given the ledger's `rows`.

    Both in ascending order of path; a path for which nothing is to be done yields nothing.
    """
    pending = iter(rows)
    row = next(pending, None)
    absence = _Absence()
    for sight in seen:
        path = sight[0]
        while row is not None and row[0] < path:
            yield from absence.of(row)
            row = next(pending, None)
        same = None
        if row is not None and row[0] == path:
            same, row = row, next(pending, None)
        if type(sight) is Sighting:
            # The line that an unchanged tree runs through, once a file.
            if same and same[5] == sight[2] and same[6]:
                look = same[1:5]
                if look == sight[1] or look == kept(sight[1]):
                    continue
            yield _deal_with(sight, same, judge)
        elif isinstance(sight, LeftOut):
            absence.exclude(path)
            yield from _left_out(sight, same)
        elif isinstance(sight, Blind):
            absence.leave_alone(path)
            yield Unseen(path, sight.reason)
        elif isinstance(sight, Unchanged):
            absence.leave_alone(path)
    while row is not None:
        yield from absence.of(row)
        row = next(pending, None)


def _deal_with(sight: Sighting, row: Row | None, judge: Judge) -> Action:
    reason = judge(sight)
    if reason is None:
        return Examine(sight, row is not None)
    return LeaveOut(sight.path, reason, sight.look, sight.recipe, row is not None)


def _left_out(sight: LeftOut, row: Row | None) -> Iterator[Action]:
    if row is None or row.state != State.LEFT_OUT:
        yield LeaveOut(sight.path, sight.reason, NO_LOOK, 0, row is not None)


class _Absence:
    """Tells, for a row that the scan did not meet, what its absence means."""

    def __init__(self) -> None:
        self._left_alone: set[str] = set()
        self._excluded = "\0"

    def leave_alone(self, path: str) -> None:
        self._left_alone.add(path.rstrip("/"))

    def exclude(self, path: str) -> None:
        if path.endswith("/"):
            self._excluded = path

    def of(self, row: Row) -> Iterator[Gone]:
        if self._left_alone and not self._left_alone.isdisjoint(["", *_tops(row.path)]):
            return
        excluded = row.path.startswith(self._excluded)
        yield Gone(row.path, row.state, excluded, (row.inode, row.size, row.mtime_ns))


def at_or_below(path: str, top: str) -> bool:
    """Whether `path` is `top` or lies below it; everything lies below ``."""
    base = top.rstrip("/")
    return base == "" or path == base or path.startswith(base + "/")


class Verdict(NamedTuple):
    """Which of the absent paths are forgotten now and which are held."""

    go: list[Gone]
    held: list[Gone]


def decide(
    gone: Iterable[Gone],
    *,
    known: int,
    hold: Hold,
    accepted: bool,
    witnessed: Callable[[str], bool],
    moved: Callable[[tuple[int, int, int]], bool],
) -> Verdict:
    """Part absence that is certain from absence that is merely inferred (design, rule 4).

    `known` is how many paths memory held before; `witnessed` says that an event reported a
    removal, `moved` that the very file was met under another path. Rows without items go freely.
    """
    go: list[Gone] = []
    inferred: list[Gone] = []
    for path in gone:
        certain = (
            path.state not in (State.HELD, State.UNREADABLE)
            or path.excluded
            or witnessed(path.path)
            or moved(path.trace)
        )
        (go if certain else inferred).append(path)
    if not accepted and len(inferred) > hold.items and len(inferred) > hold.share * known:
        return Verdict(go, inferred)
    return Verdict(go + inferred, [])


class Doom(NamedTuple):
    """A forget: everything at and below `path`, or, `by_id`, only what that very path held."""

    path: str
    by_id: bool


def collapse(
    paths: Iterable[str], occupied: Callable[[str], bool], root: str
) -> dict[Doom, list[str]]:
    """The fewest forgets that cover `paths`, each with those that it covers.

    They hit nothing that memory keeps: `occupied(path)` says whether it keeps anything at or below
    a path. A path that is itself occupied (a file that became a directory) goes by id, since
    filters are prefixes. Nothing that lies above `root`, where the relative paths begin, is ever
    forgotten whole.
    """
    empty: dict[str, bool] = {}

    def free(path: str) -> bool:
        if path not in empty:
            empty[path] = not occupied(path)
        return empty[path]

    dooms: dict[Doom, list[str]] = {}
    for path in sorted(paths):
        tops = [top for top in _tops(path) if top[:1] != "/" or not at_or_below(root, top)]
        top = next(filter(free, tops), None)
        doom = Doom(path, True) if top is None else Doom(top, False)
        dooms.setdefault(doom, []).append(path)
    return _gathered(dooms)


def _gathered(dooms: dict[Doom, list[str]]) -> dict[Doom, list[str]]:
    """The same, with scattered files by id if they are many: ids go a hundred at a time."""
    if sum(len(paths) == 1 for paths in dooms.values()) <= _SCATTERED:
        return dooms
    return {
        Doom(paths[0], True) if len(paths) == 1 else doom: paths for doom, paths in dooms.items()
    }


def _tops(path: str) -> Iterator[str]:
    """The root, the directories above `path` from the top down, then `path`.

    An absolute key names a file of an earlier root, which the root of now does not cover.
    """
    parts = path.split("/")
    if parts[0]:
        yield ""
    for length in range(1 if parts[0] else 2, len(parts) + 1):
        yield "/".join(parts[:length])
