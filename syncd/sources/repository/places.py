"""Which paths that git names are looked at: syncd's own rules, on top of git's.

git has applied its ignore files already, and tracked files stay whatever those say; `.syncdignore`,
the built-in list, `include` and `exclude` count for all. Each directory left out is said once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from syncd.sources.marks import Marks
from syncd.sources.rules import Place, Rules
from syncd.sources.seen import Blind, Found, LeftOut

T = TypeVar("T")
# What a directory says of itself; LeftOut or Blind when it is not looked into, None: not there.
MarksOf = Callable[[str], Marks | LeftOut | Blind | None]
Standing = Place | LeftOut | Blind | None


def is_safe(key: str) -> bool:
    """Whether a path can be a file of a repository: a crafted index or tree may hold any."""
    names = key.split("/")
    return all(name not in {"", ".", ".."} and name.lower() != ".git" for name in names)


class Places:
    """The directories of one scan, each asked once."""

    def __init__(self, rules: Rules, marks_of: MarksOf) -> None:
        self._rules = rules
        self._marks_of = marks_of
        self._known: dict[str, Standing] = {}

    def of(self, key: str) -> Standing:
        """The place of a directory ("" or ending with "/"), or what is said of it or above it."""
        if key not in self._known:
            self._known[key] = self._ask(key)
        return self._known[key]

    def refuse(self, key: str) -> str | None:
        """The reason to leave a file out by its name or where it lies, or None."""
        head, slash, name = key.rpartition("/")
        place = self.of(head + slash)
        if isinstance(place, Place):
            return self._rules.refuse(place, name)
        return place.reason if place is not None else "not there any more"

    def _ask(self, key: str) -> Standing:
        place = self._rules.root
        if key:
            head, slash, name = key[:-1].rpartition("/")
            above = self.of(head + slash)
            if not isinstance(above, Place):
                return above
            entered = self._rules.enter(above, name)
            if isinstance(entered, str):
                return LeftOut(key, entered)
            place = entered
        marks = self._marks_of(key)
        if not isinstance(marks, Marks):
            return marks
        furnished = self._rules.furnish(place, marks)
        return LeftOut(key, furnished) if isinstance(furnished, str) else furnished


def sift(
    names: Iterable[str], places: Places, see: Callable[[str, Place], Found | None]
) -> Iterator[Found]:
    """What there is to say of `names`, which ascend; `see` says it of a file in its place."""
    passed: str | None = None
    for key in names:
        if passed is not None and key.startswith(passed):
            continue
        passed = None
        head, slash, _ = key.rpartition("/")
        place = places.of(head + slash)
        if isinstance(place, Place):
            found = see(key, place)
            if found is not None:
                yield found
                # Without its ignore file, git shows what a directory hides.
                passed = key if key.endswith("/") else None
        elif place is not None:
            passed = place.path
            yield place
