"""When memory is counted where counting lists everything, and what a lost answer leaves behind."""

from __future__ import annotations

from syncd.memory.reference import ReferenceEngine
from syncd.sync.census import Census, naming_is_cheaper


class Far(ReferenceEngine):
    selects_by_listing = True


def test_a_far_engine_is_counted_once_an_hour() -> None:
    at = [0.0]
    census, far, near = Census(3600.0, lambda: at[0]), Far(), ReferenceEngine()
    assert census.is_due("a", far)
    census.counted("a")
    assert not census.is_due("a", far)
    assert census.is_due("b", far)
    assert census.is_due("a", near)
    at[0] = 3599.0
    assert not census.is_due("a", far)
    at[0] = 3600.0
    assert census.is_due("a", far)


def test_doubts_end_when_claimed_or_when_nothing_can_appear_any_more() -> None:
    at = [0.0]
    census = Census(now=lambda: at[0])
    census.doubt("a", ["1", "2", "3"])
    assert census.left_over("b", []) == ()
    assert census.left_over("a", [("p", ("1", "9"))]) == ["2", "3"]
    at[0] = 59.0
    assert census.left_over("a", [("p", ("3",))]) == ["2"]
    at[0] = 61.0
    assert census.left_over("a", []) == ["2"]
    assert list(census.left_over("a", [])) == []


def test_what_is_cheaper_depends_on_the_source() -> None:
    assert naming_is_cheaper(1, 1, 1000)
    assert naming_is_cheaper(400, 1, 1000)
    assert not naming_is_cheaper(600, 1, 1000)
    assert naming_is_cheaper(600, 3, 1000)
