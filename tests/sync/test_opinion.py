"""The ledger is an opinion, memory is the fact (design, rule 1), and the settings change."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import Any

import pytest

from syncd.memory import Document, MemoryMeta, Namespace, SourceRef
from syncd.memory.requests import ForgetTarget
from syncd.sync.errors import LedgerUnavailable
from syncd.sync.reconcile import listed
from tests.sync.scene import EVERYTHING, SOURCE, Scene, as_root

# -- the ledger is an opinion, memory is the fact ------------------------------------------------


def test_without_the_ledger_nothing_is_sent_as_new(scene: Scene) -> None:
    scene.many(120)
    scene.sync()
    ids = scene.ids()
    scene.lose_ledger()
    scene.put("n/0001.md", "edited")
    scene.remove("n/0002.md")
    tally = scene.sync()
    assert (tally.stored, tally.replayed, tally.forgotten) == (1, 118, 2)
    scene.assert_equal()
    assert all(ids[path] == id for path, id in scene.ids().items() if path != "n/0001.md")
    assert scene.writes()
    scene.settle()
    scene.sync()
    scene.sync()
    assert scene.writes() == []


def test_memory_lost_behind_the_ledger_is_filled_again(scene: Scene) -> None:
    scene.many(120)
    scene.sync()
    ids = scene.ids()
    scene.lose_memory()
    tally = scene.sync()
    assert tally.stored == 120
    assert scene.ids() == ids
    scene.assert_equal()


def test_files_that_went_together_with_memory_are_not_held(scene: Scene) -> None:
    scene.many(40)
    scene.put("keep")
    scene.sync()
    scene.lose_memory()
    scene.remove("n")
    tally = scene.sync()
    assert (tally.stored, tally.held, tally.in_step) == (1, 0, True)
    scene.assert_equal()


def test_half_of_memory_lost(scene: Scene) -> None:
    scene.many(60)
    scene.sync()
    ids = scene.ids()
    scene.inner.forget(ForgetTarget(ids=tuple(list(ids.values())[::2])))
    scene.sync()
    assert scene.ids() == ids
    scene.assert_equal()


def stray(scene: Scene, path: str, text: str = "a stray text") -> str:
    """Store another item of a path behind the ledger's back."""
    item = scene.source.read(path).items[0]  # type: ignore[union-attr]
    return scene.inner.store(Document(text, title=item.title, meta=item.meta)).id


def test_duplicates_are_removed(scene: Scene) -> None:
    scene.many(20)
    scene.sync()
    ids = scene.ids()
    for path in list(ids)[:7]:
        stray(scene, path)
    scene.sync()
    assert scene.ids() == ids
    scene.assert_equal()


def test_of_two_texts_the_one_on_disk_stays_even_if_the_ledger_claims_the_other(
    scene: Scene,
) -> None:
    """As after the ledger was taken from a backup."""
    file = scene.put("f", "text of the disk")
    scene.settle()
    scene.sync()
    with scene.ledger.transaction():
        id = stray(scene, "f")
        row = scene.table()[0]
        scene.ledger._db.execute("UPDATE rows SET ids = ?", (f'["{id}"]',))
    assert row[2] == file.stat().st_size
    scene.sync()
    scene.assert_equal()


def test_items_of_files_that_are_not_there_are_forgotten(scene: Scene) -> None:
    scene.many(20)
    scene.sync()
    scene.put("ghost")
    stray(scene, "ghost")
    scene.remove("ghost")
    scene.sync()
    scene.assert_equal()


def test_items_without_a_path_are_counted_and_left_alone(scene: Scene) -> None:
    scene.put("f")
    scene.inner.store(Document("by hand", meta=MemoryMeta(source=SourceRef("folder", SOURCE))))
    scene.sync()
    scene.sync()
    assert [name for name, _ in scene.engine.calls] == ["explore"]
    assert scene.ledger.source(SOURCE).strangers == 1
    assert len(list(listed(scene.inner, EVERYTHING))) == 2


def test_what_was_doomed_before_a_death_is_carried_out_first(scene: Scene) -> None:
    scene.many(5)
    scene.sync()
    with scene.ledger.transaction():
        scene.ledger.doom_paths(SOURCE, ["n/0001.md"])
        scene.ledger.doom_ids(SOURCE, [scene.ids()["n/0002.md"]])
    scene.reopen()
    scene.sync()
    assert scene.writes()[:2] == ["forget", "forget"]
    scene.assert_equal()  # and since the files are there, they were stored again
    assert scene.ledger.doomed(SOURCE) == []


def test_a_folder_that_moved_keeps_one_item_a_file(scene: Scene) -> None:
    scene.many(30)
    scene.sync()
    moved = scene.top / "moved"
    os.rename(scene.root, moved)
    scene.root = moved
    scene.sync()
    scene.assert_equal()


@pytest.mark.parametrize("lost", [False, True])
def test_items_of_an_earlier_root_go_and_take_nothing_along(scene: Scene, lost: bool) -> None:
    scene.many(5)
    scene.sync()
    earlier, scene.root = scene.root, scene.top / "root2"
    scene.root.mkdir()
    scene.put("n/0001.md", "of the new root")
    scene.put("only here")
    if lost:
        scene.lose_ledger()
    shutil.rmtree(earlier)
    scene.sync(accept=True)
    scene.assert_equal()


# -- the state cannot be written -------------------------------------------------------------------


def assert_files_stay(scene: Scene) -> None:
    """A pass fails, and of no file that is there the text is lost."""
    with pytest.raises(LedgerUnavailable):
        scene.sync()
    memory = scene.memory()
    assert all(f"n/{n:04}.md" in memory for n in range(2, 60))


@as_root
def test_a_full_disk_of_the_state_forgets_nothing_and_passes(scene: Scene) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(scene.state)], check=True)
    try:
        scene.many(60)
        scene.sync()
        ballast = scene.state / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        scene.many(3000, "more")
        scene.put("late")
        scene.remove("n/0001.md")
        for _ in range(2):
            assert_files_stay(scene)
        ballast.unlink()
        scene.remove("more")
        scene.sync(accept=True)
        scene.assert_equal()
        assert list(scene.state.glob("*.damaged-*")) == []
    finally:
        scene.reopen()
        subprocess.run(["umount", str(scene.state)], check=True)


@as_root
def test_a_state_that_became_read_only_forgets_nothing_and_passes(scene: Scene) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(scene.state)], check=True)
    try:
        scene.many(60)
        scene.sync()
        scene.reopen()
        subprocess.run(["mount", "-o", "remount,ro", str(scene.state)], check=True)
        scene.put("late")
        scene.remove("n/0001.md")
        assert_files_stay(scene)
        subprocess.run(["mount", "-o", "remount,rw", str(scene.state)], check=True)
        scene.sync()
        scene.assert_equal()
    finally:
        scene.reopen()
        subprocess.run(["umount", str(scene.state)], check=True)


def test_what_a_moved_folder_lacks_is_held_and_then_found_where_it_was(scene: Scene) -> None:
    scene.many(60)
    scene.sync()
    moved = scene.top / "moved"
    os.rename(scene.root, moved)
    scene.root = moved
    for n in range(30):
        scene.remove(f"n/{n:04}.md")
    assert scene.sync().held == 30
    assert len(scene.memory()) == 60
    assert scene.sync(accept=True).forgotten == 30
    scene.assert_equal()


# -- the configuration changes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "change", [{"tags": ("new",)}, {"namespace": Namespace.parse("agent:a/project:p")}]
)
def test_new_tags_or_another_namespace_replace_every_item(
    scene: Scene, change: dict[str, Any]
) -> None:
    scene.many(120)
    scene.sync()
    old = scene.ids()
    scene.settings = change
    tally = scene.sync()
    assert (tally.stored, tally.forgotten) == (120, 120)
    assert scene.ids() == scene.fresh_ids()
    assert set(scene.ids().values()).isdisjoint(old.values())
    scene.assert_equal()
