"""Which watched directory has which number: a tree of names, small per directory, no I/O.

Invariant: `by_number` holds exactly the directories of the tree that have a watch, `unwatched`
those that should have one and could not get it.
"""

from __future__ import annotations

from collections.abc import Iterator

NO_WATCH = -1


class Directory:
    """One directory: its name (the root's is its whole path) and those below it by name."""

    __slots__ = ("above", "below", "name", "number")

    def __init__(self, name: str, above: Directory | None = None) -> None:
        self.name = name
        self.above = above
        self.below: dict[str, Directory] | None = None  # most directories are leaves
        self.number = NO_WATCH

    @property
    def path(self) -> str:
        """The absolute OS path."""
        names = [self.name, *(directory.name for directory in self.ancestors())]
        return "/".join(reversed(names)) or "/"

    def ancestors(self) -> Iterator[Directory]:
        """The directories above this one, nearest first."""
        directory = self.above
        while directory is not None:
            yield directory
            directory = directory.above

    def child(self, name: str) -> Directory | None:
        """The known directory of this name."""
        return None if self.below is None else self.below.get(name)

    def subtree(self) -> Iterator[Directory]:
        """This directory and all below it."""
        stack = [self]
        while stack:
            directory = stack.pop()
            yield directory
            stack.extend((directory.below or {}).values())


class Directories:
    """The watched tree of one source."""

    def __init__(self, root: str) -> None:
        self.root = Directory(root.rstrip("/"))
        self.by_number: dict[int, Directory] = {}
        self.unwatched: set[Directory] = set()

    def add(self, above: Directory, name: str) -> Directory:
        """The directory of this name, new or known."""
        if above.below is None:
            above.below = {}
        known = above.below.get(name)
        if known is None:
            known = above.below[name] = Directory(name, above)
        return known

    def bind(self, directory: Directory, number: int) -> None:
        """Note that this directory has this watch."""
        self.unwatched.discard(directory)
        directory.number = number
        self.by_number[number] = directory

    def drop(self, directory: Directory) -> list[int]:
        """Take a directory and all below it out; the numbers of the watches to end."""
        above = directory.above
        if above is not None and above.below and above.below.get(directory.name) is directory:
            del above.below[directory.name]
        return self.empty(directory)

    def empty(self, directory: Directory) -> list[int]:
        """Take out all below a directory and its own watch; the numbers of the watches to end."""
        numbers = [number for below in directory.subtree() for number in self._release(below)]
        directory.below = None
        return numbers

    def _release(self, directory: Directory) -> list[int]:
        self.unwatched.discard(directory)
        number, directory.number = directory.number, NO_WATCH
        if number == NO_WATCH:
            return []
        del self.by_number[number]
        return [number]
