"""The state directory as commands use it: held, its ledger opened, or only looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from syncd.cli.errors import Exit, UserError, of_the_system
from syncd.cli.output import note

if TYPE_CHECKING:
    from syncd.config import Config
    from syncd.sync.ledger import Ledger
    from syncd.sync.lock import StateLock

# with its time, and not the log files that SQLite kept beside it
_ASIDE = "ledger.db.damaged-*[0-9]"


@contextmanager
def holding(config: Config) -> Iterator[StateLock]:
    """Hold the state. Raises StateLocked, and UserError where it cannot be kept at all."""
    from syncd.sync.lock import StateLock

    lock = StateLock(config.state)
    try:
        lock.acquire()
    except OSError as error:
        raise UserError(_unusable(of_the_system(error)), Exit.NOT_SERVING) from error
    with lock:
        yield lock


@contextmanager
def opened(config: Config) -> Iterator[Ledger]:
    """The ledger, while the state is held. Says so when a damaged one had to be moved aside."""
    from syncd.sync.ledger import Ledger

    before = set(config.state.glob(_ASIDE))
    with closing(Ledger.open(config.state)) as ledger:
        for aside in set(config.state.glob(_ASIDE)) - before:
            note(f"the ledger was damaged: it is kept as {aside}, and a new one is begun")
        yield ledger


@contextmanager
def copied(config: Config) -> Iterator[Ledger]:
    """A copy of the ledger in this process's own memory, to work out what a pass would do.

    Empty where there is no ledger, or a damaged one, which a sync would begin anew.
    """
    import sqlite3

    from syncd.sync.errors import LedgerDamaged
    from syncd.sync.ledger import Ledger
    from syncd.sync.schema import SCHEMA

    try:
        there = Ledger.read(config.state)
    except LedgerDamaged:
        there = None
    copy = sqlite3.connect(":memory:", isolation_level=None)
    with closing(Ledger(config.state / "ledger.db", copy)) as ledger:
        if there is None:
            copy.executescript(SCHEMA)
        else:
            with closing(there), closing(sqlite3.connect(_read_only(there.path), uri=True)) as file:
                file.backup(copy)
        yield ledger


def _read_only(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro"


def trouble(state: Path) -> str | None:
    """Why the state cannot be kept in a directory, or None; nothing is made to find out."""
    place = state
    while not os.path.lexists(place):
        place = place.parent
    if not place.is_dir():
        return _unusable(f"{place} is not a folder: move it away, or name another place")
    if not os.access(place, os.W_OK | os.X_OK):
        return _unusable(f"{place} cannot be written: check its permissions")
    return None


def _unusable(why: str) -> str:
    return f"the state cannot be kept: {why}"
