"""The daemon's one open ledger: begun anew when its file is damaged, moved away or deleted."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from syncd.sync.errors import LedgerError, LedgerUnavailable
from syncd.sync.ledger import Ledger, move_aside

log = logging.getLogger("syncd")


class Books:
    """Opens the ledger with `open_ledger`, at once and whenever the one it had cannot be used."""

    def __init__(self, open_ledger: Callable[[], Ledger]) -> None:
        self._open = open_ledger
        self._path = ""
        self._identity: tuple[int, int] | None = None
        self._ledger: Ledger | None = None
        self.opened = 0  # how often; whoever planned on an earlier ledger has to look again
        self.ledger()

    def ledger(self) -> Ledger:
        """The ledger that lies at its path now. Raises LedgerError when there can be none."""
        if self._ledger is not None and _identity(self._path) != self._identity:
            # SQLite would go on writing into a file that nobody finds any more
            log.warning("%s was moved or deleted; it is begun anew", self._path)
            self.close()
        if self._ledger is None:
            self._ledger = self._opened()
            self._path = os.fspath(self._ledger.path)
            self._identity = _identity(self._path)
            self.opened += 1
        return self._ledger

    @property
    def current(self) -> Ledger | None:
        """The ledger that is open, if any; it may have been deleted behind our back."""
        return self._ledger

    def discard(self, damaged: Path) -> None:
        """Keep a damaged ledger under another name; the next `ledger()` begins a new one."""
        self.close()
        try:
            kept = move_aside(damaged)
        except OSError as error:
            log.warning("%s is damaged and cannot be moved aside: %s", damaged, error.strerror)
        else:
            log.warning("%s is damaged: kept as %s, begun anew", damaged, kept.name)

    def close(self) -> None:
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            try:
                ledger.close()
            except sqlite3.Error as error:  # a damaged file may refuse its checkpoint
                log.debug("the ledger did not close cleanly: %s", error)

    def _opened(self) -> Ledger:
        try:
            return self._open()
        except LedgerError:
            raise
        except Exception as error:
            # the lock of a state directory that was deleted, say: as passing as a full disk
            raise LedgerUnavailable(Path(self._path), str(error)) from error


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
