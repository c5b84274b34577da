"""How long the engine is left alone after it failed. One pause holds for every source."""

from __future__ import annotations

import time
from collections.abc import Callable

from syncd.daemon.desk import Pace, Patience
from syncd.memory.errors import MemoryError, Unauthorized, Unavailable


class Rest:
    """`stamp` tells keys apart without reading them, so that a new one ends the pause at once."""

    def __init__(self, pace: Pace, stamp: Callable[[], object] = lambda: None) -> None:
        self._pace = pace
        self._stamp = stamp
        self._patience = Patience(pace.engine, pace.first)
        self._until = 0.0
        self._is_refused = False
        self._used: object = None

    def before(self) -> None:
        """A pass begins; a key that is changed from now on is another one."""
        self._used = self._stamp()

    def begin(self, error: MemoryError) -> None:
        """The engine failed: leave it alone for longer than the last time, or as it asked."""
        pause = self._patience.next()
        self._is_refused = isinstance(error, Unauthorized)
        if self._is_refused:
            pause = max(pause, self._pace.refused)
        if isinstance(error, Unavailable) and error.retry_after is not None:
            pause = max(pause, min(error.retry_after, self._pace.asked))
        self._until = time.monotonic() + pause

    def end(self) -> None:
        """The engine serves, or somebody says so."""
        self._patience.reset()
        self._until = 0.0
        self._is_refused = False

    def is_over(self, now: float) -> bool:
        """Whether the engine may be asked."""
        if self._is_refused and now < self._until and self._stamp() != self._used:
            self.end()
        return now >= self._until

    def next_look(self, now: float) -> float:
        """When to ask `is_over` again; it is no later than the pause's end."""
        key = self._stamp() if self._is_refused else None
        return self._until if key is None else min(self._until, now + self._pace.key)
