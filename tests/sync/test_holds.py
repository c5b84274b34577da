"""Absence that is held, and absence that is certain (design, rule 4)."""

from __future__ import annotations

import os

import pytest

from syncd.sources import SourceUnavailable
from syncd.sync.passes import Pass
from syncd.sync.plan import Hold
from syncd.sync.scope import Scope
from tests.sync.scene import SOURCE, Scene


def test_much_absence_is_held_while_additions_go_on(scene: Scene) -> None:
    scene.many(100)
    scene.sync()
    away = scene.top / "away"
    away.mkdir()
    for n in range(40):
        os.rename(scene.root / f"n/{n:04}.md", away / f"{n:04}.md")
    scene.put("added")
    for _ in range(2):
        tally = scene.sync()
        assert (tally.held, tally.forgotten, tally.in_step) == (40, 0, False)
        assert len(scene.memory()) == 101
        record = scene.ledger.source(SOURCE)
        assert record.state == "held"
        assert record.reason is not None
        assert "40 files" in record.reason
    for n in range(40):
        os.rename(away / f"{n:04}.md", scene.root / f"n/{n:04}.md")
    tally = scene.sync()
    assert (tally.held, tally.stored, tally.in_step) == (0, 0, True)
    assert scene.ledger.source(SOURCE).state == "idle"
    scene.assert_equal()


def test_what_is_held_goes_when_a_person_accepts_it(scene: Scene) -> None:
    scene.many(100)
    scene.sync()
    for n in range(40):
        scene.remove(f"n/{n:04}.md")
    assert scene.sync().held == 40
    tally = scene.sync(accept=True)
    assert (tally.held, tally.forgotten) == (0, 40)
    scene.assert_equal()
    assert scene.ledger.source(SOURCE).state == "idle"


@pytest.mark.parametrize(("gone", "held"), [(25, 0), (26, 26)])
def test_the_bound_is_a_quarter_of_what_was_there_before(
    scene: Scene, gone: int, held: int
) -> None:
    scene.many(100)
    scene.sync()
    for n in range(gone):
        scene.remove(f"n/{n:04}.md")
    scene.many(150, "added")
    assert scene.sync().held == held


def test_what_a_pass_of_hints_adds_does_not_loosen_the_hold(scene: Scene) -> None:
    scene.many(40)
    scene.sync()
    for n in range(15):
        scene.remove(f"n/{n:04}.md")
    scene.many(150, "a")
    assert scene.hint("a", "n").held == 15
    assert len(scene.memory()) == 190


def test_the_hold_is_the_configurations(scene: Scene) -> None:
    scene.many(6)
    scene.sync()
    for n in range(3):
        scene.remove(f"n/{n:04}.md")
    assert scene.sync(hold=Hold(2, 0.25)).held == 3
    assert scene.sync(hold=Hold(3, 0.25)).held == 0


def test_a_witnessed_removal_of_any_size_goes_at_once(scene: Scene) -> None:
    scene.many(100)
    scene.put("keep")
    scene.sync()
    scene.remove("n")
    tally = scene.hint(removed=("n",))
    assert (tally.forgotten, tally.held) == (100, 0)
    assert len(scene.engine.named("forget")) == 1
    scene.assert_equal()


def test_many_scattered_removals_are_not_one_call_a_file(scene: Scene) -> None:
    for n in range(250):
        scene.put(f"d{n}/keep")
        scene.put(f"d{n}/go")
    scene.many(20, "whole")
    scene.put("d0/go-")
    scene.sync()
    removed = [f"d{n}/go" for n in range(250)]
    for path in [*removed, "whole"]:
        scene.remove(path)
    assert scene.hint(removed=(*removed, "whole")).forgotten == 270
    assert len(scene.engine.named("forget")) == 4
    scene.assert_equal()


def test_a_source_without_filters_has_its_items_forgotten_one_by_one(scene: Scene) -> None:
    class Unfiltered(type(scene.source)):  # type: ignore[misc]
        def filter(self, path: str) -> None:
            return None

    scene.many(30)
    scene.put("keep")
    scene.sync()
    scene.remove("n")
    order = Pass(Unfiltered(scene.source._settings), scene.ledger, scene.engine)
    assert order.run(Scope(("n",), frozenset({"n"}))).forgotten == 30
    assert all(target.filter is None for target in scene.engine.named("forget"))
    scene.assert_equal()


def test_each_file_witnessed_goes_at_once_too(scene: Scene) -> None:
    paths = scene.many(60)
    scene.sync()
    for path in paths[:59]:
        scene.remove(path)
    assert scene.hint(removed=tuple(paths[:59])).forgotten == 59
    scene.assert_equal()


def test_a_whole_pass_believes_witnesses_too(scene: Scene) -> None:
    scene.many(60)
    scene.put("keep")
    scene.sync()
    scene.remove("n")
    assert scene.sync(Scope(("", "n"), frozenset({"n"}))).held == 0
    scene.assert_equal()


def test_the_last_file_of_a_folder_goes_when_it_was_witnessed(scene: Scene) -> None:
    scene.put("only")
    scene.sync()
    scene.remove("only")
    with pytest.raises(SourceUnavailable, match="is empty"):
        scene.sync()
    assert len(scene.memory()) == 1
    assert scene.hint(removed=("only",)).forgotten == 1
    assert scene.memory() == {}
    scene.sync()  # and an empty folder of which memory holds nothing is fine


def test_a_removal_that_was_witnessed_but_is_not_true_any_more_forgets_nothing(
    scene: Scene,
) -> None:
    scene.put("f", "v1")
    scene.sync()
    scene.put("f", "v2")
    scene.hint(removed=("f",))
    scene.assert_equal()


def test_paths_of_a_scope_may_overlap(scene: Scene) -> None:
    scene.put("d/f", "v1")
    scene.sync()
    scene.put("d/f", "v2")
    tally = scene.hint("d/f", "d", "d/f", "d/")
    assert (tally.stored, tally.examined) == (1, 1)
    scene.assert_equal()
