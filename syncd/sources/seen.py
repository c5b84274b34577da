"""What a source can say about a path: plain values, cheap to make and to compare.

A scan yields `Seen` values in ascending order of `path`; reading a path yields an `Outcome`.
Invariant: "not there" is only ever said by absence, everything that is unknown is said aloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from syncd.memory import Document


class Look(NamedTuple):
    """How a file looked: bytes, nanoseconds, nanoseconds, number.

    Two equal looks mean "unchanged" once the first was settled (see `Reading.settled`).
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Sighting(NamedTuple):
    """A regular file that is there; the rules about its name have not been asked yet."""

    path: str
    look: Look
    recipe: int


class LeftOut(NamedTuple):
    """There, but deliberately not looked into; the path of a directory ends with "/"."""

    path: str
    reason: str


class Blind(NamedTuple):
    """Could not be looked at. With path "" or ending with "/": nothing below it is known."""

    path: str
    reason: str


class Unchanged(NamedTuple):
    """All at and below `path` ("" or ending with "/") is as the mark that was given says."""

    path: str


Found = Sighting | LeftOut | Blind
Seen = Found | Unchanged


class Reading(NamedTuple):
    """What a file became. Unsettled: a later write could leave the same look, so read it again."""

    items: tuple[Document, ...]
    look: Look
    settled: bool
    encoding: str


class Skip(NamedTuple):
    """The file is there and deliberately not in memory; `look` saves reading it again."""

    reason: str
    look: Look
    settled: bool


class Unreadable(NamedTuple):
    """The file could not be read now: keep what memory has of it and try again."""

    reason: str


Outcome = Reading | Skip | Unreadable


class Root(NamedTuple):
    """The identity of a source's root directory; another one means another (un)mounted disk."""

    device: int
    inode: int


class Stopped(Exception):
    """It was asked to stop before it was done; what was done until then is sound."""


class SourceUnavailable(Exception):
    """The source as a whole cannot be looked at; nothing may be concluded from that."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SourceBusy(SourceUnavailable):
    """Something is at work in the source that ends by itself, and soon."""
