"""How files are saved, moved and removed, against a running daemon: memory follows the disk."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from tests.end_to_end.harness import Machine, on_disk
from tests.waiting import until


@pytest.fixture
def running(machine: Machine) -> Machine:
    machine.start()
    return machine


def test_folders_that_arrive_at_once_are_found_whole(machine: Machine, tmp_path: Path) -> None:
    for path in ("1.md", "deep/2.md"):
        target = tmp_path / "src/in" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"text of {path}\n")
    machine.put("keep/k.md")
    machine.put("gone/x/g.md")
    machine.start()
    machine.assert_equal_to_disk()
    machine.put("p/q/r/s/t/3.md")
    (tmp_path / "src/in").rename(machine.root / "in")
    (tmp_path / "tar/w").mkdir(parents=True)
    (tmp_path / "tar/w/4.md").write_text("four\n")
    archive = tmp_path / "w.tar"
    subprocess.run(["tar", "cf", archive, "-C", tmp_path / "tar", "w"], check=True)
    subprocess.run(["tar", "xf", archive, "-C", machine.root], check=True)
    (machine.root / "keep").rename(machine.root / "kept")
    until(lambda: "kept/k.md" in machine.memory())
    machine.put("kept/after.md")
    shutil.rmtree(machine.root / "gone")
    machine.assert_equal_to_disk()
    paths = {"p/q/r/s/t/3.md", "in/1.md", "in/deep/2.md", "w/4.md", "kept/k.md", "kept/after.md"}
    assert set(machine.memory()) == paths


def test_a_file_taken_while_it_grows_ends_whole(running: Machine) -> None:
    machine = running
    slow, held = machine.root / "slow.md", machine.root / "open.md"
    pause = threading.Event()

    def write_slowly() -> None:
        with held.open("w") as open_handle:
            open_handle.write("head\n")
            open_handle.flush()
            for number in range(1, 21):
                with slow.open("a") as file:
                    file.write(f"line {number:02}\n")
                pause.wait(0.1)
            open_handle.write("tail\n")

    writer = threading.Thread(target=write_slowly)
    writer.start()
    cut = machine.put("cut.md", "full\n")
    writer.join()
    machine.assert_equal_to_disk()
    cut.write_text("")
    cut.write_text("full again\n")
    machine.await_memory(
        {
            "slow.md": ["".join(f"line {number:02}\n" for number in range(1, 21))],
            "open.md": ["head\ntail\n"],
            "cut.md": ["full again\n"],
        }
    )


def test_names_that_look_alike_stay_apart(running: Machine) -> None:
    machine = running
    composed, decomposed = "caf\u00e9.md", "cafe\u0301.md"
    machine.put(composed, "composed\n")
    machine.assert_equal_to_disk()
    (machine.root / composed).rename(machine.root / decomposed)
    machine.await_memory({decomposed: ["composed\n"]})
    machine.put(composed, "composed again\n")
    machine.await_memory({decomposed: ["composed\n"], composed: ["composed again\n"]})
    (machine.root / decomposed).unlink()
    texts = {
        "\u212b.md": "angstrom",
        "\u00c5.md": "ring",
        "\ufb01.md": "ligature",
        "fi.md": "plain",
    }
    for name, text in texts.items():
        machine.put(name, text)
    expected = {name: [text] for name, text in texts.items()}
    machine.await_memory({composed: ["composed again\n"], **expected})
    before = machine.ids()
    assert machine.settled()["stored"] == 0
    assert machine.ids() == before


def test_a_removed_folder_takes_nothing_with_it_that_starts_alike(machine: Machine) -> None:
    other = machine.top / "root-other"
    machine.configure(
        {"id": "notes", "folder": str(machine.root)}, {"id": "other", "folder": str(other)}
    )
    for path in (
        *("foo/1.md", "foobar/2.md", "foo-old/3.md", "foo.md", "foo2/4.md", "xfoo/5.md"),
        *("sub/foo/6.md", "a.md", "a.md.backup", "a.mdx", "foo /7.md"),
    ):
        machine.put(path)
    (other / "foo").mkdir(parents=True)
    (other / "foo/8.md").write_text("eight\n")
    machine.start()
    machine.assert_equal_to_disk()
    until(lambda: machine.memory(other) == {"foo/8.md": ["eight\n"]})
    assert len(machine.memory()) == 11
    before = machine.ids()
    shutil.rmtree(machine.root / "foo")
    (machine.root / "a.md").unlink()
    machine.assert_equal_to_disk()
    gone = {str(machine.root / "foo/1.md"), str(machine.root / "a.md")}
    assert machine.ids() == {path: id for path, id in before.items() if path not in gone}
    (machine.root / "foo2").rename(machine.root / "foo3")
    machine.assert_equal_to_disk()
    assert machine.memory(other) == on_disk(other)


def test_the_watcher_obeys_the_same_rules_as_the_scan(machine: Machine, tmp_path: Path) -> None:
    machine.configure(
        {
            "id": "notes",
            "folder": str(machine.root),
            "include": ["/notes/**/*.md", "/notes/*.md"],
            "exclude": ["draft*", ".*"],
            "max_file_size": "100KiB",
        }
    )
    for path in ("notes/a.md", "other/b.md", "notes/draft1.md", "notes/c.txt"):
        machine.put(path)
    machine.start()
    machine.await_memory({"notes/a.md": ["text of notes/a.md\n"]})
    machine.put("notes/new.md")
    for path in ("other/new.md", "notes/draft2.md", "notes/d.txt", "notes/.hid.md"):
        machine.put(path, "CANARY\n")
    machine.put("notes/big.md", "CANARY" * 40_000)
    (machine.root / "notes/a.md").rename(machine.root / "other/a.md")
    (tmp_path / "x").mkdir()
    (tmp_path / "x/sec.md").write_text("CANARY\n")
    (tmp_path / "x").rename(machine.root / "other/moved")
    (machine.root / "notes/c.txt").rename(machine.root / "notes/c.md")
    wanted = {"notes/new.md": ["text of notes/new.md\n"], "notes/c.md": ["text of notes/c.txt\n"]}
    machine.await_memory(wanted)
    machine.settled()
    assert machine.memory() == wanted
    assert machine.stop() == 0
    machine.start()
    machine.settled()
    assert machine.memory() == wanted


def test_files_with_one_text_are_apart(running: Machine) -> None:
    machine = running
    for path in ("a/LICENSE.md", "b/LICENSE.md", "c/LICENSE.md"):
        machine.put(path, "same text\n")
    machine.assert_equal_to_disk()
    (machine.root / "a/LICENSE.md").unlink()
    machine.await_memory({"b/LICENSE.md": ["same text\n"], "c/LICENSE.md": ["same text\n"]})
    (machine.root / "b/LICENSE.md").rename(machine.root / "b/COPYING.md")
    machine.await_memory({"b/COPYING.md": ["same text\n"], "c/LICENSE.md": ["same text\n"]})
    for text in ("other\n", "same text\n"):
        machine.put("c/LICENSE.md", text)
        machine.await_memory({"b/COPYING.md": ["same text\n"], "c/LICENSE.md": [text]})
    (machine.root / "b/COPYING.md").unlink()
    machine.put("b/COPYING.md", "same text\n")
    machine.await_memory({"b/COPYING.md": ["same text\n"], "c/LICENSE.md": ["same text\n"]})
    machine.settled()
    assert set(machine.memory()) == {"b/COPYING.md", "c/LICENSE.md"}


def test_a_storm_of_changes_leaves_the_last_state(machine: Machine) -> None:
    for number in range(2000):
        machine.put(f"d{number % 20}/f{number}.md", f"one {number}\n")
    machine.start()
    machine.assert_equal_to_disk(60)
    for number in range(2000):
        machine.put(f"d{number % 20}/f{number}.md", f"two {number}\n")
    shutil.rmtree(machine.root / "d19")
    machine.put("small.md", "must not wait for the storm\n")
    machine.assert_equal_to_disk(60)
    assert len(machine.memory()) == 1901


def test_a_tree_moved_out_and_back_is_forgotten_and_stored_again(running: Machine) -> None:
    machine = running
    for number in range(30):
        machine.put(f"tree/{number % 3}/{number}.md")
    machine.put("stays.md")
    machine.assert_equal_to_disk()
    away = machine.top / "away"
    (machine.root / "tree").rename(away)
    machine.await_memory({"stays.md": ["text of stays.md\n"]})
    (away / "1/1.md").write_text("changed elsewhere\n")
    away.rename(machine.root / "tree")
    machine.assert_equal_to_disk()
    machine.put("tree/1/new.md")
    machine.assert_equal_to_disk()


def test_a_file_becomes_a_folder_and_a_file_again(running: Machine) -> None:
    machine = running
    machine.put("thing.md", "a file\n")
    machine.put("thing.md.old", "unrelated\n")
    machine.assert_equal_to_disk()
    (machine.root / "thing.md").unlink()
    machine.put("thing.md/inner.md")
    machine.assert_equal_to_disk()
    shutil.rmtree(machine.root / "thing.md")
    machine.put("thing.md", "a file again\n")
    machine.assert_equal_to_disk()


def test_an_ignore_file_edited_while_running_counts_at_once(running: Machine) -> None:
    machine = running
    for path in ("a.md", "b.log.md", "sub/c.log.md", "sub/d.md"):
        machine.put(path)
    machine.assert_equal_to_disk()
    ignore = machine.root / ".gitignore"
    ignore.write_text("*.log.md\n")
    until(lambda: set(machine.memory()) - {".gitignore"} == {"a.md", "sub/d.md"})
    machine.put("sub/e.log.md", "ignored\n")
    machine.put("sub/f.md")
    until(lambda: "sub/f.md" in machine.memory())
    assert "sub/e.log.md" not in machine.memory()
    ignore.write_text("sub/\n")
    until(lambda: set(machine.memory()) - {".gitignore"} == {"a.md", "b.log.md"})
    ignore.unlink()
    machine.assert_equal_to_disk()
