"""Time as the engine sees it: every pause is one that `close` ends, and one that tests replace."""

from __future__ import annotations

import threading
import time

from syncd.memory.errors import Unavailable


class Clock:
    """The real one."""

    def __init__(self) -> None:
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def now(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since the epoch, as the servers' dates count them."""
        return time.time()

    def pause(self, seconds: float) -> None:
        """Wait; Unavailable as soon as the engine is closed."""
        if self._closed.wait(max(0.0, seconds)):
            raise closed()

    def close(self) -> None:
        self._closed.set()


def closed() -> Unavailable:
    return Unavailable("the engine is closed")
