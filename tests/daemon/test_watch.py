"""The watch against a real kernel: which hints come, and that none is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import threading
import time
from pathlib import Path

from syncd.daemon.hints import Hint, Kind
from syncd.daemon.watch import Watch
from tests.daemon.watching import Mirror, by_name, populate, walk, watched
from tests.waiting import until


def of(hints: list[Hint], path: Path) -> list[Kind]:
    """The kinds of hints for one path, in order, each once in a row."""
    kinds = [hint.kind for hint in hints if hint.path == str(path)]
    return [kind for n, kind in enumerate(kinds) if n == 0 or kinds[n - 1] is not kind]


# --- single events


def test_a_written_file_is_saved(root: Path) -> None:
    with watched(root) as this:
        (root / "a.md").write_text("a")
        assert of(this.settle(), root / "a.md")[-1] is Kind.SAVED


def test_an_open_file_is_only_touched(root: Path) -> None:
    with watched(root) as this, (root / "log").open("w") as log:
        log.write("line\n")
        log.flush()
        assert of(this.settle(), root / "log") == [Kind.TOUCHED]


def test_a_mode_a_time_and_a_hard_link_are_touches(root: Path) -> None:
    (root / "a").write_text("a")
    with watched(root) as this:
        (root / "a").chmod(0o600)
        os.utime(root / "a", (1, 1))
        os.link(root / "a", root / "b")
        hints = this.settle()
        assert of(hints, root / "a") == [Kind.TOUCHED]
        assert of(hints, root / "b") == [Kind.TOUCHED]


def test_removals_of_files_and_directories_are_witnessed(root: Path) -> None:
    populate(root / "d", 3, 6)
    (root / "a").write_text("a")
    with watched(root) as this:
        shutil.rmtree(root / "d")
        (root / "a").unlink()
        gone = {hint.path for hint in this.settle() if hint.kind is Kind.GONE}
        assert {str(root / "a"), str(root / "d"), str(root / "d/0/n0/f0.md")} <= gone
        assert this.watch.watched == 1


def test_a_rename_over_a_file_is_a_removal_and_a_save_without_delay(root: Path) -> None:
    (root / "a.md").write_text("v1")
    with watched(root) as this:
        delays = []
        for number in range(20):
            (root / f".tmp{number}").write_text("v2")
            this.forget()
            this.times.clear()
            before = time.perf_counter()
            os.rename(root / f".tmp{number}", root / "a.md")
            this.wait(Kind.SAVED, root / "a.md")
            delays.append(this.times[Hint(Kind.SAVED, str(root / "a.md"))] - before)
            assert of(this.hints, root / f".tmp{number}") == [Kind.GONE]
    # upstream's pairing would cost 0.5 s: no load on the machine makes all of twenty so slow
    assert min(delays) < 0.25


def test_a_file_from_outside_is_saved_and_one_moved_out_is_gone(root: Path) -> None:
    (root.parent / "x").write_text("x")
    with watched(root) as this:
        os.rename(root.parent / "x", root / "x")
        this.wait(Kind.SAVED, root / "x")
        os.rename(root / "x", root.parent / "x")
        assert of(this.settle(), root / "x") == [Kind.SAVED, Kind.GONE]


def test_vims_way_to_save(root: Path) -> None:
    (root / "c.md").write_text("v1")
    with watched(root) as this:
        os.rename(root / "c.md", root / "c.md~")
        (root / "c.md").write_text("v2")
        (root / "c.md~").unlink()
        hints = this.settle()
        assert of(hints, root / "c.md")[0] is Kind.GONE
        assert of(hints, root / "c.md")[-1] is Kind.SAVED
        assert of(hints, root / "c.md~")[-1] is Kind.GONE


def test_reading_makes_no_hint(root: Path) -> None:
    populate(root, 10, 50)
    with watched(root) as this:
        this.forget()
        assert len(dict(walk(str(root)))) == 50
        assert this.settle() == []


def test_names_are_kept_byte_for_byte(root: Path) -> None:
    name = os.fsdecode(b"\xff\xfe d")
    with watched(root) as this:
        os.mkdir(f"{root}/{name}")
        this.wait(Kind.TREE, f"{root}/{name}")
        for file in ("new\nline", os.fsdecode(b"caf\xe9"), "caf\u00e9", "cafe\u0301"):
            Path(f"{root}/{name}/{file}").write_text("x")
            this.wait(Kind.SAVED, f"{root}/{name}/{file}")


def test_links_are_not_followed(root: Path) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "before").symlink_to(outside)
    with watched(root) as this:
        (root / "later").symlink_to(outside)
        this.forget()
        (outside / "a").write_text("a")
        assert this.settle() == []
        assert this.watch.watched == 1


# --- directories


def test_a_new_directory_is_watched_before_its_hint(root: Path) -> None:
    listings: dict[str, int] = {}

    def on_hint(hint: Hint) -> None:
        if hint.kind is Kind.TREE:
            listings[hint.path] = watch.watched

    watch = Watch(str(root), by_name, on_hint)
    watch.start()
    try:
        (root / "d").mkdir()
        until(lambda: str(root / "d") in listings)
        assert listings[str(root / "d")] == 2
    finally:
        watch.stop()


def covered(hints: list[Hint], path: str) -> bool:
    return any(
        hint.path == path or (hint.kind is Kind.TREE and path.startswith(hint.path + "/"))
        for hint in hints
    )


def test_nested_directories_made_as_fast_as_possible(root: Path) -> None:
    mirror = Mirror(str(root))
    with watched(root) as this:
        made = threading.Thread(target=populate, args=(root / "p", 200, 2000))
        made.start()
        seen = 0
        # look as the hints come, as the daemon would: a listing that comes too early finds less
        pause = threading.Event()
        while made.is_alive() or seen < len(this.hints):
            pause.wait(0.002)
            new = this.hints[seen:]
            seen += len(new)
            mirror.follow(new, time.monotonic())
        made.join()
        this.settle()
        mirror.follow(this.hints[seen:], time.monotonic())
        mirror.follow([], time.monotonic() + 60)
        files = [path for path, _ in walk(str(root / "p"))]
        assert len(files) == 2000
        assert all(covered(this.hints, path) for path in files)
        assert {path: text for path, text in mirror.files.items() if "sentinel" not in path} == (
            dict(walk(str(root)))
        )
        assert this.watch.watched == sum(1 for _ in os.walk(root))


def test_an_unpacked_archive(root: Path) -> None:
    populate(root.parent / "w", 30, 300)
    with tarfile.open(root.parent / "w.tar", "w") as archive:
        archive.add(root.parent / "w", "w")
    with watched(root) as this:
        subprocess.run(["tar", "xf", str(root.parent / "w.tar"), "-C", str(root)], check=True)
        hints = this.settle()
        assert all(covered(hints, path) for path, _ in walk(str(root / "w")))


def test_a_populated_directory_is_moved_in_and_lives_on(root: Path) -> None:
    populate(root.parent / "in", 30, 60)
    with watched(root) as this:
        os.rename(root.parent / "in", root / "in")
        this.wait(Kind.TREE, root / "in")
        deep = root / "in/0/n0/n1/n2/new.md"
        deep.write_text("new")
        this.wait(Kind.SAVED, deep)


def test_a_renamed_directory_reports_under_its_new_name_only(root: Path) -> None:
    populate(root / "keep", 20, 40)
    with watched(root) as this:
        os.rename(root / "keep", root / "kept")
        hints = this.settle()
        assert of(hints, root / "keep") == [Kind.GONE]
        assert of(hints, root / "kept") == [Kind.TREE]
        this.forget()
        (root / "kept/0/n0/n1/f0.md").write_text("after")
        this.wait(Kind.SAVED, root / "kept/0/n0/n1/f0.md")
        assert not [hint for hint in this.settle() if "/keep" in hint.path]
        assert this.watch.watched == sum(1 for _ in os.walk(root))


def test_a_directory_moved_out_is_not_watched_any_more(root: Path) -> None:
    populate(root / "out", 20, 40)
    with watched(root) as this:
        os.rename(root / "out", root.parent / "out")
        this.forget()
        (root.parent / "out/0/n0/f0.md").write_text("after")
        (root.parent / "out/0/n0/new").mkdir()
        assert this.settle() == []
        assert this.watch.watched == 1


def test_a_directory_made_anew_under_the_same_name(root: Path) -> None:
    populate(root / "d", 10, 10)
    with watched(root) as this:
        for number in range(20):
            shutil.rmtree(root / "d")
            populate(root / "d", 10, 10)
            (root / f"d/0/n0/n1/x{number}").mkdir()
        this.forget()
        (root / "d/0/n0/n1/x19/x").write_text("x")
        this.wait(Kind.SAVED, root / "d/0/n0/n1/x19/x")
        assert this.watch.watched == sum(1 for _ in os.walk(root))


def test_a_directory_becomes_a_file_and_a_file_a_directory(root: Path) -> None:
    (root / "a").mkdir()
    (root / "b").write_text("b")
    with watched(root) as this:
        (root / "a").rmdir()
        (root / "a").write_text("a")
        (root / "b").unlink()
        (root / "b").mkdir()
        hints = this.settle()
        assert of(hints, root / "a")[0] is Kind.GONE
        assert of(hints, root / "a")[-1] is Kind.SAVED
        assert of(hints, root / "b") == [Kind.GONE, Kind.TREE]


def test_a_changed_mode_of_a_directory_is_a_look_at_all_of_it(root: Path) -> None:
    populate(root / "d", 3, 3)
    with watched(root) as this:
        (root / "d").chmod(0o000)
        (root / "d").chmod(0o755)
        root.chmod(0o711)
        hints = this.settle()
        assert of(hints, root / "d") == [Kind.TREE]
        assert of(hints, root) == [Kind.TREE]
        (root / "d/0/n0/x").write_text("x")
        this.wait(Kind.SAVED, root / "d/0/n0/x")


# --- pruning and rules


def test_pruned_directories_cost_no_watch_and_give_no_hint(root: Path) -> None:
    populate(root / "node_modules", 50, 50)
    populate(root / "src", 2, 2)
    with watched(root) as this:
        assert this.watch.watched == 4  # root, src, src/0, src/0/n0
        populate(root / "node_modules/later", 5, 5)
        populate(root / "src/.git", 5, 5)
        populate(root.parent / "node_modules", 5, 5)
        os.rename(root.parent / "node_modules", root / "src/node_modules")
        shutil.rmtree(root / "node_modules")
        assert this.settle() == []
        assert this.watch.watched == 4


def test_a_directory_renamed_to_a_pruned_name_and_back(root: Path) -> None:
    populate(root / "lib", 3, 3)
    with watched(root) as this:
        os.rename(root / "lib", root / "node_modules")
        assert [hint.kind for hint in this.settle()] == [Kind.GONE]
        assert this.watch.watched == 1
        os.rename(root / "node_modules", root / "lib")
        this.wait(Kind.TREE, root / "lib")
        assert this.watch.watched == sum(1 for _ in os.walk(root))


def test_a_changed_rule_file_is_a_look_at_its_directory_and_moves_watches(root: Path) -> None:
    def is_pruned(path: str) -> bool:
        rules = root / "d/.gitignore"
        return rules.exists() and os.path.basename(path) in rules.read_text().split()

    populate(root / "d/build", 10, 10)
    populate(root / "d/other", 10, 10)
    everything = sum(1 for _ in os.walk(root))
    with watched(root, is_pruned) as this:
        assert this.watch.watched == everything
        (root / "d/.gitignore").write_text("build\n")
        this.wait(Kind.TREE, root / "d")
        this.wait(Kind.SAVED, root / "d/.gitignore")
        assert this.watch.watched == everything - 11
        this.forget()
        (root / "d/build/0/f0.md").write_text("ignored")
        assert this.settle() == []
        (root / "d/.gitignore").unlink()
        this.wait(Kind.TREE, root / "d")
        this.wait(Kind.GONE, root / "d/.gitignore")
        assert this.watch.watched == everything
        (root / "d/build/0/f0.md").write_text("not ignored any more")
        this.wait(Kind.SAVED, root / "d/build/0/f0.md")


def test_a_directory_that_becomes_an_environment_loses_its_watches(root: Path) -> None:
    def is_pruned(path: str) -> bool:
        return os.path.exists(f"{path}/pyvenv.cfg")

    populate(root / "d/venv/lib", 10, 10)
    with watched(root, is_pruned) as this:
        (root / "d/venv/pyvenv.cfg").write_text("home = /usr")
        this.wait(Kind.TREE, root / "d/venv")
        this.settle()
        assert this.watch.watched == 2  # root, d
