"""Sources: what is there now, and what it becomes. They know nothing of ledgers or engines."""

from __future__ import annotations

from syncd.sources.names import escape, printable, unescape
from syncd.sources.seen import (
    Blind,
    LeftOut,
    Look,
    Outcome,
    Reading,
    Root,
    Seen,
    Sighting,
    Skip,
    SourceUnavailable,
    Unreadable,
)

__all__ = [
    "Blind",
    "LeftOut",
    "Look",
    "Outcome",
    "Reading",
    "Root",
    "Seen",
    "Sighting",
    "Skip",
    "SourceUnavailable",
    "Unreadable",
    "escape",
    "printable",
    "unescape",
]
