"""Properties of what falls due, over any sequence of hints."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.daemon.hints import (
    LONGEST_TOUCHED,
    MOST_IN_ALL,
    Due,
    Hint,
    Kind,
    Pending,
    parents,
)

ROOT = "/r"


PATHS = st.builds(
    lambda parts: "/r" + "".join(f"/{part}" for part in parts),
    st.lists(st.sampled_from(["a", "b", "ab", "c\n", "\udcff"]), max_size=4),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(Kind), PATHS),
        st.tuples(st.just("burst"), st.sampled_from(Kind), PATHS, st.integers(1, 700)),
        st.tuples(st.just("wait"), st.sampled_from([0.0, 0.01, 0.2, 0.3, 1.0, 6.0, 40.0])),
        st.tuples(st.just("take")),
    ),
    max_size=40,
)


def hints_of(step: tuple[object, ...]) -> Iterable[Hint]:
    kind, path = step[1], step[2]
    assert isinstance(kind, Kind)
    assert isinstance(path, str)
    if kind is Kind.LOST:
        return [Hint(kind, ROOT)]
    if step[0] == "add":
        return [Hint(kind, path)]
    count = step[3]
    assert isinstance(count, int)
    return [Hint(kind, f"{path}/{number % 7}/{number}") for number in range(count)]


def covers(due: Due, hint: Hint) -> bool:
    if due.everything:
        return True
    if hint.kind is Kind.LOST:
        return False
    above = {hint.path, *parents(hint.path)}
    return not above.isdisjoint(due.trees) or (
        hint.kind is not Kind.TREE and hint.path in due.paths
    )


class Model:
    """The hints that still wait; `take` ticks off what a Due covers."""

    def __init__(self) -> None:
        self.pending = Pending()
        self.waiting: dict[Hint, float] = {}

    def add(self, hint: Hint, now: float) -> None:
        self.waiting.setdefault(hint, now)
        self.pending.add(hint, now)
        at = self.pending.next_due()
        assert at is not None
        assert at <= now + LONGEST_TOUCHED, "nothing waits longer than the longest pause"

    def take(self, now: float) -> None:
        due = self.pending.due(now)
        if due is None:
            at = self.pending.next_due()
            assert at is None or at > now, "a loop that waits for next_due never spins"
            return
        assert not due.everything or not (due.paths or due.trees)
        assert len(due.paths) + len(due.trees) <= MOST_IN_ALL
        for hint in [hint for hint in self.waiting if covers(due, hint)]:
            del self.waiting[hint]
            assert hint.kind is not Kind.GONE or due.witnessed(hint.path)


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_no_hint_is_lost_and_no_removal_forgotten(steps: list[tuple[object, ...]]) -> None:
    model, now = Model(), 1000.0
    for step in steps:
        if step[0] == "wait":
            assert isinstance(step[1], float)
            now += step[1]
        elif step[0] == "take":
            model.take(now)
        else:
            for hint in hints_of(step):
                model.add(hint, now)
    model.take(now + 2 * LONGEST_TOUCHED)
    assert not model.waiting
    assert len(model.pending) == 0


@settings(max_examples=50, deadline=None)
@given(STEPS)
def test_removals_are_never_invented(steps: list[tuple[object, ...]]) -> None:
    pending, removed = Pending(), set()
    for step in steps:
        if step[0] in ("add", "burst"):
            for hint in hints_of(step):
                pending.add(hint, 0.0)
                removed |= {hint.path} if hint.kind is Kind.GONE else set()
    due = pending.due(LONGEST_TOUCHED)
    assert (due.gone if due else frozenset()) == removed


def test_all_that_waits_is_handed_out_early_when_somebody_asks() -> None:
    pending = Pending()
    pending.add(Hint(Kind.GONE, "/r/a"), 1.0)
    pending.add(Hint(Kind.TOUCHED, "/r/b"), 1.0)
    assert pending.due(1.0) is None
    due = pending.due(1.0, early=True)
    assert due == Due(("/r/a", "/r/b"), gone=frozenset(["/r/a"]))
    assert pending.due(9.0, early=True) is None


@pytest.mark.parametrize(
    ("hint", "whole"),
    [
        (Hint(Kind.LOST, "/r"), True),
        (Hint(Kind.TREE, "/r"), True),
        (Hint(Kind.TREE, "/r/d"), False),
        (Hint(Kind.SAVED, "/r/a"), False),
    ],
)
def test_whether_the_whole_source_waits_is_known(hint: Hint, whole: bool) -> None:
    pending = Pending()
    assert not pending.is_whole("/r")
    pending.add(hint, 1.0)
    assert pending.is_whole("/r") is whole
    pending.due(99.0)
    assert not pending.is_whole("/r")
