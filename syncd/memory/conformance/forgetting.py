"""Checks of forget: exactly what was named goes, is counted, and can come back."""

from __future__ import annotations

from syncd.memory.conformance import specimens
from syncd.memory.conformance.trial import Trial, refused, require, require_same
from syncd.memory.filters import MetaFilter
from syncd.memory.requests import ForgetTarget


def forgets_refused(trial: Trial) -> None:
    """A forget of nothing in particular is refused and removes nothing."""
    id = next(iter(trial.trio))
    before = {hit.id for hit in trial.listed(trial.base)}
    refusals = {
        "no ids": ForgetTarget(ids=()),
        "an empty filter": ForgetTarget(filter=MetaFilter()),
        "neither ids nor a filter": ForgetTarget(),
        "both ids and a filter": ForgetTarget(ids=(id,), filter=trial.base),
    }
    for what, target in refusals.items():
        with refused(f"a forget of {what}"):
            trial.engine.forget(target)
    trial.require_listed(trial.base, before, "after refused forgets, the run")


def forget_ids(trial: Trial) -> None:
    """By id: known ids go and count once each; unknown ones do neither."""
    filter = trial.only(thread_id="forget")
    items = [
        specimens.document(trial.workspace, f"forgotten {n}", thread_id="forget") for n in range(3)
    ]
    a, b, c = trial.store_all(items)
    require_same("known among 5 ids", trial.forgotten(b, "no such id", a, "0" * 40, b), 2)
    trial.require_listed(filter, {c}, "after a forget by id")
    require_same("items got after a forget", [hit.id for hit in trial.got(a, b, c)], [c])
    require_same("items forgotten twice", trial.forgotten(a, b), 0)
    receipt = trial.engine.store(items[0])
    require(not receipt.replayed, "an item that was forgotten is taken for a replay")
    trial.require_listed(filter, {c, receipt.id}, "after storing a forgotten item again")
    require_same("items forgotten", trial.forgotten(c, receipt.id), 2)


def forget_filter(trial: Trial) -> None:
    """By filter: exactly what it admits goes and counts; a path ends on a `/` boundary."""
    paths = ("/gone", "/gone/a", "/gone/a/b", "/gone-not", "/Gone/a", "/a/gone")
    items = [
        specimens.document(trial.workspace, path, file_path=path, thread_id="forget")
        for path in paths
    ]
    ids = trial.store_all(items)
    nothing = trial.forgotten(filter=trial.only(thread_id="forget", file_path="/gon"))
    require_same("items forgotten below a path that is none", nothing, 0)
    gone = trial.forgotten(filter=trial.only(file_path="/gone/"))
    require_same("items forgotten below a path", gone, 3)
    trial.require_listed(trial.only(thread_id="forget"), set(ids[3:]), "after a forget by path")
    require_same("rest forgotten", trial.forgotten(filter=trial.only(thread_id="forget")), 3)


def forget_fields(trial: Trial) -> None:
    """A filter on each single field forgets what it lists, no more and no less."""
    left = trial.ids() | set(trial.specimens.values())
    for case in specimens.cases(trial.workspace):
        carriers = {trial.specimens[item.render_text()] for item in case.carriers}
        gone = trial.forgotten(filter=case.filters[0])
        require_same(f"items forgotten by {case.field}", gone, len(carriers))
        left -= carriers
        trial.require_listed(trial.base, left, f"after a forget by {case.field}, the run")


def clean_up(trial: Trial) -> None:
    """Forgetting the run's workspace leaves nothing of the run."""
    trial.forgotten(filter=trial.base)
    left = [hit for hit in trial.listed(trial.base) if hit.meta.workspace == trial.workspace]
    if left:
        # By id as well, so that a fault of one way does not leave what the other can remove.
        trial.forgotten(*(hit.id for hit in left))
    require(not left, f"a forget of the run's workspace leaves {len(left)} items")
