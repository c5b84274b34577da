"""What can go wrong with syncd's own books, as types that carry their data.

LedgerError
├── LedgerDamaged       the file is no ledger any more; it was moved aside or must be
└── LedgerUnavailable   it cannot be read or written now (disk full, locked, read-only)
"""

from __future__ import annotations

from pathlib import Path

from syncd.sources.seen import Stopped

__all__ = ["LedgerDamaged", "LedgerError", "LedgerUnavailable", "Stopped"]


class LedgerError(Exception):
    """Base: `path` is the ledger's file, `detail` what SQLite said of it."""

    def __init__(self, path: Path, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


class LedgerDamaged(LedgerError):
    """The file is not a ledger that this version can read."""


class LedgerUnavailable(LedgerError):
    """The ledger cannot be read or written at the moment."""
