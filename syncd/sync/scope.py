"""What a pass looks at, and whether what it found gone is gone still."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from syncd.sources import Blind, Sighting
from syncd.sources.source import Source
from syncd.sync.plan import at_or_below


@dataclass(frozen=True, slots=True)
class Scope:
    """What a pass looks at: keys of the source, and which removals an event witnessed."""

    paths: tuple[str, ...] = ("",)
    witnessed: frozenset[str] = frozenset()

    @property
    def whole(self) -> bool:
        return "" in self.paths

    def saw_removed(self, path: str) -> bool:
        """Whether the removal of `path`, or of a directory above it, was witnessed."""
        if not self.witnessed:
            return False
        parts = path.split("/")
        return any("/".join(parts[:n]) in self.witnessed for n in range(1, len(parts) + 1))


WHOLE = Scope()


def covered(paths: Iterable[str]) -> tuple[str, ...]:
    """`paths` in ascending order without those that lie below another."""
    out: list[str] = []
    for path in sorted(set(paths), key=lambda p: p + "/" if p else ""):
        if not out or not at_or_below(path, out[-1]):
            out.append(path)
    return tuple(out)


def still_absent(source: Source, paths: Iterable[str]) -> set[str]:
    """Those of `paths` that are not there at this moment either."""
    bare: dict[str, bool] = {}
    absent = set()
    for path in paths:
        above = path.rpartition("/")[0]
        if path.startswith("/"):
            bare[above] = True  # of an earlier root, which this one does not cover
        if above not in bare:
            # One look at a directory that went answers for all that was in it.
            bare[above] = next(iter(source.scan(above)), None) is None
        if bare[above] or not _may_be_there(source, path):
            absent.add(path)
    return absent


def _may_be_there(source: Source, path: str) -> bool:
    seen = next(iter(source.scan(path)), None)
    return isinstance(seen, Blind) or (isinstance(seen, Sighting) and seen.path == path)
