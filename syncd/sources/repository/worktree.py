"""The files of a working copy: those that git would show, as they are on disk now.

What git tracks or would offer to add is there when the disk says so: a tracked file that was
deleted is gone, one that a sparse checkout leaves out was never there.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Iterator
from typing import NamedTuple

from syncd.sources import marks
from syncd.sources.marks import MARK_FILES, MarkReader, Marks, look_of
from syncd.sources.names import escape, printable, unescape
from syncd.sources.reading import Content, load, reason_of
from syncd.sources.repository.git import Git, GitFailed
from syncd.sources.repository.layout import Layout
from syncd.sources.repository.places import Places, is_safe, sift
from syncd.sources.rules import Place, Rules
from syncd.sources.seen import (
    Blind,
    Found,
    LeftOut,
    Sighting,
    Skip,
    SourceUnavailable,
    Unreadable,
)
from syncd.sources.walk import NOT_REGULAR, SYMBOLIC_LINK

SUBMODULE = "submodule"
OTHER_REPOSITORY = "another repository"
_LISTING = ("ls-files", "-z", "-t", "-s", "-c", "-o", "--exclude-standard", "--")
_GITLINK = b"160000"
# .gitignore is git's business, and says nothing about tracked files.
_MARKS = MARK_FILES - {".gitignore"}
_UNSEEN = re.compile(r"(?:could not open directory|unable to access) '(.*)': (.*)")
# A path below a submodule or a symbolic link is none of this repository's.
_ELSEWHERE = re.compile(r"is in submodule|beyond a symbolic link")
_GONE = {errno.ENOENT, errno.ENOTDIR}


class Listed(NamedTuple):
    """What git says of one path: whether it is tracked, a submodule, and left out on purpose."""

    tracked: bool
    gitlink: bool
    sparse: bool


class WorkingCopy:
    """One working copy with its rules. Keys are paths in it, as `names.escape` spells them."""

    def __init__(self, layout: Layout, git: Git, rules: Rules, max_file_size: int) -> None:
        self._git = git
        self._rules = rules
        self._limit = max_file_size
        self._prefix = layout.root.rstrip("/") + "/"
        self._marks = MarkReader()
        self._places = Places(rules, self._marks_of)
        self._tracked: frozenset[str] | None = None

    def scan(self, under: str) -> Iterator[Found]:
        """What is there at and below a key; SourceUnavailable when git cannot list it."""
        places = Places(self._rules, self._marks_of)
        if not under:
            self._places = places
        elif not is_safe(under) or not self.exists(under):
            return
        listed, unseen = self._list(under)
        if not under:
            self._tracked = _directories(key for key, each in listed.items() if each.tracked)
        names = sorted([*listed, *unseen])

        def see(key: str, place: Place) -> Found | None:
            if key in unseen:
                return Blind(key, unseen[key])
            return self._look(key, place, listed[key])

        yield from sift(names, places, see)

    def refuse(self, key: str) -> str | None:
        """The reason to leave a file out by its name or where it lies, or None."""
        return self._places.refuse(key)

    def load(self, key: str) -> Content | Skip | Unreadable | None:
        """The bytes of a file; None when it is not there any more."""
        return load(self._prefix + unescape(key), self._limit) if is_safe(key) else None

    def is_empty(self) -> bool:
        """Whether nothing but git's own directory lies in it."""
        try:
            with os.scandir(self._prefix) as entries:
                return all(entry.name == ".git" for entry in entries)
        except OSError as error:
            raise SourceUnavailable(reason_of(error)) from error

    def holds_tracked(self, key: str) -> bool:
        """Whether git tracks anything below a directory, which its ignore files then spare."""
        if self._tracked is None:
            listed, _ = self._list("")
            self._tracked = _directories(key for key, each in listed.items() if each.tracked)
        return key in self._tracked

    def refuses_directory(self, key: str) -> bool:
        """Whether syncd's own rules leave a directory out, git's ignore files apart."""
        return isinstance(self._places.of(key), LeftOut)

    def accounted(self, paths: Collection[str], old: str | None, new: str | None) -> set[str]:
        """Those of absent paths whose absence git itself, or an ignore file, explains.

        `old` and `new` are the tips when the paths were last there, and now.
        """
        found = {path for path in paths if self.exists(path)}
        wanted = set(paths) - found
        if wanted:
            listed, _ = self._list("")
            found |= {path for path in wanted if path in listed and listed[path].sparse}
        if wanted and old and new and old != new:
            found |= wanted & self._removed_between(old, new)
        return found

    def _removed_between(self, old: str, new: str) -> set[str]:
        options = ("-r", "-z", "--name-only", "--diff-filter=D", "--no-renames")
        try:
            output = self._git.run("diff-tree", *options, old, new, "--").output
        except GitFailed:
            return set()  # the old tip is not there any more, so nobody can say
        return {escape(os.fsdecode(name)) for name in output.split(b"\0") if name}

    def _list(self, under: str) -> tuple[dict[str, Listed], dict[str, str]]:
        """What git names at and below a key, and the directories that it could not look into."""
        path = unescape(under)
        try:
            answer = self._git.run(*_LISTING, *([path] if path else []))
        except GitFailed as error:
            if under and _ELSEWHERE.search(error.complaints):
                return {}, {}
            raise SourceUnavailable(error.reason) from error
        listed: dict[str, Listed] = {}
        for record in answer.output.split(b"\0"):
            if record:
                key, each = _parsed(record)
                if is_safe(key.removesuffix("/")):
                    listed.setdefault(key, each)
        return listed, self._unseen(answer.complaints)

    def _unseen(self, complaints: str) -> dict[str, str]:
        """What git could not look into. Without an ignore file, it would show what that hides."""
        found: dict[str, str] = {}
        for named, reason in _UNSEEN.findall(complaints):
            path = escape(named)
            if path.startswith("/"):
                continue  # the user's own ignore file, of which git itself makes as little
            directory = path if path.endswith("/") else path.rpartition("/")[0] + "/"
            if not is_safe(directory[:-1]) or not self.exists(directory):
                raise SourceUnavailable(f"{printable(self._prefix + path)}: {reason.lower()}")
            found[directory] = reason.lower()
        return found

    def exists(self, key: str) -> bool:
        """Whether anything has this path on disk."""
        return os.path.lexists(self._prefix + unescape(key))

    def _look(self, key: str, place: Place, listed: Listed) -> Found | None:
        if key.endswith("/"):
            return LeftOut(key, SUBMODULE if listed.gitlink else OTHER_REPOSITORY)
        try:
            status = os.lstat(self._prefix + unescape(key))
        except OSError as error:
            return None if error.errno in _GONE else Blind(key, reason_of(error))
        if stat.S_ISREG(status.st_mode):
            return Sighting(key, look_of(status), place.recipe)
        if stat.S_ISDIR(status.st_mode):
            return None  # where a tracked file was
        return LeftOut(key, SYMBOLIC_LINK if stat.S_ISLNK(status.st_mode) else NOT_REGULAR)

    def _marks_of(self, key: str) -> Marks | LeftOut | Blind | None:
        path = (self._prefix + unescape(key)).rstrip("/") or "/"
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                # A link in the place of a directory: what git tracks below it is not there.
                return None
            return self._marks.read(path, marks.present_marks(path) & _MARKS)
        except OSError as error:
            if error.errno in _GONE:
                return None
            return Blind(key, reason_of(error))


def _parsed(record: bytes) -> tuple[str, Listed]:
    if record.startswith(b"? "):
        return _name(record[2:]), Listed(False, False, False)
    head, _, name = record.partition(b"\t")
    tag, mode = head.split(b" ")[:2]
    gitlink = mode == _GITLINK
    return _name(name) + ("/" if gitlink else ""), Listed(True, gitlink, tag == b"S")


def _name(raw: bytes) -> str:
    return raw.decode("ascii") if raw.isascii() else escape(os.fsdecode(raw))


def _directories(keys: Iterator[str]) -> frozenset[str]:
    """All directories above `keys`, without a final "/"."""
    found: set[str] = set()
    for key in keys:
        above = key.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return frozenset(found)
