"""The files of a repository without a working copy: the tree of its tip, read without a checkout.

A damaged tree hides what lies below it, and nothing else; a blob is known by its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from syncd.sources import gitignore
from syncd.sources.builtin import CACHE, VIRTUAL_ENVIRONMENT
from syncd.sources.marks import Marks
from syncd.sources.names import escape, unescape
from syncd.sources.repository.git import Git, GitFailed
from syncd.sources.repository.history import look_of_object
from syncd.sources.repository.objects import contents
from syncd.sources.repository.places import Places, is_safe, sift
from syncd.sources.repository.worktree import SUBMODULE
from syncd.sources.rules import Place, Rules
from syncd.sources.seen import (
    Blind,
    Found,
    LeftOut,
    Sighting,
    SourceUnavailable,
    Unreadable,
)
from syncd.sources.walk import SYMBOLIC_LINK

_SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55"
_SYNCDIGNORE = ".syncdignore"
_TAG = "CACHEDIR.TAG"
_ENVIRONMENT = "pyvenv.cfg"
_REGULAR = "100"
# The sizes of blobs that a partial clone has not fetched.
_NOT_FETCHED = re.compile(r"promisor|lazy fetching")
_GITLINK = "160000"
_TREE = "040000"


class Blob(NamedTuple):
    """An entry of a tree that is no tree; the size of one that is not there is unknown."""

    mode: str
    id: str
    size: int | None


class Tree:
    """The tree of one commit, with the rules of a source."""

    def __init__(self, git: Git, commit: str, rules: Rules) -> None:
        self._git = git
        self._commit = commit
        self._rules = rules
        self._places: Places | None = None

    def scan(self, under: str = "") -> Iterator[Found]:
        """What is there at and below a key, in ascending order."""
        if under and not is_safe(under):
            return
        blobs, blind = self.list(under)
        # The marks of directories above `under` count as well, so all are looked for.
        places = Places(self._rules, self._marks(blobs if not under else self.list("")[0]))
        self._places = places

        def see(key: str, place: Place) -> Found | None:
            if key in blind:
                return Blind(key, blind[key])
            return _seen(key, place, blobs[key])

        yield from sift(sorted([*blobs, *blind]), places, see)

    def refuse(self, key: str) -> str | None:
        """The reason to leave a file out by its name or where it lies, or None."""
        if self._places is None:
            self._places = Places(self._rules, self._marks(self.list("")[0]))
        return self._places.refuse(key)

    def list(self, under: str = "") -> tuple[dict[str, Blob], dict[str, str]]:
        """The entries at and below a key, and the directories that cannot be read, with reasons."""
        limit = (unescape(under),) if under else ()
        try:
            return self._whole("-l", limit), {}
        except GitFailed as error:
            reason = error.reason
            if _NOT_FETCHED.search(error.complaints):
                return self._whole("--full-name", limit), {}
        try:
            self._git.run("rev-parse", "--verify", "--quiet", f"{self._commit}^{{tree}}")
            self._git.run("ls-tree", self._commit)
        except GitFailed:
            what = f"the tree of {self._commit} cannot be read"
            raise SourceUnavailable(f"{what}: {reason}") from None
        blobs, blind = self._pieces(self._commit, "")
        top = f"{under}/"
        return (
            {key: blob for key, blob in blobs.items() if f"{key}/".startswith(top) or not under},
            {key: why for key, why in blind.items() if not under or _related(key, top)},
        )

    def _whole(self, option: str, limit: tuple[str, ...]) -> dict[str, Blob]:
        command = ("ls-tree", "-r", "-z", "--full-tree", option, self._commit, "--", *limit)
        return _parsed(self._git.run(*command).output, "")

    def _pieces(self, tree: str, above: str) -> tuple[dict[str, Blob], dict[str, str]]:
        """Directory by directory, so that a damaged one is told apart from the others."""
        blobs: dict[str, Blob] = {}
        blind: dict[str, str] = {}
        waiting = [(tree, above)]
        while waiting:
            tree, above = waiting.pop()
            try:
                entries = _parsed(self._git.run("ls-tree", "-z", "-l", tree).output, above)
            except GitFailed as error:
                blind[above] = f"git object {tree} is damaged: {error.reason}"
                continue
            for key, entry in entries.items():
                if entry.mode == _TREE:
                    waiting.append((entry.id, f"{key}/"))
                else:
                    blobs[key] = entry
        return blobs, blind

    def _marks(self, blobs: dict[str, Blob]) -> _TreeMarks:
        wanted: dict[str, dict[str, Blob]] = {}
        for key, blob in blobs.items():
            head, slash, name = key.rpartition("/")
            if name in {_SYNCDIGNORE, _TAG, _ENVIRONMENT} and blob.mode.startswith(_REGULAR):
                wanted.setdefault(head + slash, {})[name] = blob
        ids = [one.id for named in wanted.values() for one in named.values()]
        try:
            return _TreeMarks(wanted, dict(contents(self._git, ids)))
        except GitFailed as error:
            raise SourceUnavailable(error.reason) from error


class _TreeMarks:
    """What the directories of a tree say of themselves."""

    def __init__(
        self, wanted: dict[str, dict[str, Blob]], data: dict[str, bytes | Unreadable]
    ) -> None:
        self._wanted = wanted
        self._data = data

    def __call__(self, key: str) -> Marks | Blind:
        here = self._wanted.get(key)
        if here is None:
            return Marks()
        reason = VIRTUAL_ENVIRONMENT if _ENVIRONMENT in here else None
        tag = self._data[here[_TAG].id] if _TAG in here else b""
        if isinstance(tag, bytes) and tag.startswith(_SIGNATURE):
            reason = reason or CACHE
        if _SYNCDIGNORE not in here:
            return Marks(None, b"", reason)
        ignore = here[_SYNCDIGNORE]
        data = self._data[ignore.id]
        if isinstance(data, Unreadable):
            return Blind(key, f"{_SYNCDIGNORE}: {data.reason}")
        patterns = gitignore.parse(data)
        return Marks(gitignore.Patterns(patterns) if patterns else None, ignore.id.encode(), reason)


def _seen(key: str, place: Place, blob: Blob) -> Found:
    if blob.mode == _GITLINK:
        return LeftOut(key, SUBMODULE)
    if not blob.mode.startswith(_REGULAR):
        return LeftOut(key, SYMBOLIC_LINK)
    return Sighting(key, look_of_object(blob.id, blob.size or 0), place.recipe)


def _parsed(output: bytes, above: str) -> dict[str, Blob]:
    found: dict[str, Blob] = {}
    for record in output.split(b"\0"):
        head, _, raw = record.partition(b"\t")
        key = above + escape(raw.decode("utf-8", "surrogateescape"))
        if record and is_safe(key):
            mode, _, name, *sizes = head.decode("ascii").split()
            # A directory comes after `name-x`, as its contents would.
            key += "/" if mode == _GITLINK else ""
            found[key] = Blob(mode, name, int(sizes[0]) if sizes and sizes[0].isdigit() else None)
    return found


def _related(key: str, top: str) -> bool:
    return key.startswith(top) or top.startswith(key)
