"""When memory is counted, and which items may lie in it that the ledger does not know of.

An engine that selects by listing would read a whole source over the network to count it. It is
asked at the first whole pass of a process and once an hour; in between, what a failed store may
have left behind is remembered, and sent to be forgotten unless the ledger comes to claim it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from syncd.memory import MemoryEngine

EVERY_SECONDS = 3600.0
# A write whose answer was lost may turn up this much later; until then it is looked for again.
_MAY_APPEAR_SECONDS = 60.0
# A lookup names so many ids, a page of a listing holds so many items.
_NAMED_AT_ONCE = 50
_LISTED_AT_ONCE = 100


class Census:
    """What one process knows of how its sources' items were counted. `now` is in seconds."""

    def __init__(
        self, every: float = EVERY_SECONDS, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._every = every
        self._now = now
        self._counted: dict[str, float] = {}
        self._doubts: dict[str, dict[str, float]] = defaultdict(dict)

    def is_due(self, source: str, engine: MemoryEngine) -> bool:
        """Whether a source's items are to be counted before a whole pass."""
        last = self._counted.get(source)
        return not engine.selects_by_listing or last is None or self._now() - last >= self._every

    def counted(self, source: str) -> None:
        """The ledger and memory were found, or made, to agree."""
        self._counted[source] = self._now()

    def doubt(self, source: str, ids: Iterable[str]) -> None:
        """These items were sent, and nobody knows whether they arrived."""
        self._doubts[source].update(dict.fromkeys(ids, self._now()))

    def left_over(
        self, source: str, claims: Iterable[tuple[str, tuple[str, ...]]]
    ) -> Sequence[str]:
        """Doubtful items that no path claims after a whole pass; they are to be forgotten."""
        doubts = self._doubts.pop(source, {})
        if not doubts:
            return ()
        claimed = {id for _, ids in claims for id in ids}
        over = {id: at for id, at in doubts.items() if id not in claimed}
        late = self._now() - _MAY_APPEAR_SECONDS
        self._doubts[source] = {id: at for id, at in over.items() if at > late}
        return list(over)


def naming_is_cheaper(ids: int, filters: int, items: int) -> bool:
    """Whether looking up `ids` costs less than `filters` listings of a source of `items`."""
    return ids / _NAMED_AT_ONCE < filters * items / _LISTED_AT_ONCE
