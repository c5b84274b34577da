"""The standard library synced by the real command, edited, and synced again (SYNCD_WHOLE_STDLIB=1
takes all of it): memory equals the disk path by path and text by text at every step."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from syncd.sync.ledger import Ledger
from syncd.sync.rows import State
from tests.acceptance import library
from tests.cli.running import syncd
from tests.cli.scene import MEMORY, STATE, configure, hits


class Library:
    """A home with the library in it, watched as `lib`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / "lib"
        library.copy_to(self.root)
        configure(home, "lib")

    def run(self, *arguments: str, code: int = 0) -> Any:
        done = syncd(*arguments, "--json", home=self.home)
        assert (done.returncode, done.stderr) == (code, b""), (arguments, done)
        (found,) = json.loads(done.stdout)["sources"]
        return found

    def sync(self) -> Any:
        """One pass that leaves every file as it is; its tally."""
        before = library.metadata(self.root)
        tally = self.run("sync")
        assert tally["in_step"]
        assert library.metadata(self.root) == before
        return tally

    def ids(self) -> dict[str, str]:
        """The id of each path that memory holds; no path has two."""
        found = hits(self.home)
        out = {str(hit.meta.file_path).removeprefix(f"{self.root}/"): hit.id for hit in found}
        assert len(out) == len(found)
        return out

    def left_out(self) -> dict[str, str]:
        """The reason for each path that is deliberately not in memory."""
        ledger = Ledger.read(self.home / STATE)
        assert ledger is not None
        try:
            return dict(ledger.explained("lib", State.LEFT_OUT))
        finally:
            ledger.close()

    def assert_equal(self, skipped: dict[str, int]) -> None:
        """Memory is the disk, text by text; what is not in it has a true reason, and is counted."""
        disk = library.files(self.root)
        memory = {
            str(hit.meta.file_path).removeprefix(f"{self.root}/"): hit for hit in hits(self.home)
        }
        left_out = self.left_out()
        assert memory.keys() | left_out.keys() == disk.keys()
        assert not memory.keys() & left_out.keys()
        for path, hit in memory.items():
            text = hit.text.removeprefix(f"# {Path(path).name}\n\n")
            assert library.is_text_of(text, disk[path]), path
        for path, reason in left_out.items():
            assert library.explains(reason, path, disk[path]), (path, reason)
        counted = {reason: list(left_out.values()).count(reason) for reason in skipped}
        assert counted == skipped
        found = self.run("verify")
        assert found["in_step"]
        assert (found["files"], found["items"]) == (len(memory), len(memory))


@pytest.fixture
def lib(tmp_path: Path) -> Library:
    return Library(tmp_path)


def test_the_standard_library_stays_equal(lib: Library) -> None:
    disk = library.files(lib.root)
    assert len(disk) >= library.LEAST
    tally = lib.sync()
    assert library.files(lib.root) == disk
    ids = lib.ids()
    assert tally["stored"] == len(ids)
    assert tally["replayed"] == tally["forgotten"] == 0
    lib.assert_equal(tally["skipped"])

    database = library.digest(lib.home / MEMORY)
    tally = lib.sync()
    assert [tally[name] for name in ("stored", "replayed", "forgotten")] == [0, 0, 0]
    assert library.digest(lib.home / MEMORY) == database
    assert lib.ids() == ids

    touched = edit(lib.root, sorted(ids))
    tally = lib.sync()
    lib.assert_equal(tally["skipped"])
    after = lib.ids()
    kept = ids.keys() - touched
    assert len(kept) > 1000
    assert {path: after[path] for path in kept} == {path: ids[path] for path in kept}
    assert not set(ids.values()) & {after[path] for path in after.keys() - kept}

    shutil.rmtree(lib.home / STATE)
    tally = lib.sync()
    assert (tally["stored"], tally["forgotten"]) == (0, 0)
    lib.assert_equal(tally["skipped"])
    assert lib.ids() == after


def edit(root: Path, paths: list[str]) -> set[str]:
    """40 edits, 20 deletions, a renamed directory, a file that becomes a directory; paths touched.

    Spread over the tree by their place in the sorted list, so that every run does the same.
    """
    moved = [path for path in paths if path.startswith("json/")]
    others = [path for path in paths if path.endswith(".py") and path not in moved]
    chosen = others[7 :: len(others) // 62][:61]
    assert len(chosen) == 61
    assert len(moved) > 1
    for number, path in enumerate(chosen[:40]):
        with (root / path).open("ab") as file:
            file.write(f"\n# edit number {number}: é\n".encode())
    for path in chosen[40:60]:
        (root / path).unlink()
    (root / "json").rename(root / "jason")
    (root / chosen[60]).unlink()
    (root / chosen[60]).mkdir()
    (root / chosen[60] / "inside.py").write_text("a file where a file was no directory\n")
    return {*chosen, *moved}
