"""What the worker is given to do: passes that fell due, and those that somebody waits for."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import NamedTuple

from syncd.daemon.desk import Desk
from syncd.memory.errors import MemoryError
from syncd.sync.errors import LedgerError
from syncd.sync.scope import Scope
from syncd.sync.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """A whole pass that somebody waits for; it goes before everything that merely falls due."""

    source: str
    accept_deletions: bool = False
    dry_run: bool = False
    done: Future[Tally] = field(default_factory=Future)


class Task(NamedTuple):
    """One pass to be made."""

    desk: Desk
    scope: Scope
    order: Order | None = None


class Overtaken(Exception):
    """A pass inside this one met something that ends this one too; `cause` says what."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def concerns_others(task: Task, error: Exception) -> bool:
    """Whether what stopped an inner pass stops the outer one as well."""
    if task.order is not None and task.order.dry_run:
        return False
    return task.desk.under_way or isinstance(error, MemoryError | LedgerError)
