"""What a pass did, counted; and how it ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Tally:
    """Counts of one pass of one source. `left_out` counts by reason what the pass came upon."""

    source: str
    examined: int = 0
    stored: int = 0
    replayed: int = 0
    forgotten: int = 0
    held: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    set_aside: list[tuple[str, str]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether memory is another than before."""
        return bool(self.stored or self.forgotten)

    @property
    def in_step(self) -> bool:
        """Whether everything that was met is in memory as it is on the disk."""
        return not (self.held or self.set_aside or self.unread)

    def as_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "examined": self.examined,
            "stored": self.stored,
            "replayed": self.replayed,
            "forgotten": self.forgotten,
            "held": self.held,
            "skipped": dict(self.left_out),
            "set_aside": [{"path": path, "reason": why} for path, why in self.set_aside],
            "unread": [{"path": path, "reason": why} for path, why in self.unread],
            "in_step": self.in_step,
        }
