"""What one source has to have done: from hints and failures to scopes, by a clock held still."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncd.daemon.desk import Desk, Pace, Patience, Watched, both, scope_of
from syncd.daemon.hints import Due, Hint, Kind
from syncd.sources import FolderSettings, FolderSource
from syncd.sync.plan import Hold
from syncd.sync.scope import WHOLE, Scope

PACE = Pace(first=1.0, source=8.0, poll=30.0, review=2.0, back=1.0)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "root").mkdir()
    source = FolderSource(FolderSettings("notes", tmp_path / "root"))
    return Desk(Watched(source, Hold(), 900.0), lambda desk, hint: None, PACE)


def hear(desk: Desk, kind: Kind, path: str, now: float) -> None:
    desk.hear(Hint(kind, f"{desk.source.root}/{path}".rstrip("/")), now)


def test_nothing_is_due_at_first(desk: Desk) -> None:
    assert desk.due_at() is None
    assert desk.take(1e9) is None


def test_a_save_is_due_at_once_and_a_removal_after_a_moment(desk: Desk) -> None:
    hear(desk, Kind.SAVED, "a.md", 10.0)
    hear(desk, Kind.GONE, "d/b.md", 10.0)
    assert desk.take(10.0) == Scope(("a.md",))
    assert desk.take(10.0) is None
    at = desk.due_at()
    assert at is not None
    assert 10.0 < at < 12.0
    assert desk.take(at) == Scope(("d/b.md",), frozenset(["d/b.md"]))


def test_what_lies_below_another_is_covered_by_it(desk: Desk) -> None:
    hear(desk, Kind.TREE, "d", 1.0)
    hear(desk, Kind.SAVED, "d/a.md", 1.0)
    hear(desk, Kind.SAVED, "d.md", 1.0)
    assert desk.take(1.0) == Scope(("d.md", "d"))


def test_who_asks_gets_everything_with_what_was_witnessed(desk: Desk) -> None:
    hear(desk, Kind.GONE, "a.md", 1.0)
    assert desk.take(1.0) is None
    assert desk.take(1.0, whole=True) == Scope(("",), frozenset(["a.md"]))
    assert desk.due_at() is None
    assert desk.take(1.0, whole=True) == WHOLE


def test_a_pass_that_failed_is_repeated_whole_after_its_pause(desk: Desk) -> None:
    desk.give_back(Scope(("a.md",), frozenset(["a.md"])), 10.0, 5.0)
    hear(desk, Kind.SAVED, "b.md", 11.0)
    assert desk.due_at() == 15.0
    assert desk.take(14.9) is None
    assert desk.take(15.0) == Scope(("",), frozenset(["a.md"]))
    assert desk.take(15.0) is None


def test_an_event_of_a_source_that_was_away_shortens_its_pause(desk: Desk) -> None:
    desk.give_back(WHOLE, 10.0, 100.0, away=True)
    hear(desk, Kind.SAVED, "b.md", 20.0)
    assert desk.due_at() == 21.0
    desk.succeeded()
    desk.give_back(WHOLE, 30.0, 100.0)
    hear(desk, Kind.SAVED, "c.md", 40.0)
    assert desk.due_at() == 130.0


def test_a_scan_by_the_clock_is_whole_and_happens_once(desk: Desk) -> None:
    desk.scan_within(10.0, 30.0)
    desk.scan_within(10.0, 2.0)
    desk.scan_within(10.0, 90.0)
    assert desk.due_at() == 12.0
    assert desk.take(11.0) is None
    assert desk.take(12.0) == WHOLE
    assert desk.due_at() is None


def test_inside_a_pass_only_single_paths_are_taken(desk: Desk) -> None:
    desk.enter(WHOLE)
    hear(desk, Kind.SAVED, "a.md", 1.0)
    assert desk.is_ready(1.0)
    assert desk.take(1.0) == Scope(("a.md",))
    desk.scan_within(1.0, 0.0)
    assert desk.take(2.0) is None
    hear(desk, Kind.LOST, "", 3.0)
    hear(desk, Kind.SAVED, "b.md", 3.0)
    assert not desk.is_ready(3.0)
    assert desk.take(3.0) is None
    desk.leave()
    assert desk.take(3.0) == WHOLE


@pytest.mark.parametrize("kind", [Kind.TREE, Kind.TOUCHED])
def test_inside_a_pass_the_root_is_not_a_single_path(desk: Desk, kind: Kind) -> None:
    desk.enter(WHOLE)
    hear(desk, kind, "", 1.0)
    assert desk.take(90.0) is None
    desk.leave()
    assert desk.take(90.0) == WHOLE


def test_what_was_done_inside_a_pass_is_done_again_after_it(desk: Desk) -> None:
    desk.enter(WHOLE)
    for name in ("a.md", "b.md"):
        desk.enter(Scope((name,), frozenset([name])))
        assert desk.is_inside
        desk.leave()
    assert desk.under_way
    assert desk.due_at() is None
    desk.leave()
    assert not desk.under_way
    assert desk.take(1.0) == Scope(("a.md", "b.md"), frozenset(["a.md", "b.md"]))
    assert desk.due_at() is None


def test_many_paths_become_the_whole_source() -> None:
    paths = tuple(f"{number:05}" for number in range(2_001))
    assert both(Scope(paths[:1000]), Scope(paths[500:1500])) == Scope(paths[:1500])
    assert both(Scope(paths[:1500]), Scope(paths[1500:])) == WHOLE
    assert both(WHOLE, Scope(("a",), frozenset("a"))) == Scope(("",), frozenset("a"))
    assert both(Scope(()), Scope(())) == Scope(())


def test_paths_outside_the_source_are_nobodys(desk: Desk) -> None:
    root = desk.source.root
    due = Due((f"{root}/a.md", f"{root}-other/b.md"), gone=frozenset([f"{root}-other/b.md"]))
    assert scope_of(due, desk.source.key) == Scope(("a.md",))
    everything = Due(gone=frozenset([root, f"{root}/a"]), everything=True)
    assert scope_of(everything, desk.source.key) == Scope(("",), frozenset(["a"]))


def test_pauses_grow_to_their_bound_and_begin_anew() -> None:
    patience = Patience(longest=60.0, first=1.0)
    pauses = [patience.next() for _ in range(5_000)]
    for pause, exact in zip(pauses, [1, 2, 4, 8, 16, 32, 60, 60], strict=False):
        assert 0.75 * exact <= pause <= 1.25 * exact
    assert max(pauses) <= 75.0
    assert len(set(pauses[10:])) > 100  # jitter: many daemons do not come back at the same moment
    patience.reset()
    assert patience.next() <= 1.25


def test_a_watch_is_armed_once_and_replaced_when_it_is_dead(desk: Desk) -> None:
    assert desk.degraded is None
    desk.arm()
    first = desk.watches[0]
    assert desk.watches == [first]
    desk.arm()
    assert desk.watches == [first]
    assert desk.degraded is None
    first.stop()
    desk.arm()
    assert desk.watches[0] is not first
    Path(desk.source.root).rmdir()
    desk.disarm()
    desk.arm()
    assert "not watched" in str(desk.degraded)
    desk.poll_if_degraded(100.0)
    assert desk.due_at() == 130.0
    desk.disarm()


def test_another_folder_in_the_place_of_the_watched_one_is_watched(desk: Desk) -> None:
    root = Path(desk.source.root)
    desk.arm()
    desk.arm()
    root.rename(root.with_name("away"))
    root.mkdir()
    desk.arm()
    assert len(desk.watches) == 1
    assert desk.watches[0].alive
    assert desk.degraded is None
    desk.disarm()
