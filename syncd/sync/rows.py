"""What the ledger says about one path: plain values between the ledger and the planner."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from syncd.sources import Look


class State(IntEnum):
    """What became of a path. Only HELD and UNREADABLE rows may name items in memory."""

    HELD = 0
    LEFT_OUT = 1
    SET_ASIDE = 2
    UNREADABLE = 3
    CONDEMNED = 4  # only within the transaction that forgets it
    LOST = 5  # memory was found to lack its items


class Row(NamedTuple):
    """A path as it was when it was last dealt with.

    `trusted` is false when an equal look proves nothing: the file changed while it was read, was
    unreadable, or memory was found to lack its item.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    recipe: int
    trusted: int
    state: int


class Entry(NamedTuple):
    """A row to be written: what was dealt with, and what memory holds of it now."""

    path: str
    look: Look
    recipe: int
    settled: bool
    state: State
    reason: str | None = None
    digest: bytes = b""
    ids: tuple[str, ...] = ()


class Claim(NamedTuple):
    """What the ledger believes memory to hold of a path."""

    digest: bytes
    ids: tuple[str, ...]


NO_LOOK = Look(0, 0, 0, 0)


def signed(value: int) -> int:
    """SQLite's integers are signed 64-bit, inode numbers and far-off times need not be."""
    return (value + 2**63) % 2**64 - 2**63


def kept(look: Look) -> Look:
    """A look as a row has it."""
    return Look(*map(signed, look))
