"""A token bucket: requests leave at once while it holds tokens, then at its rate.

Over any minute it lets through at most `burst + 60 * rate` requests, whoever asks.
"""

from __future__ import annotations

import threading

from syncd.engines.cortex.clock import Clock

# 25 + 60 * 4.5 = 295 of the hosted service's 300 requests a minute: five are left to a command
# that a person runs beside the daemon.
HOSTED_BURST = 25
HOSTED_RATE = 4.5


class Bucket:
    """Tokens for requests; `rate` a second, at most `burst` saved up."""

    def __init__(
        self, clock: Clock, burst: float = HOSTED_BURST, rate: float = HOSTED_RATE
    ) -> None:
        self._clock = clock
        self._burst = burst
        self._rate = rate
        self._lock = threading.Lock()
        self._tokens = burst
        self._filled = clock.now()

    def take(self) -> None:
        """Pause until a request may leave."""
        with self._lock:
            # A token may be owed, so that whoever comes first also leaves first.
            self._fill()
            self._tokens -= 1
            owed = -self._tokens
        if owed > 0:
            self._clock.pause(owed / self._rate)

    def seconds_for(self, requests: int) -> float:
        """How long the next `requests` requests take at least, the answers' own time apart."""
        with self._lock:
            self._fill()
            return max(0.0, (requests - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._clock.now()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
