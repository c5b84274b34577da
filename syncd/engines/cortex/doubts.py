"""Writes that may yet appear: accepted but not listed so far, or sent without a clear answer.

Replay detection looks into a listing that lags, so a repeated store would write these again; it
waits for them instead. Kept in memory: a restart takes longer than the lag.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from syncd.engines.cortex.clock import Clock

ACCEPTED = 600.0
"""Seconds for which an event with an id is waited for rather than written again."""


class Doubt(NamedTuple):
    """Which events of an item may appear, and until when (in the clock's seconds)."""

    indexes: frozenset[int]
    until: float


class Doubts:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: dict[str, Doubt] = {}

    def note(self, id: str, indexes: Iterable[int], seconds: float) -> None:
        """The events `indexes` of item `id` may appear within `seconds`."""
        if seconds <= 0:
            return
        until = self._clock.now() + seconds
        with self._lock:
            before = self._open.get(id, Doubt(frozenset(), 0.0))
            self._open[id] = Doubt(before.indexes | set(indexes), max(before.until, until))

    def clear(self, ids: Iterable[str]) -> None:
        with self._lock:
            for id in ids:
                self._open.pop(id, None)

    def among(self, ids: Iterable[str]) -> dict[str, Doubt]:
        """The doubts about `ids` that are not over yet."""
        now = self._clock.now()
        with self._lock:
            if not self._open:
                return {}
            for id in [id for id, doubt in self._open.items() if doubt.until <= now]:
                del self._open[id]
            return {id: self._open[id] for id in ids if id in self._open}
