"""What every engine must pass (contract 2, "Conformance"): `run(engine)`.

A run writes only under a workspace of its own and forgets it at the end, even after a failure,
so it may be let loose on an engine that holds other items.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from syncd.memory.conformance import counting, finding, forgetting, placing, storing
from syncd.memory.conformance.trial import ConformanceError, Failure, Trial
from syncd.memory.engine import MemoryEngine

__all__ = ["CHECKS", "ConformanceError", "Report", "run"]

# In an order that lets each check rely on what those before it have shown.
_CHECKS: Mapping[str, Callable[[Trial], None]] = MappingProxyType(
    {
        "health": storing.health,
        "paging": storing.paging,
        "kinds": storing.kinds,
        "replay": storing.replay,
        "store_many": storing.store_many,
        "batches_refused": storing.batches_refused,
        "items_refused": storing.items_refused,
        "get": storing.get,
        "gets_refused": storing.gets_refused,
        "filters": finding.filters,
        "explore_counts": counting.explore_counts,
        "explore_narrow": counting.explore_narrow,
        "explore_limit": counting.explore_limit,
        "modes": finding.modes,
        "filters_fetch": finding.filters_fetch,
        "fetch_pages": finding.fetch_pages,
        "reads_refused": finding.reads_refused,
        "cursors": finding.cursors,
        "recall": finding.recall,
        "twins": placing.twins,
        "reach_list": placing.reach_list,
        "reach_get": placing.reach_get,
        "reach_fetch": placing.reach_fetch,
        "namespace_facet": placing.namespace_facet,
        "forget_at_node": placing.forget_at_node,
        "forgets_refused": forgetting.forgets_refused,
        "forget_ids": forgetting.forget_ids,
        "forget_filter": forgetting.forget_filter,
        "forget_fields": forgetting.forget_fields,
    }
)
_CLEAN_UP = "clean_up"

CHECKS: tuple[str, ...] = (*_CHECKS, _CLEAN_UP)
"""The names of all checks, in the order in which they run."""


@dataclass(frozen=True, slots=True)
class Report:
    """A run that found nothing wrong: where it wrote, and the checks that the engine passed."""

    workspace: str
    checks: tuple[str, ...]


def run(engine: MemoryEngine, *, run_id: str | None = None, settle: float = 10.0) -> Report:
    """Try `engine` against the whole contract.

    `settle` is how many seconds a ranked read may lag behind a batch. Raises ConformanceError for
    the first check that fails.
    """
    workspace = f"conformance-{run_id or secrets.token_hex(8)}"
    trial = Trial(engine, workspace, settle)
    try:
        for name, check in _CHECKS.items():
            _perform(name, check, trial)
    except BaseException as error:
        _clean_up_after(error, trial)
        raise
    _perform(_CLEAN_UP, forgetting.clean_up, trial)
    return Report(workspace, CHECKS)


def _perform(name: str, check: Callable[[Trial], None], trial: Trial) -> None:
    try:
        check(trial)
    except Failure as failure:
        raise ConformanceError(name, str(failure)) from failure.__cause__
    except Exception as error:
        raise ConformanceError(name, f"{type(error).__name__}: {error}") from error


def _clean_up_after(error: BaseException, trial: Trial) -> None:
    """Forget the run; what fails here is only a note on the error that ended the run."""
    try:
        _perform(_CLEAN_UP, forgetting.clean_up, trial)
    except ConformanceError as second:
        error.add_note(f"and the run could not be cleaned up: {second.detail}")
