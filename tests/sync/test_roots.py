"""A root that is missing, emptied, replaced or on another disk: nothing is forgotten."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Any

import pytest

from syncd.sources import SourceUnavailable
from syncd.sync.passes import Pass
from syncd.sync.scope import Scope
from tests.sync.scene import Scene, as_root


def assert_untouched(scene: Scene, match: str, *scopes: Scope) -> None:
    """Neither a whole pass nor a hint forgets anything, and both say why."""
    memory, rows = scene.memory(), scene.table()
    for scope in (Scope(), Scope(("n/0001.md",)), Scope(("n",), frozenset({"n/0001.md"})), *scopes):
        with pytest.raises(SourceUnavailable, match=match):
            scene.sync(scope)
        assert scene.engine.named("forget") == []
    assert (scene.memory(), scene.table()) == (memory, rows)


def assert_well_again(scene: Scene) -> None:
    """After it came back: what changed meanwhile is noticed, nothing is sent twice."""
    scene.put("n/0002.md", "edited")
    scene.remove("n/0003.md")
    tally = scene.sync()
    assert (tally.stored, tally.forgotten, tally.replayed) == (1, 2, 0)
    scene.assert_equal()


def test_a_root_that_went_away_and_came_back(scene: Scene) -> None:
    scene.many(40)
    scene.sync()
    away = scene.top / "away"
    os.rename(scene.root, away)
    assert_untouched(scene, "does not exist")
    scene.root.write_text("a file in its place")
    assert_untouched(scene, "not a folder")
    scene.root.unlink()
    scene.root.mkdir()
    assert_untouched(scene, "is empty|another directory")
    (scene.root / "lost+found").mkdir()
    assert_untouched(scene, "another directory")
    shutil.rmtree(scene.root)
    os.rename(away, scene.root)
    assert_well_again(scene)


def test_an_emptied_root(scene: Scene) -> None:
    scene.many(8)  # fewer than would be held
    scene.sync()
    scene.remove("n")
    assert_untouched(scene, "is empty")
    tally = scene.sync(accept=True)
    assert tally.forgotten == 8
    assert scene.memory() == {}


def test_an_emptied_root_with_the_ledger_lost(scene: Scene) -> None:
    scene.many(8)
    scene.sync()
    scene.lose_ledger()
    scene.remove("n")
    with pytest.raises(SourceUnavailable, match="is empty"):
        scene.sync()
    assert len(scene.memory()) == 8


@as_root
def test_another_disk_over_the_root(scene: Scene) -> None:
    scene.many(40)
    scene.sync()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(scene.root)], check=True)
    try:
        assert_untouched(scene, "is empty|another directory")
        scene.put("n/0001.md")
        assert_untouched(scene, "another directory")
    finally:
        subprocess.run(["umount", str(scene.root)], check=True)
    assert_well_again(scene)


@as_root
def test_another_directory_bound_over_the_root(scene: Scene) -> None:
    scene.many(40)
    scene.sync()
    other = scene.top / "other"
    (other / "n").mkdir(parents=True)
    for n in range(20):
        (other / f"n/{n:04}.md").write_text("of another directory")
    subprocess.run(["mount", "--bind", str(other), str(scene.root)], check=True)
    try:
        assert_untouched(scene, "another directory")
    finally:
        subprocess.run(["umount", str(scene.root)], check=True)
    assert_well_again(scene)


@as_root
def test_the_same_files_on_another_disk_are_the_same_source(scene: Scene) -> None:
    scene.many(40)
    scene.sync()
    moved = scene.top / "moved"
    shutil.copytree(scene.root, moved)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(scene.root)], check=True)
    try:
        shutil.copytree(moved, scene.root, dirs_exist_ok=True)
        tally = scene.sync()
        assert (tally.stored, tally.forgotten) == (0, 0)
        scene.put("n/0001.md", "edited")
        scene.sync()
        scene.assert_equal()
    finally:
        subprocess.run(["umount", str(scene.root)], check=True)


def test_a_root_that_is_replaced_during_the_pass(scene: Scene) -> None:
    scene.many(40)
    scene.sync()
    scene.remove("n/0001.md")
    scene.put("n/0000.md", "edited")
    away = scene.top / "away"

    class Replaced(type(scene.source)):  # type: ignore[misc]
        def read(self, path: str) -> Any:
            if not away.exists():
                os.rename(scene.root, away)
                (scene.root / "n").mkdir(parents=True)
            return super().read(path)

    order = Pass(Replaced(scene.source._settings), scene.ledger, scene.engine)
    with pytest.raises(SourceUnavailable):
        order.run()
    assert len(scene.memory()) == 40
