"""Pages of a ranked search: a cursor carries what was handed out, so nothing comes twice.

Ranks move while others write. What was seen is therefore left out by name, not by place, and
what was stored after the first page is not looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from syncd.engines.local import cursors
from syncd.engines.local.search import Found


class Past(NamedTuple):
    """What earlier pages showed: up to which item they looked, their lowest score, their rows."""

    top: int
    lowest: float
    seen: frozenset[int]

    def after(self, page: Sequence[Found]) -> Past:
        """The past once `page` was shown as well."""
        return Past(self.top, page[-1].score, self.seen | {found.seq for found in page})


def start(next_seq: int) -> Past:
    """The past of a first page, asked when `next_seq` was the next number to be given."""
    return Past(next_seq - 1, float("inf"), frozenset())


def turn(found: Iterable[Found], past: Past, limit: int) -> tuple[list[Found], bool]:
    """The next `limit` rows, scores never rising from page to page, and whether more remain."""
    page: list[Found] = []
    lowest = past.lowest
    for seq, score in found:
        if seq in past.seen:
            continue
        if len(page) == limit:
            return page, True
        lowest = min(lowest, score)
        page.append(Found(seq, lowest))
    return page, False


def write(past: Past, bound: bytes) -> str:
    """The cursor that carries `past`."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", past.lowest))
    return cursors.write([past.top, bits, *cursors.ascending(past.seen)], bound)


def read(cursor: str | None, bound: bytes) -> Past | None:
    """The past that a cursor carries; InvalidRequest when it is not one of this search."""
    if cursor is None:
        return None
    top, bits, *steps = cursors.read(cursor, bound)
    (lowest,) = struct.unpack("<d", struct.pack("<Q", bits))
    return Past(top, lowest, frozenset(cursors.from_ascending(steps)))
