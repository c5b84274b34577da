"""Sources: what is there now, and what it becomes. They know nothing of ledgers or engines.

Values and names are here at once; the folder source, with its patterns and its tables of file
types, is fetched when it is first named, because most commands do without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    SourceBusy,
    SourceUnavailable,
    Unchanged,
    Unreadable,
)

if TYPE_CHECKING:
    from syncd.sources.folder import EXTRACTOR_VERSION, FolderSettings, FolderSource
    from syncd.sources.marks import MARK_FILES as RULE_FILES
else:
    _LATE = {
        "EXTRACTOR_VERSION": ("folder", "EXTRACTOR_VERSION"),
        "FolderSettings": ("folder", "FolderSettings"),
        "FolderSource": ("folder", "FolderSource"),
        "RULE_FILES": ("marks", "MARK_FILES"),
    }

    def __getattr__(name: str) -> object:
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module, attribute = _LATE[name]
        return getattr(import_module(f"{__name__}.{module}"), attribute)


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
    "SourceBusy",
    "SourceUnavailable",
    "Unchanged",
    "Unreadable",
    "escape",
    "printable",
    "unescape",
]
