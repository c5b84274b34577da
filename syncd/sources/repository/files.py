"""The files of a repository, on disk or in the tree of its tip, behind one face."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from typing import Protocol

from syncd.memory import Instant
from syncd.sources.reading import TOO_LARGE, Content
from syncd.sources.repository.git import Git, GitFailed
from syncd.sources.repository.history import look_of_object
from syncd.sources.repository.items import Mould, parsed
from syncd.sources.repository.layout import Layout
from syncd.sources.repository.objects import contents
from syncd.sources.repository.outcome import became
from syncd.sources.repository.tree import Blob, Tree
from syncd.sources.repository.worktree import WorkingCopy
from syncd.sources.rules import Rules
from syncd.sources.seen import Found, Outcome, Skip, SourceUnavailable, Unreadable


class Files(Protocol):
    """What a repository source asks of its files. Keys as everywhere."""

    def at(self, commit: str | None) -> None:
        """The tip from now on."""

    def scan(self, under: str) -> Iterator[Found]:
        """What is there at and below a key, in ascending order."""

    def refuse(self, key: str) -> str | None:
        """The reason to leave a file out by its name or where it lies, or None."""

    def exists(self, key: str) -> bool:
        """Whether anything has this path on disk."""

    def read_many(self, keys: Sequence[str]) -> Iterator[tuple[str, Outcome | None]]:
        """What each file becomes; None when it is not there any more."""

    def is_empty(self) -> bool:
        """Whether there is nothing at all."""

    def accounted(self, paths: Collection[str], old: str | None, new: str | None) -> set[str]:
        """Those of absent paths whose absence git or an ignore file explains."""

    def refuses_directory(self, key: str) -> bool:
        """Whether syncd's own rules leave a directory (ending with "/") out."""

    def holds_tracked(self, key: str) -> bool:
        """Whether git tracks anything below a directory (without a final "/")."""


class DiskFiles:
    """The files of a working copy, as they are on disk."""

    def __init__(
        self, layout: Layout, git: Git, rules: Rules, mould: Mould, max_file_size: int
    ) -> None:
        self._copy = WorkingCopy(layout, git, rules, max_file_size)
        self._rules = rules
        self._mould = mould
        self.scan = self._copy.scan
        self.refuse = self._copy.refuse
        self.exists = self._copy.exists
        self.is_empty = self._copy.is_empty
        self.accounted = self._copy.accounted
        self.refuses_directory = self._copy.refuses_directory
        self.holds_tracked = self._copy.holds_tracked

    def at(self, commit: str | None) -> None:
        """Files on disk are there whatever was committed."""

    def read_many(self, keys: Sequence[str]) -> Iterator[tuple[str, Outcome | None]]:
        """Each file with what it becomes, in the given order."""
        for key in keys:
            content = self._copy.load(key)
            if isinstance(content, Content):
                at = _instant(content.look.mtime_ns)
                yield key, became(key, content, self._mould, self._rules, at)
            else:
                yield key, content


class BareFiles:
    """The files in the tree of the tip, where there is no working copy."""

    def __init__(
        self, layout: Layout, git: Git, rules: Rules, mould: Mould, max_file_size: int
    ) -> None:
        self._git = git
        self._rules = rules
        self._mould = mould
        self._limit = max_file_size
        self._tree: Tree | None = None
        self._commit: str | None = None

    def at(self, commit: str | None) -> None:
        """Another tip has another tree."""
        if commit != self._commit:
            self._commit = commit
            self._tree = Tree(self._git, commit, self._rules) if commit is not None else None

    def scan(self, under: str) -> Iterator[Found]:
        """What is in the tree at and below a key."""
        return self._tree.scan(under) if self._tree is not None else iter(())

    def refuse(self, key: str) -> str | None:
        """The reason to leave a file out by its name or where it lies, or None."""
        return self._tree.refuse(key) if self._tree is not None else "not there any more"

    def read_many(self, keys: Sequence[str]) -> Iterator[tuple[str, Outcome | None]]:
        """Each file with what it becomes: those that need no reading first, then in order."""
        if self._tree is None or self._commit is None:
            yield from ((key, None) for key in keys)
            return
        blobs, blind = self._tree.list(keys[0] if len(keys) == 1 else "")
        wanted: list[tuple[str, Blob]] = []
        for key in sorted(keys):
            answer = self._at_once(key, blobs.get(key), blind)
            if isinstance(answer, Blob):
                wanted.append((key, answer))
            else:
                yield key, answer
        yield from self._read(wanted, self._commit)

    def is_empty(self) -> bool:
        """Whether nothing was ever committed."""
        return self._tree is None

    def accounted(self, paths: Collection[str], old: str | None, new: str | None) -> set[str]:
        """All of them: the tree of the tip is git's own account."""
        return set(paths) if self._tree is not None else set()

    def exists(self, key: str) -> bool:
        """False: nothing on disk is looked at."""
        return False

    def refuses_directory(self, key: str) -> bool:
        """True: nothing on disk is looked at."""
        return True

    def holds_tracked(self, key: str) -> bool:
        """False: nothing on disk is looked at."""
        return False

    def _at_once(
        self, key: str, blob: Blob | None, blind: dict[str, str]
    ) -> Blob | Skip | Unreadable | None:
        if blob is None:
            hidden = next((why for top, why in blind.items() if key.startswith(top)), None)
            return Unreadable(hidden) if hidden is not None else None
        if blob.size is None:
            return Unreadable(f"git object {blob.id} is not in this clone")
        if blob.size > self._limit:
            return Skip(TOO_LARGE, look_of_object(blob.id, blob.size), True)
        return blob

    def _read(
        self, wanted: list[tuple[str, Blob]], commit: str
    ) -> Iterator[tuple[str, Outcome | None]]:
        try:
            observed = self._committed(commit)
            # Two files with one content are asked for twice, so that the answers stay in step.
            with closing(contents(self._git, [blob.id for _, blob in wanted])) as answers:
                for (key, blob), (_, data) in zip(wanted, answers, strict=True):
                    if isinstance(data, Unreadable):
                        yield key, data
                    else:
                        content = Content(data, look_of_object(blob.id, len(data)), True)
                        yield key, became(key, content, self._mould, self._rules, observed)
        except GitFailed as error:
            raise SourceUnavailable(error.reason) from error

    def _committed(self, commit: str) -> Instant | None:
        with closing(contents(self._git, [commit])) as answers:
            _, data = next(answers)
        return None if isinstance(data, Unreadable) else parsed(data).committed


def _instant(ns: int) -> Instant | None:
    return Instant(ns) if Instant.MIN.ns <= ns <= Instant.MAX.ns else None
