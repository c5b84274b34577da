"""The suite passes what keeps the contract, catches every fault, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from syncd.memory import (
    Document,
    FetchMode,
    FetchPage,
    FetchRequest,
    Item,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    SourceRef,
    StoreReceipt,
    conformance,
)
from syncd.memory.conformance import CHECKS, ConformanceError
from syncd.memory.reference import ReferenceEngine
from tests.memory.broken import FAULTS, Fault, forgetting
from tests.memory.broken.table import FILTER_FIELDS

# A suite cannot protect what an engine destroys when it is asked to forget something else.
DESTRUCTIVE = {"IgnoresAField-workspace", "EmptyFilterForgetsAll"}
SUBSETS = [subset for size in range(4) for subset in combinations(FetchMode, size)]


def foreign_items() -> list[Document]:
    """What may be in memory already: like the suite's own items, but for the workspace."""
    text = "harbour at a node"
    metas = [
        MemoryMeta(),
        MemoryMeta(workspace="conformance-", tags=("nodes", "kinds", "blue")),
        MemoryMeta(workspace="/home/me", file_path="/gone/a", thread_id="forget"),
        MemoryMeta(language="language_a%b", source=SourceRef(id="source_a")),
    ]
    return [Document(text, meta=meta) for meta in metas]


def contents(engine: ReferenceEngine) -> list[object]:
    return list(engine.list(ListRequest(MetaFilter(), 10_000)).items)


def left_of_runs(engine: ReferenceEngine) -> list[Item]:
    """Read from the dict itself: a broken engine's own list proves nothing."""
    items = engine._items.values()
    return [item for item in items if (item.meta.workspace or "").startswith("conformance-")]


@pytest.mark.parametrize("modes", SUBSETS, ids=lambda modes: "+".join(modes) or "none")
def test_the_reference_engine_conforms_whatever_modes_it_declares(
    modes: tuple[FetchMode, ...],
) -> None:
    report = conformance.run(ReferenceEngine(modes), settle=0)
    assert report.checks == CHECKS
    assert report.workspace.startswith("conformance-")


def test_runs_follow_each_other_and_leave_foreign_items_as_they_were() -> None:
    engine = ReferenceEngine()
    engine.store_many(foreign_items())
    before = contents(engine)
    first, second = (conformance.run(engine, settle=0) for _ in range(2))
    assert first.workspace != second.workspace
    assert contents(engine) == before


def test_a_run_id_names_the_workspace() -> None:
    assert conformance.run(ReferenceEngine(), run_id="07").workspace == "conformance-07"


def test_everything_written_carries_the_workspace_of_the_run() -> None:
    written: list[Item] = []

    class Watched(ReferenceEngine):
        def store(self, item: Item) -> StoreReceipt:
            written.append(item)
            return super().store(item)

    report = conformance.run(Watched(), settle=0)
    assert {item.meta.workspace for item in written} == {report.workspace}


def test_few_writes_are_enough_because_remote_engines_are_slow() -> None:
    calls: list[int] = []

    class Counted(ReferenceEngine):
        def store(self, item: Item) -> StoreReceipt:
            return self.store_many([item])[0]

        def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
            calls.append(len(items))
            return [ReferenceEngine.store(self, item) for item in items]

    with pytest.raises(ConformanceError):  # it accepts an empty batch
        conformance.run(Counted(), settle=0)
    assert len(calls) < 20


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_fault_is_caught_by_the_check_meant_for_it(fault: Fault) -> None:
    engine = fault.build()
    assert isinstance(engine, ReferenceEngine)
    with pytest.raises(ConformanceError) as caught:
        conformance.run(engine, settle=0)
    assert caught.value.check == fault.check
    assert fault.detail in caught.value.detail
    assert str(caught.value) == f"{caught.value.check}: {caught.value.detail}"
    engine_forgets = not fault.check.startswith(("forget", "clean_up"))
    assert not (engine_forgets and left_of_runs(engine))


def test_every_check_catches_at_least_one_fault() -> None:
    assert {fault.check for fault in FAULTS} == set(CHECKS)


def test_every_filter_field_is_ignored_by_one_broken_engine_each_way() -> None:
    names = {fault.name for fault in FAULTS}
    for field in set(FILTER_FIELDS) - {"reach"}:
        assert {f"IgnoresAField-{field}", f"FetchIgnoresAField-{field}"} <= names


@pytest.mark.parametrize("check", CHECKS)
def test_a_failed_run_leaves_nothing_and_spares_foreign_items(check: str) -> None:
    fault = next(fault for fault in FAULTS if fault.check == check)
    engine = fault.build()
    assert isinstance(engine, ReferenceEngine)
    mine = Document("mine", meta=MemoryMeta(workspace="mine", file_path="/gone/a"))
    id = ReferenceEngine.store(engine, mine).id
    with pytest.raises(ConformanceError):
        conformance.run(engine, settle=0)
    spared = mine if fault.name not in DESTRUCTIVE else None
    assert engine._items.get(id) == spared
    assert left_of_runs(engine) == []


def test_a_failure_of_the_clean_up_does_not_hide_the_first_error() -> None:
    class Both(forgetting.CannotCleanUp):
        def health(self) -> object:  # type: ignore[override]
            raise RuntimeError("the first error")

    with pytest.raises(ConformanceError) as caught:
        conformance.run(Both(), settle=0)
    assert caught.value.check == "health"
    assert "the first error" in caught.value.detail
    assert any("the disk is full" in note for note in caught.value.__notes__)


def test_what_a_forget_by_filter_leaves_is_removed_by_id() -> None:
    engine = forgetting.KeepsTheLastItem()
    with pytest.raises(ConformanceError):
        conformance.run(engine, settle=0)
    assert left_of_runs(engine) == []


def test_an_interrupted_run_cleans_up_too() -> None:
    class Interrupted(ReferenceEngine):
        def fetch(self, request: FetchRequest) -> FetchPage:
            raise KeyboardInterrupt

    engine = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        conformance.run(engine, settle=0)
    assert contents(engine) == []


class RanksLate(ReferenceEngine):
    """All but the last item of a batch reach ranked reads only some fetches later."""

    def __init__(self, fetches: int) -> None:
        super().__init__()
        self.fetches = fetches
        self.late: dict[str, int] = {}

    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        receipts = super().store_many(items)
        self.late.update({receipt.id: self.fetches for receipt in receipts[:-1]})
        return receipts

    def fetch(self, request: FetchRequest) -> FetchPage:
        page = super().fetch(request)
        self.late = {id: left - 1 for id, left in self.late.items() if left > 1}
        return replace(page, hits=tuple(hit for hit in page.hits if hit.id not in self.late))


def test_ranked_reads_may_lag_as_long_as_they_settle() -> None:
    conformance.run(RanksLate(3), settle=10)
    with pytest.raises(ConformanceError) as caught:
        conformance.run(RanksLate(3), settle=0)
    assert caught.value.check == "filters_fetch"


def test_the_suite_is_reached_from_the_package_without_weighing_on_it() -> None:
    from syncd.memory import conformance as reached

    assert reached.run is conformance.run
    assert issubclass(ConformanceError, Exception)
    assert ConformanceError("check", "detail").detail == "detail"
