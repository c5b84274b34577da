"""Sources: what is there now, and what it becomes. They know nothing of ledgers or engines."""

from __future__ import annotations

from syncd.sources.folder import EXTRACTOR_VERSION, FolderSettings, FolderSource
from syncd.sources.marks import MARK_FILES as RULE_FILES
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
    "EXTRACTOR_VERSION",
    "RULE_FILES",
    "Blind",
    "FolderSettings",
    "FolderSource",
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
