"""A pass that gives way to others of the same source, and to a disk that changes meanwhile."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncd.memory import ForgetTarget
from syncd.sources import FolderSource, Reading, Sighting
from syncd.sync.passes import Pass
from syncd.sync.plan import Hold
from syncd.sync.scope import WHOLE, Scope, still_absent
from tests.sync.scene import Scene

EXAMPLES = int(os.environ.get("SYNCD_TEST_INTERLEAVINGS", "60"))
PATHS = ("a.md", "b.md", "d/a.md", "d/b.md", "d/e/c.md", "f/g.md", "z.md")
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(["one", "two", "six"])),
        st.tuples(st.just("remove"), st.sampled_from((*PATHS, "d", "f"))),
        st.tuples(st.just("move"), st.sampled_from((*PATHS, "d")), st.sampled_from((*PATHS, "f"))),
        st.tuples(st.just("write"), st.just("d/.gitignore"), st.sampled_from(["a.md", "e/", "#"])),
    ),
    max_size=4,
)


class Stage(Scene):
    """One source object for all passes, as the daemon has it, and changes that are hinted."""

    def __init__(self, top: Path) -> None:
        super().__init__(top)
        self.one = super().source
        self.engine.before = self._check_forget

    @property
    def source(self) -> FolderSource:
        return self.one

    def change(self, change: tuple[str, ...]) -> Scope:
        """Carry out one change; the scope of the pass that its hints would lead to."""
        match change:
            case ("write", path, text):
                if not self._writable(path):
                    return Scope(())
                self.put(path, text)
                return Scope((os.path.dirname(path) if path.endswith("ignore") else path,))
            case ("remove", path) if (self.root / path).exists():
                self.remove(path)
                return Scope((path,), frozenset([path]))
            case ("move", path, to) if (self.root / path).exists() and self._writable(to):
                kinds = (self.root / path).is_dir(), (self.root / to).is_dir()
                if any(kinds) and (kinds[1] or (self.root / to).exists() or to.startswith(path)):
                    return Scope(())
                (self.root / to).parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).rename(self.root / to)
                return Scope((path, to), frozenset([path]))
        return Scope(())

    def _writable(self, path: str) -> bool:
        above = [self.root / top for top in Path(path).parents]
        return not any(top.is_file() for top in above) and not (self.root / path).is_dir()

    def wanted(self) -> dict[str, list[str]]:
        """What a new sync would bring, path by path."""
        out = {}
        fresh = FolderSource(self.one._settings)
        for seen in fresh.scan():
            if isinstance(seen, Sighting) and fresh.judge(seen) is None:
                became = fresh.read(seen.path)
                assert isinstance(became, Reading)
                out[seen.path] = [item.render_text() for item in became.items]
        return out

    def _check_forget(self, name: str, argument: Any) -> None:
        """What disappears is forgotten by path: it must not be there at that moment."""
        if name == "forget" and isinstance(argument, ForgetTarget) and argument.filter is not None:
            path = Path(argument.filter.file_path or "")
            there = [path] if path.is_file() else list(path.rglob("*.md"))
            wanted = self.wanted()
            here = [str(file.relative_to(self.root)) for file in there]
            assert not [file for file in here if file in wanted], argument


@contextmanager
def stage() -> Iterator[Stage]:
    # hundreds of small ledgers: where there is a disk of memory, it saves their waiting for a disk
    top = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    stage = Stage(Path(top))
    try:
        yield stage
    finally:
        stage.close()
        shutil.rmtree(top)


def _order(stage: Stage, **options: Any) -> Pass:
    return Pass(stage.source, stage.ledger, stage.engine, hold=Hold(items=100), **options)


@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
@given(
    before=CHANGES,
    behind=CHANGES,
    meanwhile=st.lists(CHANGES, max_size=6),
    only=st.sampled_from([WHOLE, Scope(("d", "z.md"))]),
)
def test_whatever_happens_between_two_files_memory_equals_the_disk(
    before: list[Any], behind: list[Any], meanwhile: list[list[Any]], only: Scope
) -> None:
    with stage() as this:
        for path in ("keep.md", *PATHS[:4]):
            this.put(path, "one")
        for change in before:
            this.change(change)
        _order(this).run()
        missed = [this.change(change) for change in behind]
        rest, again = list(meanwhile), []

        def interlude() -> None:
            for change in rest.pop(0) if rest else ():
                scope = this.change(change)
                _order(this).run(scope)
                again.append(scope)

        _order(this, pressing=lambda: True, interlude=interlude).run(only)
        for scope in (*again, *missed):
            _order(this).run(scope)
        assert this.memory() == this.wanted()
        _order(this).run()
        assert this.memory() == this.wanted()
        assert len(this.ids()) == len(this.memory())


def test_a_file_that_came_back_during_the_pass_is_not_forgotten() -> None:
    with stage() as this:
        for path in ("a.md", "b.md", "z.md"):
            this.put(path, "one")
        _order(this).run()
        text = (this.root / "a.md").read_text()
        this.remove("a.md")
        this.put("b.md", "two")

        def interlude() -> None:
            if not (this.root / "a.md").exists():
                this.put("a.md", text)
                _order(this).run(Scope(("a.md",)))

        _order(this, pressing=lambda: True, interlude=interlude).run()
        assert this.memory() == this.wanted()
        assert set(this.memory()) == {"a.md", "b.md", "z.md"}


def test_a_file_stored_meanwhile_is_superseded_not_doubled() -> None:
    with stage() as this:
        this.put("a.md", "one")
        this.put("b.md", "one")
        texts = ["two", "six"]

        def interlude() -> None:
            if len(texts) == 2:
                this.put("b.md", texts.pop(0))
                _order(this).run(Scope(("b.md",)))
                this.put("b.md", texts[0])

        _order(this, pressing=lambda: True, interlude=interlude).run()
        assert this.memory()["b.md"] == ["# b.md\n\nsix"]


def test_nothing_is_under_way_when_others_run() -> None:
    with stage() as this:
        for number in range(10):
            this.put(f"{number}.md", f"text {number}")
        seen = []

        def interlude() -> None:
            assert not this.ledger._db.in_transaction
            seen.append(len(this.memory()))

        _order(this, pressing=lambda: True, interlude=interlude).run()
        assert seen == list(range(1, 11))


def test_what_is_absent_is_looked_for_once_more() -> None:
    with stage() as this:
        for path in ("here.md", "dir/here.md", "file/x.md"):
            this.put(path, "one")
        this.remove("file")
        this.put("file", "a file now")
        asked = ["here.md", "gone.md", "dir/here.md", "dir/gone.md", "went/a.md", "went/b/c.md"]
        absent = still_absent(this.source, [*asked, "file/x.md", "dir", "/elsewhere/a.md"])
        assert absent == {
            *("gone.md", "dir/gone.md", "went/a.md", "went/b/c.md", "file/x.md", "dir"),
            "/elsewhere/a.md",
        }


def test_what_ran_meanwhile_is_repeated_because_the_listing_was_older() -> None:
    with stage() as this:
        this.put("a.md", "one")
        (this.root / "b.md").symlink_to("a.md")
        again = []

        def interlude() -> None:
            if (this.root / "b.md").is_symlink():
                this.remove("b.md")
                this.put("b.md", "two")
                again.append(Scope(("b.md",)))
                _order(this).run(again[0])
                assert this.memory() == this.wanted()

        _order(this, pressing=lambda: True, interlude=interlude).run()
        assert "b.md" not in this.memory()  # it was a link when the directory was listed
        _order(this).run(again[0])
        assert this.memory() == this.wanted()
