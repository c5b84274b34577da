"""Whole passes on real folders, on the reference and the local engine: quiet, shapes, stops."""

from __future__ import annotations

import os
from threading import Event
from typing import Any

import pytest

from syncd.memory import Document, MemoryMeta, MetaFilter, SourceKind, SourceRef
from syncd.sync.errors import Stopped
from syncd.sync.reconcile import listed
from syncd.sync.rows import State
from tests.sync.scene import SOURCE, Scene

# -- quiet when nothing happens ------------------------------------------------------------------


def test_a_second_pass_writes_nothing(scene: Scene) -> None:
    scene.many(30)
    scene.put("blank", " ")
    scene.put("binary", b"\0\1")
    scene.put("node_modules/x.js", "left out")
    scene.settle()
    scene.sync()
    ids, table = scene.ids(), scene.table()
    scene.reopen()
    before = scene.ledger._db.total_changes
    tally = scene.sync()
    # The time of the pass is all that is noted; one question is all that memory is asked.
    assert scene.ledger._db.total_changes - before == 1
    assert [name for name, _ in scene.engine.calls] == ["explore"]
    assert (tally.examined, tally.changed, tally.in_step) == (0, False, True)
    assert (scene.ids(), scene.table()) == (ids, table)
    assert tally.left_out == {"blank": 1, "binary": 1, "dependencies": 1}


def test_a_touched_file_is_read_but_not_sent(scene: Scene) -> None:
    scene.put("f")
    scene.sync()
    ids = scene.ids()
    os.utime(scene.root / "f", (1, 1))
    tally = scene.sync()
    assert (tally.examined, scene.writes()) == (1, [])
    assert scene.ids() == ids


def test_same_size_and_time_but_another_text_is_noticed(scene: Scene) -> None:
    file = scene.put("f", "one")
    scene.settle()
    scene.sync()
    before = file.stat()
    file.write_text("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    scene.sync()
    scene.assert_equal()


def test_there_and_back_again(scene: Scene) -> None:
    for text in ("A", "B", "A", "B", "A"):
        scene.put("f", text)
        scene.sync()
        scene.assert_equal()
    assert scene.ids() == scene.fresh_ids()


def test_there_and_back_while_the_forget_of_the_first_is_still_owed(scene: Scene) -> None:
    scene.put("f", "A")
    scene.sync()
    scene.put("f", "B")
    steps = scene.sync_killed(None).steps
    for at in range(1, steps + 1):
        scene.put("f", "A")
        scene.sync()
        scene.put("f", "B")
        scene.sync_killed(at)
        scene.put("f", "A")
        scene.sync()
        scene.assert_equal()


def test_equal_contents_are_two_items(scene: Scene) -> None:
    for path in ("a/LICENSE", "b/LICENSE", "c/LICENSE"):
        scene.put(path, "same text")
    scene.sync()
    assert len(set(scene.ids().values())) == 3
    scene.remove("a/LICENSE")
    scene.sync()
    os.rename(scene.root / "b/LICENSE", scene.root / "b/COPYING")
    scene.sync()
    scene.assert_equal()
    assert sorted(scene.memory()) == ["b/COPYING", "c/LICENSE"]


# -- shapes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("hinted", [False, True])
def test_a_file_becomes_a_directory_and_back(scene: Scene, hinted: bool) -> None:
    def sync() -> None:
        if hinted:
            scene.hint("x", removed=("x",))
        else:
            scene.sync()
        scene.assert_equal()

    scene.put("x", "file")
    scene.put("x-", "look-alike")
    sync() if not hinted else scene.sync()
    scene.remove("x")
    for n in range(8):
        scene.put(f"x/{n}", f"below {n}")
    sync()
    scene.remove("x")
    scene.put("x", "file again")
    sync()


def test_look_alikes_of_a_removed_directory_stay(scene: Scene) -> None:
    for path in ("foo/1", "foobar/2", "foo-old/3", "foo.md", "foo2/4", "xfoo/5", "sub/foo/6"):
        scene.put(path)
    for path in ("a.md", "a.md.bak", "a.mdx", "foo /7", "foo%/8", "foo_/9"):
        scene.put(path)
    scene.sync()
    scene.remove("foo")
    scene.remove("a.md")
    tally = scene.sync()
    assert tally.forgotten == 2
    scene.assert_equal()


def test_the_folder_beside_with_a_longer_name_is_not_touched(scene: Scene) -> None:
    scene.put("f")
    meta = MemoryMeta(file_path=f"{scene.root}-other/f", source=SourceRef(SourceKind.FOLDER, "o"))
    scene.inner.store(Document("of another source", meta=meta))
    scene.sync()
    scene.remove("f")
    scene.hint(removed=("f",))
    assert len(list(listed(scene.inner, MetaFilter(source_id="o")))) == 1


def test_a_renamed_directory_of_a_thousand_files_is_not_held(scene: Scene) -> None:
    scene.many(1010, "big/sub")
    scene.put("other")
    scene.sync()
    os.rename(scene.root / "big", scene.root / "large")
    tally = scene.sync()
    assert (tally.stored, tally.forgotten, tally.held) == (1010, 1010, 0)
    # The texts are in memory under their new names before the old ones go, all with one call.
    assert scene.writes() == ["store_many"] * 11 + ["forget"]
    scene.assert_equal()


def test_a_case_only_rename_and_two_files_that_change_places(scene: Scene) -> None:
    for name in ("Read.me", "one", "two"):
        scene.put(name)
    scene.sync()
    os.rename(scene.root / "Read.me", scene.root / "read.me")
    os.rename(scene.root / "one", scene.root / "swap")
    os.rename(scene.root / "two", scene.root / "one")
    os.rename(scene.root / "swap", scene.root / "two")
    scene.sync()
    scene.assert_equal()


def test_names_are_kept_exactly(scene: Scene) -> None:
    scene.put("keep")
    odd = ["new\nline", "caf\u00e9", "cafe\u0301", " space ", "tab\t", "'\"", "%", "\uef80", "-"]
    for name in odd:
        scene.put(f"d/{name}", f"text of {name!r}")
    with open(os.fsencode(scene.root / "d") + b"/\xff\xfe", "w") as file:
        file.write("bytes that are no text")
    scene.sync()
    scene.assert_equal()
    assert len(scene.memory()) == len(odd) + 2
    scene.remove("d")
    scene.hint(removed=("d",))
    scene.assert_equal()


def test_a_directory_behind_a_link_is_not_followed(scene: Scene) -> None:
    scene.put("d/f")
    scene.put("keep")
    scene.sync()
    os.rename(scene.root / "d", scene.top / "elsewhere")
    os.symlink(scene.top / "elsewhere", scene.root / "d")
    scene.sync()
    assert list(scene.memory()) == ["keep"]


def test_a_hint_below_a_link_that_replaced_a_file_forgets_the_file(scene: Scene) -> None:
    scene.put("d", "once a file")
    scene.put("keep")
    scene.sync()
    scene.remove("d")
    (scene.top / "elsewhere").mkdir()
    os.symlink(scene.top / "elsewhere", scene.root / "d")
    scene.hint("d/below")
    scene.hint("d")
    assert list(scene.memory()) == ["keep"]


# -- stopping --------------------------------------------------------------------------------------


def test_a_pass_that_is_stopped_goes_on_where_it_was(scene: Scene) -> None:
    scene.many(250)
    stop = Event()

    def progress(tally: Any) -> None:
        if tally.stored == 200:
            stop.set()

    with pytest.raises(Stopped):
        scene.order(stop=stop, progress=progress).run()
    assert scene.ledger.count(SOURCE)[0] == len(scene.memory()) == 200
    scene.reopen()
    scene.remove("n/0001.md")
    scene.put("n/0002.md", "changed")
    scene.put("n/0251.md")
    tally = scene.sync()
    assert (tally.stored, tally.replayed) == (52, 0)
    scene.assert_equal()


def test_a_stop_before_the_end_forgets_nothing(scene: Scene) -> None:
    scene.many(5)
    scene.sync()
    scene.remove("n/0001.md")
    stop = Event()
    stop.set()
    scene.put("z", "something to do")
    with pytest.raises(Stopped):
        scene.order(stop=stop).run()
    assert len(scene.memory()) == 5


# -- looking without touching ------------------------------------------------------------------


def test_the_outlook_counts_and_touches_nothing(scene: Scene) -> None:
    scene.many(30)
    scene.put("blank", " ")
    scene.sync()
    scene.put("n/0001.md", "edited")
    scene.put("added")
    scene.remove("n/0002.md")
    scene.remove("blank")
    scene.settle()
    memory, table = scene.memory(), scene.table()
    scene.engine.calls.clear()
    outlook = scene.order().outlook()
    assert outlook.forgotten == 1
    assert outlook.examined >= 2
    assert (scene.memory(), scene.table(), scene.engine.calls) == (memory, table, [])
    assert scene.ledger.explained(SOURCE, State.LEFT_OUT) == [("blank", "blank")]


def test_the_outlook_tells_what_would_be_held(scene: Scene) -> None:
    scene.many(40)
    scene.put("keep")
    scene.sync()
    scene.remove("n")
    assert scene.order().outlook().held == 40
    assert scene.order(accept_deletions=True).outlook().forgotten == 40
