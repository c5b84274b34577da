"""Whole passes on real folders: every rule of the design, on the reference and the local engine."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from syncd.memory import Document, MemoryMeta, MetaFilter, Namespace, SourceKind, SourceRef
from syncd.memory.requests import ForgetTarget
from syncd.sources import Blind, SourceUnavailable, Unreadable
from syncd.sync.errors import LedgerUnavailable, Stopped
from syncd.sync.passes import Pass, Scope
from syncd.sync.plan import Hold
from syncd.sync.reconcile import listed
from syncd.sync.rows import State
from tests.sync.scene import EVERYTHING, SOURCE, Scene

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting and owners need root")


@pytest.fixture(params=["reference", "local"])
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Scene]:
    made = Scene(tmp_path / "scene", request.param)
    yield made
    made.close()


def writes(scene: Scene) -> list[str]:
    return [name for name, _ in scene.engine.calls if name in ("store", "store_many", "forget")]


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
    assert (tally.examined, writes(scene)) == (1, [])
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
    scene.many(1000, "big/sub")
    scene.put("other")
    scene.sync()
    os.rename(scene.root / "big", scene.root / "large")
    tally = scene.sync()
    assert (tally.stored, tally.forgotten, tally.held) == (1000, 1000, 0)
    assert len(scene.engine.named("forget")) == 1
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


# -- holds ---------------------------------------------------------------------------------------


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


# -- a root that cannot be trusted ---------------------------------------------------------------


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


# -- what cannot be read -------------------------------------------------------------------------

# A first pass as whoever runs the tests loads all that a user may not be able to read.
AS_A_USER = """
import os, shutil, sys, tempfile
from pathlib import Path
from tests.sync.scene import Scene, Scope
warm = Scene(Path(tempfile.mkdtemp()) / "scene")
warm.put("f.py", "text")
warm.sync()
warm.assert_equal()
shutil.rmtree(warm.top.parent)
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
scene = Scene(Path(sys.argv[1]) / "scene")
"""


def as_a_user(script: str) -> None:
    """Run a script in a child process that permissions apply to."""
    # Not below tmp_path, which every pytest that starts closes to all but its own user again.
    home = Path(tempfile.mkdtemp())
    if os.geteuid() == 0:
        os.chown(home, 65534, 65534)
    command = [sys.executable, "-c", AS_A_USER + script, str(home)]
    top = Path(__file__).parents[2]
    try:
        done = subprocess.run(command, cwd=top, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    finally:
        for at, _, _ in os.walk(home):
            os.chmod(at, 0o700)
        shutil.rmtree(home)


UNREADABLE_ROOT = """
from syncd.sources import SourceUnavailable
scene.many(25)
scene.sync()
rows = scene.table()
for mode in (0o000, 0o444, 0o111, 0o333):
    scene.root.chmod(mode)
    for scope in (Scope(), Scope(("n/0001.md",)), Scope(("n",), frozenset({"n"}))):
        try:
            tally = scene.sync(scope)
        except SourceUnavailable as error:
            assert "permission denied" in error.reason, error.reason
        else:
            raise AssertionError(f"mode {mode:o} went unnoticed: {tally}")
        assert scene.engine.named("forget", "store_many") == []
    scene.root.chmod(0o755)
    assert len(scene.memory()) == 25 and scene.table() == rows
scene.remove("n/0001.md")
tally = scene.sync()
assert (tally.stored, tally.forgotten, tally.replayed) == (0, 1, 0), tally
scene.assert_equal()
"""

UNREADABLE_DIRECTORY = """
scene.many(40, "d/sub")
scene.many(40, "e")
scene.put("d-", "look-alike")
scene.sync()
for mode in (0o000, 0o444, 0o111):
    (scene.root / "d").chmod(mode)
    scene.put("e/0001.md", f"edited {mode}")
    for scope in (Scope(), Scope(("d",)), Scope(("d/sub",)), Scope(("d/sub/0001.md",))):
        tally = scene.sync(scope)
        if mode != 0o111:
            assert tally.unread, (oct(mode), scope)
            assert not tally.in_step
        assert (tally.forgotten, tally.held) == (int(scope.whole), 0), tally
    assert len(scene.memory()) == 81
    (scene.root / "d").chmod(0o755)
scene.remove("d/sub/0001.md")
tally = scene.sync()
assert (tally.stored, tally.forgotten) == (0, 1), tally
scene.assert_equal()
"""

UNREADABLE_FILE = """
scene.put("f", "text")
scene.put("g", "other")
scene.sync()
(scene.root / "f").chmod(0)
for _ in range(2):
    tally = scene.sync()
    assert tally.unread == [("f", "permission denied")], tally
    assert not tally.in_step and tally.forgotten == 0
    assert sorted(scene.memory()) == ["f", "g"]
(scene.root / "f").chmod(0o600)
tally = scene.sync()
assert (tally.stored, tally.unread) == (0, []), tally
scene.assert_equal()
scene.put("f", "new text")
(scene.root / "f").chmod(0)
scene.sync()
assert scene.memory()["f"] == ["# f\\n\\ntext"]
(scene.root / "f").chmod(0o600)
scene.sync()
scene.assert_equal()
(scene.root / "f").chmod(0)
scene.sync()
scene.remove("f")
scene.sync()
assert sorted(scene.memory()) == ["g"]
"""


def test_an_unreadable_root_forgets_nothing() -> None:
    as_a_user(UNREADABLE_ROOT)


def test_an_unreadable_directory_keeps_its_items() -> None:
    as_a_user(UNREADABLE_DIRECTORY)


def test_an_unreadable_file_keeps_its_item() -> None:
    as_a_user(UNREADABLE_FILE)


def test_an_unreadable_file_of_any_kind_of_source_keeps_its_item(scene: Scene) -> None:
    scene.put("d/f", "text")
    scene.put("g", "text")
    scene.sync()

    class Sick(type(scene.source)):  # type: ignore[misc]
        def scan(self, under: str = "", mark: str | None = None) -> Iterator[Any]:
            yield Blind("d/", "input/output error")
            yield from (seen for seen in super().scan(under) if not seen.path.startswith("d/"))

        def read(self, path: str) -> Any:
            return Unreadable("input/output error")

    scene.put("g", "edited")
    tally = Pass(Sick(scene.source._settings), scene.ledger, scene.engine).run()
    assert sorted(path for path, _ in tally.unread) == ["d/", "g"]
    assert sorted(scene.memory()) == ["d/f", "g"]
    assert scene.ledger.count(SOURCE) == (2, 2)
    scene.remove("g")
    assert scene.hint(removed=("g",)).forgotten == 1


@pytest.mark.parametrize(
    ("become", "reason"),
    [
        (" \n", "blank"),
        (b"\0\1\2", "binary"),
        ("x" * 2000, "larger than max_file_size"),
        ("-----BEGIN PRIVATE KEY-----\nabc", "secrets"),
    ],
)
def test_a_file_that_became_unfit_is_forgotten(
    scene: Scene, become: str | bytes, reason: str
) -> None:
    scene.settings = {"max_file_size": 1000}
    scene.put("f", "small text")
    scene.put("g")
    scene.sync()
    scene.put("f", become)
    tally = scene.sync()
    assert tally.left_out == {reason: 1}
    assert sorted(scene.memory()) == ["g"]
    scene.put("f", "small text")
    scene.sync()
    scene.assert_equal()


def test_a_newly_ignored_directory_is_forgotten_whatever_its_size(scene: Scene) -> None:
    scene.many(60, "d")
    scene.many(20, "e")
    scene.put("g")
    scene.sync()
    scene.put(".gitignore", "d/\ne/*.md\n")
    tally = scene.sync()
    assert (tally.forgotten, tally.held) == (80, 0)
    assert sorted(scene.memory()) == [".gitignore", "g"]
    scene.remove(".gitignore")
    scene.sync()
    scene.assert_equal()


def test_a_directory_excluded_by_the_configuration_is_forgotten(scene: Scene) -> None:
    scene.many(60, "d")
    scene.put("g")
    scene.sync()
    scene.settings = {"exclude": ("d/",)}
    assert scene.sync().forgotten == 60
    assert sorted(scene.memory()) == ["g"]


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
    assert writes(scene)
    scene.settle()
    scene.sync()
    scene.sync()
    assert writes(scene) == []


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
    assert writes(scene)[:2] == ["forget", "forget"]
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
