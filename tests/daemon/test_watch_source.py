"""The watch and the folder source together: one set of rules decides what costs a watch."""

from __future__ import annotations

from pathlib import Path

from syncd.daemon.hints import Kind
from syncd.sources.folder import FolderSettings, FolderSource
from tests.daemon.watching import watched
from tests.waiting import until


def test_watches_follow_the_rules_of_the_source(tmp_path: Path) -> None:
    for directory in ("build/a/b", "src/x", "node_modules/y", "venv/lib/z"):
        (tmp_path / directory).mkdir(parents=True)
    source = FolderSource(FolderSettings(id="notes", root=tmp_path))

    with watched(tmp_path, source.is_pruned, source.rules_changed) as this:
        assert this.watch.watched == 9, "all but node_modules"

        def becomes(count: int) -> None:
            until(lambda: this.watch.watched == count, what=f"{count} watches")

        (tmp_path / ".gitignore").write_text("build/\n")
        becomes(6)
        this.forget()  # else the look at the first rule may be the one that meets the next
        (tmp_path / "venv/pyvenv.cfg").write_text("home = /usr")
        becomes(3)
        this.wait(Kind.TREE, tmp_path / "venv")
        (tmp_path / ".gitignore").write_text("")
        becomes(6)
        (tmp_path / "venv/pyvenv.cfg").unlink()
        this.settle()
        this.watch.renew()
        assert this.watch.watched == 9, "renewed, as before each scan"
