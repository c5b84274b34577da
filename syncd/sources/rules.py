"""Which names are looked at: one set of answers for scans, events and the watcher.

From the strongest: syncd's own files, `exclude`, the built-in rules (which an `include` that spells
their marker out overrules), ignore files (the deepest first), `include`. What lies below a
directory that is left out is never asked about, so it cannot come back (as in git).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from itertools import takewhile
from typing import NamedTuple

from syncd.sources import builtin
from syncd.sources.gitignore import GLOB, Pattern, Patterns, byte_text, pattern
from syncd.sources.marks import Marks

OWN_FILES = "syncd's own files"
EXCLUDED = "excluded"
IGNORED = "ignore file"
NOT_INCLUDED = "not included"
# SQLite keeps these beside a database.
_COMPANIONS = ("", "-wal", "-shm", "-journal")


class Level(NamedTuple):
    """The ignore files of one directory; `start` is the length of its key as a byte text."""

    start: int
    patterns: Patterns


class Place(NamedTuple):
    """A directory that is looked into, with the rules that apply to what lies in it.

    `key` is "" or ends with "/". `levels` has the deepest ignore files first. `markers` are those
    of left-out directories above, which an include has named: it must name them for each file too.
    """

    key: str
    name: str
    levels: tuple[Level, ...]
    markers: tuple[str, ...]
    recipe: int


class Rules:
    """The answers for one source. Pure: nothing here touches the disk."""

    def __init__(
        self,
        include: Iterable[str],
        exclude: Iterable[str],
        private: Collection[str],
        base: bytes,
        root_name: str,
    ) -> None:
        """`private` are keys of syncd's own files and directories, `base` goes into recipes."""
        wanted = _patterns(include)
        self._include = Patterns(wanted) if wanted else None
        self._naming = [(one.text.lower(), Patterns([one])) for one in wanted if not one.negated]
        self._leads = _leads(wanted)
        self._exclude = Patterns(_patterns(exclude))
        self._private = {key + ending for key in private for ending in _COMPANIONS}
        self._base = base
        self._recipes: dict[tuple[bytes, ...], int] = {}
        self.root = Place("", root_name, (), (), self._recipe())

    def enter(self, place: Place, name: str) -> Place | str:
        """The directory `name` in `place`, or the reason not to look into it."""
        key = place.key + name
        if key in self._private:
            return OWN_FILES
        path = byte_text(key)
        if self._exclude.verdict(path, True):
            return EXCLUDED
        markers = place.markers
        rule = builtin.directory_rule(place.name, name)
        if rule is not None:
            if rule.marker is None or not self._spelt_as_directory(rule.marker):
                return rule.reason
            markers = (*markers, rule.marker)
        if _ignored(place, path, True):
            return IGNORED
        if self._leads is not None and not _on_the_way(path.split("/"), self._leads):
            return NOT_INCLUDED
        return place._replace(key=key + "/", name=name, markers=markers)

    def furnish(self, place: Place, marks: Marks) -> Place | str:
        """The place with what its own ignore files and tags say, or the reason to leave it."""
        markers = place.markers
        if marks.reason is not None and place.key:
            marker = place.name.lower()
            if not self._spelt_as_directory(marker):
                return marks.reason
            markers = (*markers, marker)
        if not marks.digest and markers is place.markers:
            return place
        levels = place.levels
        if marks.patterns is not None:
            levels = (Level(len(byte_text(place.key)), marks.patterns), *levels)
        parts = (str(place.recipe).encode(), marks.digest, "/".join(markers).encode())
        return Place(place.key, place.name, levels, markers, self._recipe(*parts))

    def refuse(self, place: Place, name: str) -> str | None:
        """The reason to leave a file out by its name alone, or None."""
        key = place.key + name
        if key in self._private:
            return OWN_FILES
        path = byte_text(key)
        if self._exclude.verdict(path, False):
            return EXCLUDED
        for marker in place.markers:
            if not self.names(marker, path):
                return NOT_INCLUDED
        rule = builtin.file_rule(place.name, name)
        if rule is not None and not (rule.marker and self.names(rule.marker, path)):
            return rule.reason
        if _ignored(place, path, False):
            return IGNORED
        return None if self._wanted(path) else NOT_INCLUDED

    def names(self, marker: str, path: str) -> bool:
        """Whether an include both spells `marker` out and matches `path` (a byte text)."""
        marker = byte_text(marker).lower()
        return any(
            marker in text and _matched(patterns, path) is True for text, patterns in self._naming
        )

    def _spelt_as_directory(self, marker: str) -> bool:
        marker = byte_text(marker).lower()
        return any(marker in text.split("/") for text, _ in self._naming)

    def _wanted(self, path: str) -> bool:
        return self._include is None or _matched(self._include, path) is True

    def _recipe(self, *parts: bytes) -> int:
        """A 63-bit number that differs whenever any part does."""
        known = self._recipes.get(parts)
        if known is None:
            digest = hashlib.sha256(repr((self._base, parts)).encode()).digest()
            known = int.from_bytes(digest[:8], "big") >> 1
            if len(self._recipes) > 4096:
                self._recipes.clear()
            self._recipes[parts] = known
        return known


def _patterns(texts: Iterable[str]) -> list[Pattern]:
    found = (pattern(byte_text(text)) for text in texts)
    return [one for one in found if one.text and not one.text.startswith("#")]


def _leads(wanted: list[Pattern]) -> list[list[str]] | None:
    """The literal first segments of each include; None when a directory anywhere may be meant."""
    positive = [one for one in wanted if not one.negated]
    if not positive or any(one.by_name for one in positive):
        return None
    segments = (one.text.strip("/").split("/") for one in positive)
    return [list(takewhile(lambda part: not GLOB.search(part), parts)) for parts in segments]


def _on_the_way(parts: list[str], leads: list[list[str]]) -> bool:
    """Whether a directory lies above or below what one of the includes can match."""
    return any(
        all(part == wanted for part, wanted in zip(parts, lead, strict=False)) for lead in leads
    )


def _ignored(place: Place, path: str, is_directory: bool) -> bool:
    for level in place.levels:
        verdict = level.patterns.verdict(path[level.start :], is_directory)
        if verdict is not None:
            return verdict
    return False


def _matched(patterns: Patterns, path: str) -> bool | None:
    """What the patterns say of a file, else of the nearest directory above that they mention."""
    verdict = patterns.verdict(path, False)
    while verdict is None and "/" in path:
        path = path[: path.rfind("/")]
        verdict = patterns.verdict(path, True)
    return verdict
