"""What `status` says of a pass that takes a while: how many files are left, and until when."""

from __future__ import annotations

import time
from collections.abc import Callable

from syncd.memory import MemoryEngine
from syncd.sync.tally import Tally

# A pass that is under way longer than this says so, every so often. A far engine takes longer
# than this for its first batch, so there it is said at once.
_TELL_AFTER = 2.0


class Progress:
    """Called after each file. `outstanding` counts what is left, which costs a scan: asked once.

    `whole`: whether the pass is one of the whole source.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        outstanding: Callable[[], int],
        tell: Callable[..., None],
        whole: bool,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._outstanding = outstanding
        self._tell = tell
        self._now = now
        self._began = now()
        self._next = self._began + (0.0 if whole and engine.selects_by_listing else _TELL_AFTER)
        self._all: int | None = None

    def __call__(self, tally: Tally) -> None:
        now = self._now()
        if now < self._next:
            return
        if self._all is None:
            self._all = tally.examined + self._outstanding()
        self._next = now + _TELL_AFTER
        left = max(0, self._all - tally.examined)
        seconds = self._seconds(tally, left, now - self._began)
        finish = time.time() + seconds if seconds else None
        self._tell(state="syncing", reason=None, pending=left, finish=finish)

    def _seconds(self, tally: Tally, left: int, passed: float) -> float:
        """As fast as so far, but no faster than the engine may be asked."""
        is_sent = tally.stored + tally.replayed > 0
        so_far = passed * left / tally.examined if is_sent and tally.examined else 0.0
        return max(so_far, self._engine.seconds_for(left))
