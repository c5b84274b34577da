"""What falls due when: an example for each rule."""

from __future__ import annotations

from itertools import pairwise

import pytest

from syncd.daemon.hints import (
    GRACE,
    HOLD,
    LATEST_SETTLE,
    LONGEST_HOLD,
    LONGEST_TOUCHED,
    MANY_GONE,
    MOST_IN_ALL,
    MOST_IN_DIRECTORY,
    SETTLE,
    Due,
    Hint,
    Kind,
    Pending,
    parent_of,
    parents,
)

ROOT = "/r"


def add(pending: Pending, now: float, kind: Kind, *paths: str) -> None:
    for path in paths:
        pending.add(Hint(kind, path), now)


def drain(pending: Pending, now: float) -> tuple[Due, float]:
    """The next thing that falls due, and when, as a loop would take it."""
    at = pending.next_due()
    assert at is not None
    due = pending.due(max(at, now))
    assert due is not None
    return due, max(at, now)


# --- at once


@pytest.mark.parametrize("kind", [Kind.SAVED, Kind.TREE])
def test_a_first_change_is_due_at_once(kind: Kind) -> None:
    pending = Pending()
    add(pending, 7.0, kind, "/r/a")
    assert pending.next_due() == 7.0
    due = pending.due(7.0)
    assert due is not None
    assert due.paths + due.trees == ("/r/a",)
    assert not due.everything
    assert not due.gone
    assert len(pending) == 0
    assert pending.due(7.0) is None
    assert pending.next_due() is None
    assert pending.oldest(8.0) is None


def test_the_age_of_the_oldest_change() -> None:
    pending = Pending()
    add(pending, 1.0, Kind.TOUCHED, "/r/a")
    add(pending, 1.2, Kind.TOUCHED, "/r/b")
    assert pending.oldest(1.5) == pytest.approx(0.5)
    add(pending, 1.6, Kind.TREE, "/r")
    assert pending.oldest(2.0) == pytest.approx(1.0), "a directory is as old as what it swallowed"


def test_lost_events_are_everything_and_everything_swallows_all() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.GONE, "/r/a")
    add(pending, 0.0, Kind.TREE, "/r/d")
    add(pending, 0.0, Kind.LOST, ROOT)
    add(pending, 0.0, Kind.SAVED, "/r/b")
    assert pending.due(0.0) == Due(gone=frozenset({"/r/a"}), everything=True)
    assert len(pending) == 0


# --- removals


def test_a_removal_waits_a_moment_for_an_editor_that_puts_the_file_back() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.GONE, "/r/a")
    assert pending.due(GRACE - 0.01) is None
    assert pending.due(GRACE) == Due(paths=("/r/a",), gone=frozenset({"/r/a"}))


def test_moved_away_and_written_anew_is_one_look_at_once() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.GONE, "/r/c.md")
    add(pending, 0.4, Kind.TOUCHED, "/r/c.md")
    assert pending.due(0.4) is None
    add(pending, 0.41, Kind.SAVED, "/r/c.md")
    due = pending.due(0.41)
    assert due is not None
    assert due.paths == ("/r/c.md",)
    assert due.witnessed("/r/c.md")
    assert len(pending) == 0


def test_a_save_that_nobody_fetched_and_a_removal_wait_again() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.SAVED, "/r/a")
    add(pending, 0.1, Kind.GONE, "/r/a")
    assert pending.due(0.2) is None
    assert pending.due(0.1 + GRACE) is not None


def test_a_removal_does_not_delay_the_directory_that_it_lies_in() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.TREE, "/r/d")
    add(pending, 0.0, Kind.GONE, "/r/d/a")
    assert pending.due(0.0) == Due(trees=("/r/d",), gone=frozenset({"/r/d/a"}))


def test_the_removal_of_a_directory_witnesses_all_below_it() -> None:
    due = Due(gone=frozenset({"/r/d"}))
    assert due.witnessed("/r/d")
    assert due.witnessed("/r/d/x/y")
    assert not due.witnessed("/r/dx")
    assert not due.witnessed("/r")


# --- held


def test_what_was_just_handed_out_is_held_until_it_is_quiet() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.SAVED, "/r/a")
    assert pending.due(0.0)
    add(pending, 0.1, Kind.SAVED, "/r/a")
    assert pending.next_due() == pytest.approx(0.1 + HOLD)
    add(pending, 0.3, Kind.SAVED, "/r/a")
    assert pending.due(0.1 + HOLD) is None
    assert pending.next_due() == pytest.approx(0.3 + HOLD)
    assert pending.due(0.3 + HOLD)


def test_saves_that_are_further_apart_are_each_due_at_once() -> None:
    pending = Pending()
    for second in range(10):
        add(pending, second, Kind.SAVED, "/r/a")
        assert pending.due(second) is not None


def test_another_path_is_not_held() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.SAVED, "/r/a")
    assert pending.due(0.0)
    add(pending, 0.1, Kind.SAVED, "/r/a", "/r/b")
    due = pending.due(0.1)
    assert due is not None
    assert due.paths == ("/r/b",)


def looks(kind: Kind, every: float, seconds: float) -> list[float]:
    """When a path that changes all the time is looked at."""
    pending, times, now = Pending(), [], 0.0
    for step in range(int(seconds / every)):
        now = step * every
        while (at := pending.next_due()) is not None and at <= now:
            assert pending.due(at)
            times.append(at)
        add(pending, now, kind, "/r/log")
        if pending.due(now):
            times.append(now)
    return times


def test_what_is_saved_all_the_time_costs_a_look_in_five_seconds() -> None:
    times = looks(Kind.SAVED, 0.1, 120)
    gaps = [round(after - before, 6) for before, after in pairwise(times)]
    assert gaps == sorted(gaps), "the pauses grow"
    assert gaps[0] < 2
    assert gaps[-1] == pytest.approx(LONGEST_HOLD, abs=0.2)


@pytest.mark.parametrize("every", [0.05, 1.0, 3.0])
def test_a_log_that_is_written_all_day_costs_a_look_in_ten_seconds(every: float) -> None:
    times = looks(Kind.TOUCHED, every, 300)
    gaps = [round(after - before, 6) for before, after in pairwise(times)]
    assert times[0] <= LATEST_SETTLE + every
    assert LONGEST_TOUCHED - 0.1 <= gaps[-1] <= LONGEST_TOUCHED + LATEST_SETTLE + every


def test_after_thirty_quiet_seconds_all_is_forgotten() -> None:
    pending, now = Pending(), 0.0
    for _ in range(100):
        add(pending, now, Kind.SAVED, "/r/a")
        now = pending.next_due() or now
        assert pending.due(now)
    add(pending, now + 1, Kind.SAVED, "/r/a")
    assert pending.next_due() == pytest.approx(now + 1 + LONGEST_HOLD), "still grown"
    now += 1 + LONGEST_HOLD
    assert pending.due(now)
    add(pending, now + 31, Kind.SAVED, "/r/a")
    assert pending.due(now + 31), "at once"
    add(pending, now + 31.1, Kind.SAVED, "/r/a")
    assert pending.next_due() == pytest.approx(now + 31.1 + HOLD), "and short again"


# --- touched


def test_a_touched_path_settles() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.TOUCHED, "/r/a")
    add(pending, 0.2, Kind.TOUCHED, "/r/a")
    assert pending.due(SETTLE) is None
    assert pending.due(0.2 + SETTLE) == Due(paths=("/r/a",))


def test_a_touched_path_that_never_settles_is_looked_at_after_two_seconds() -> None:
    pending, now = Pending(), 0.0
    while pending.due(now) is None:
        add(pending, now, Kind.TOUCHED, "/r/a")
        now += 0.1
    assert now == pytest.approx(LATEST_SETTLE, abs=0.11)


def test_a_save_upgrades_a_touch_and_a_touch_does_not_delay_a_save() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.TOUCHED, "/r/a")
    add(pending, 0.1, Kind.SAVED, "/r/a")
    add(pending, 0.1, Kind.TOUCHED, "/r/a")
    assert pending.due(0.1) == Due(paths=("/r/a",))


# --- collapsing


def names(directory: str, count: int) -> list[str]:
    return [f"{directory}/f{number}" for number in range(count)]


def test_a_tree_swallows_the_paths_below_it_but_not_their_marks() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.TREE, "/r/d/sub")
    add(pending, 0.0, Kind.GONE, "/r/d/a", "/r/e", "/r/dx")
    add(pending, 0.0, Kind.TREE, "/r/d")
    add(pending, 0.0, Kind.GONE, "/r/d/b")
    assert pending.due(0.0) == Due(trees=("/r/d",), gone=frozenset({"/r/d/a", "/r/d/b"}))
    assert pending.due(9.0) == Due(paths=("/r/e", "/r/dx"), gone=frozenset({"/r/e", "/r/dx"}))


def test_many_paths_in_one_directory_become_that_directory() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.SAVED, *names("/r/d", MOST_IN_DIRECTORY), "/r/other")
    assert len(pending) == MOST_IN_DIRECTORY + 1
    add(pending, 0.0, Kind.SAVED, "/r/d/last")
    due = pending.due(0.0)
    assert due is not None
    assert (due.paths, due.trees) == (("/r/other",), ("/r/d",))


def test_many_removals_in_one_directory_still_wait_their_moment() -> None:
    pending = Pending()
    gone = names("/r/d", MOST_IN_DIRECTORY + 5)
    add(pending, 0.0, Kind.GONE, *gone)
    assert pending.due(GRACE - 0.01) is None
    assert pending.due(GRACE) == Due(trees=("/r/d",), gone=frozenset(gone))


def test_one_save_among_many_touches_makes_their_directory_due() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.SAVED, "/r/d/saved")
    add(pending, 0.0, Kind.TOUCHED, *names("/r/d", MOST_IN_DIRECTORY))
    assert pending.due(0.0) == Due(trees=("/r/d",))


def test_very_many_paths_become_everything() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.GONE, "/r/gone")
    for number in range(MOST_IN_ALL):
        add(pending, 0.0, Kind.SAVED, f"/r/d{number}/f")
    assert pending.due(0.0) == Due(everything=True, gone=frozenset({"/r/gone"}))


def test_counts_are_given_back_when_paths_are_handed_out() -> None:
    pending = Pending()
    for second in range(5):
        add(pending, second, Kind.SAVED, *names("/r/d", MOST_IN_DIRECTORY))
        due = pending.due(second)
        assert due is not None
        assert len(due.paths) == MOST_IN_DIRECTORY


def test_a_storm_holds_its_directory_and_nobody_else() -> None:
    pending, now, storm = Pending(), 0.0, []
    for _ in range(20):
        add(pending, now, Kind.SAVED, *names("/r/storm", MOST_IN_DIRECTORY + 1))
        storm.append(drain(pending, now)[1] - now)
        now += storm[-1] + 0.01
    assert storm[0] == 0
    assert storm[-1] == LONGEST_HOLD
    add(pending, now, Kind.SAVED, *names("/r/storm", MOST_IN_DIRECTORY + 1), "/r/small.md")
    assert pending.due(now) == Due(paths=("/r/small.md",))


def test_marks_that_a_gone_directory_implies_are_dropped_when_there_are_many() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.GONE, "/r/d", *names("/r/d", MANY_GONE), "/r/d/a/b")
    due, _ = drain(pending, 0.0)
    assert len(due.gone) < 100
    assert all(due.witnessed(path) for path in (*names("/r/d", MANY_GONE), "/r/d", "/r/d/a/b"))
    assert not due.witnessed("/r/e")


def test_marks_of_a_directory_that_is_still_there_are_kept_one_by_one() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.GONE, *names("/r/d", 2 * MANY_GONE + 7))
    due, _ = drain(pending, 0.0)
    assert len(due.gone) == 2 * MANY_GONE + 7


# --- paths


def test_parents() -> None:
    assert list(parents("/a/b/c")) == ["/a/b", "/a", "/"]
    assert list(parents("/a")) == ["/"]
    assert list(parents("/")) == []
    assert list(parents("")) == []
    assert parent_of("/a/b") == "/a"
    assert parent_of("/") == ""


def test_a_source_at_the_top_of_the_file_system() -> None:
    pending = Pending()
    add(pending, 0.0, Kind.SAVED, "/a/b", "/c")
    add(pending, 0.0, Kind.TREE, "/")
    assert pending.due(0.0) == Due(trees=("/",))
