"""What is said of the sources: in the ledger for `status`, and once in the log when it is news."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from syncd.daemon.books import Books
from syncd.sync.errors import LedgerError
from syncd.sync.tally import Tally

log = logging.getLogger("syncd")
# A reason that keeps changing its wording is told this often, in seconds.
_SAME_TROUBLE = 60.0


class _Told(NamedTuple):
    state: str = "idle"
    reason: str | None = None
    at: float = 0.0


class Telling:
    """Notes states. `said` gets each new status line."""

    def __init__(self, books: Books, said: Callable[[str], None]) -> None:
        self._books = books
        self._said = said
        self._told: dict[str, _Told] = {}
        self._is_silent = False

    def state(
        self, source: str, state: str, reason: str | None, pending: int | None = None
    ) -> None:
        """Write a source's state down, and say it when it is another than before."""
        fields: dict[str, object] = {"state": state, "reason": reason}
        if pending is not None:
            fields |= {"pending": pending, "finish": None}
        self.note(source, **fields)
        if self._is_news(source, state, reason):
            self._say(f"{source}: {state}", reason)

    def engine(self, reason: str | None) -> None:
        """Say that the engine does not serve, or that it does again: once for all sources."""
        if self._is_news("", "idle" if reason is None else "failing", reason):
            what = "the engine serves" if reason is None else "the engine does not serve"
            self._say(what, reason)

    def note(self, source: str, **fields: object) -> None:
        """Write fields of a source's record down; a ledger that cannot be written is told once."""
        ledger = self._books.current
        if ledger is None:
            return
        try:
            ledger.note(source, **fields)
            self._is_silent = False
        except LedgerError as error:
            if not self._is_silent:
                log.warning("%s", error)
            self._is_silent = True

    def changed(self, tally: Tally) -> None:
        """Say what a pass did, when it did something."""
        if tally.changed:
            line = f"{tally.source}: {tally.stored} stored, {tally.forgotten} forgotten"
            log.info("%s", line)
            self._said(line)

    def _is_news(self, about: str, state: str, reason: str | None) -> bool:
        before = self._told.get(about, _Told())
        if before[:2] == (state, reason):
            return False
        now = time.monotonic()
        if state == before.state and reason is not None and now - before.at < _SAME_TROUBLE:
            return False
        self._told[about] = _Told(state, reason, now)
        return reason is not None or before.reason is not None

    def _say(self, what: str, reason: str | None) -> None:
        if reason is not None:
            log.warning("%s: %s", what, reason)
        else:
            log.info("%s again", what)
        self._said(what if reason is None else f"{what}: {reason}")
