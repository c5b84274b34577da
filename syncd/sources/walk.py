"""Walking a tree in the order of its keys, without following links and without recursion.

Each directory is listed whole while it is open, so that what is said of it belongs to one moment;
nothing is said below a directory that could not be listed. The loop over its entries is the
hottest of a scan: 100,000 files are seen in well under a second.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import NamedTuple

from syncd.sources.marks import MARK_FILES, MarkReader
from syncd.sources.names import escape, printable, unescape
from syncd.sources.reading import reason_of
from syncd.sources.rules import OWN_FILES, Place, Rules
from syncd.sources.seen import Blind, Found, LeftOut, Look, Sighting, SourceUnavailable

SYMBOLIC_LINK = "symbolic link"
NOT_REGULAR = "not a regular file"
_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KIND = 0o170000
_REGULAR = 0o100000
_LINK = 0o120000
_SWAPPED = {errno.ELOOP, errno.ENOTDIR}
_path = itemgetter(0)


class Folder(NamedTuple):
    """A directory that was listed in `place` and not yet looked into; `path` ends with "/"."""

    path: str
    place: Place
    name: str


Row = Found | Folder


class Walker:
    """Walks one root. `remember` hears of every directory that is entered or left out."""

    def __init__(
        self,
        root: str,
        rules: Rules,
        marks: MarkReader,
        remember: Callable[[str, Place | LeftOut], None],
    ) -> None:
        self._prefix = root.rstrip("/") + "/"
        self._rules = rules
        self._marks = marks
        self._remember = remember

    def os_path(self, key: str) -> str:
        """Where a key lies, without a final "/"."""
        return (self._prefix + unescape(key)).rstrip("/") or "/"

    def walk(self, top: Place, private: frozenset[tuple[int, int]]) -> Iterator[Found]:
        """All that is in and below a directory, whose own name has been judged already.

        `private` are the (device, inode) of syncd's own directories, however they are reached.
        Raises SourceUnavailable when the root itself cannot be listed.
        """
        below = self._list(top, private)
        if not isinstance(below, list):
            if isinstance(below, Blind) and not below.path:
                raise SourceUnavailable(f"{printable(escape(self.os_path('')))}: {below.reason}")
            if below is not None:
                yield below
            return
        stack = [iter(below)]
        while stack:
            for row in stack[-1]:
                if type(row) is not Folder:
                    yield row  # type: ignore[misc]
                    continue
                found = self._look_into(row, private)
                if isinstance(found, list):
                    stack.append(iter(found))
                    break
                if found is not None:
                    yield found
            else:
                stack.pop()

    def _look_into(
        self, folder: Folder, private: frozenset[tuple[int, int]]
    ) -> list[Row] | LeftOut | Blind | None:
        place = self._rules.enter(folder.place, folder.name)
        if isinstance(place, str):
            return self._leave_out(folder.path, place)
        return self._list(place, private)

    def _leave_out(self, path: str, reason: str) -> LeftOut:
        left = LeftOut(path, reason)
        self._remember(path, left)
        return left

    def _list(
        self, place: Place, private: frozenset[tuple[int, int]]
    ) -> list[Row] | LeftOut | Blind | None:
        """The sorted rows of a directory; what to say instead of them; None when it is gone."""
        try:
            handle = os.open(self.os_path(place.key), _FLAGS)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return None
            swapped = error.errno in _SWAPPED
            return Blind(place.key, "was replaced just now" if swapped else reason_of(error))
        try:
            status = os.fstat(handle)
            if (status.st_dev, status.st_ino) in private:
                return self._leave_out(place.key, OWN_FILES)
            return self._rows(handle, place)
        except OSError as error:
            return Blind(place.key, reason_of(error))
        finally:
            os.close(handle)

    def _rows(self, handle: int, place: Place) -> list[Row] | LeftOut | Blind:
        with os.scandir(handle) as entries:
            listing = {entry.name: entry for entry in entries}
        present = MARK_FILES & listing.keys()
        if present:
            furnished = self.furnish(place, present)
            if not isinstance(furnished, Place):
                return furnished
            place = furnished
        self._remember(place.key, place)
        rows = _rows_of(listing, place)
        rows.sort(key=_path)
        return rows

    def furnish(self, place: Place, present: frozenset[str] | set[str]) -> Place | LeftOut | Blind:
        """The place with what the mark files in it say."""
        try:
            marks = self._marks.read(self.os_path(place.key), present)
        except OSError as error:
            name = os.path.basename(error.filename or "an ignore file")
            return Blind(place.key, f"{name}: {reason_of(error)}")
        furnished = self._rules.furnish(place, marks)
        if isinstance(furnished, str):
            return self._leave_out(place.key, furnished)
        return furnished


def _rows_of(listing: dict[str, os.DirEntry[str]], place: Place) -> list[Row]:
    rows: list[Row] = []
    prefix, recipe = place.key, place.recipe
    # NamedTuple's own constructors are Python functions; this is what they call.
    make = tuple.__new__
    for name, entry in listing.items():
        path = prefix + (name if name.isascii() else escape(name))
        try:
            if entry.is_dir(follow_symlinks=False):
                rows.append(Folder(path + "/", place, escape(name)))
                continue
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:
            rows += _unseen(entry, path, reason_of(error))
            continue
        if status.st_mode & _KIND == _REGULAR:
            look = make(
                Look, (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            )
            rows.append(make(Sighting, (path, look, recipe)))
        else:
            rows.append(LeftOut(path, _other(status.st_mode)))
    return rows


def _unseen(entry: os.DirEntry[str], path: str, reason: str) -> list[Row]:
    try:
        entry.is_dir(follow_symlinks=False)
    except OSError:
        # Not even its kind is known: it may be a directory, with files below it.
        return [Blind(path, reason), Blind(path + "/", reason)]
    return [Blind(path, reason)]


def _other(mode: int) -> str:
    return SYMBOLIC_LINK if mode & _KIND == _LINK else NOT_REGULAR
