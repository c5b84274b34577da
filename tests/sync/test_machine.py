"""A state machine: whatever happens to the folder, the ledger, memory and the process between two
steps, after a whole pass memory equals the disk.

A longer run: SYNCD_TEST_MACHINE=2000 (examples) pytest tests/sync/test_machine.py
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from syncd.memory import Namespace
from syncd.memory.errors import Unavailable
from syncd.sources import Blind, FolderSource, Seen, SourceUnavailable, escape, reading
from syncd.sync.passes import Pass
from syncd.sync.plan import Hold, at_or_below
from syncd.sync.scope import WHOLE, Scope
from tests.sync.scene import SOURCE, Scene

EXAMPLES = int(os.environ.get("SYNCD_TEST_MACHINE", "150"))
STEPS = 60 if "SYNCD_TEST_MACHINE" in os.environ else 40
# Few names, so that things meet: look-alikes, cases, two spellings of one letter, no text at all.
NAMES = ["a", "a-", "a.b", "A", "b", "a0", "é", "e\u0301", "x\ny", os.fsdecode(b"\xff"), "\uef80"]
names = st.sampled_from(NAMES)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
EXCLUDED = "b"


class HalfBlind(FolderSource):
    """Cannot look into the directory `top`."""

    top = ""

    def scan(self, under: str = "", mark: str | None = None) -> Iterator[Seen]:
        if at_or_below(under, self.top) and under:
            yield Blind(self.top + "/", "input/output error")
            return
        seen = [one for one in super().scan(under) if not one.path.startswith(self.top + "/")]
        if at_or_below(self.top, under):
            seen.append(Blind(self.top + "/", "input/output error"))
        yield from sorted(seen, key=lambda one: one.path)


class Folder(RuleBasedStateMachine):
    """`hints` are the events since the last pass; `calm` what no one touched since a whole one."""

    engine = "reference"

    def __init__(self) -> None:
        super().__init__()
        self.top = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.scene = Scene(Path(self.top) / "scene", self.engine, tags=())
        self.root = str(self.scene.root)
        self.length = 0
        self.hints: list[tuple[str, bool]] = []
        self.calm: dict[str, list[str]] = {}
        self.hold = Hold()
        self.is_settled = reading.is_settled

    @initialize(settled=st.booleans(), hold=st.sampled_from([Hold(), Hold(1, 0.25)]))
    def begin(self, settled: bool, hold: Hold) -> None:
        # Every text here has another size, so each look may count as settled at once.
        if settled:
            reading.is_settled = lambda look, now: True
        self.hold = hold
        self.scene.put("always")
        self.scene.sync(hold=hold)

    def teardown(self) -> None:
        reading.is_settled = self.is_settled
        self.scene.close()
        shutil.rmtree(self.top)

    # -- the disk ----------------------------------------------------------------------------

    def at(self, path: str) -> str:
        return os.path.join(self.root, path)

    def touched(self, path: str, removed: bool = False) -> None:
        key = escape(path)
        self.hints.append((key, removed))
        for known in list(self.calm):
            if known == key or known.startswith(key + "/"):
                del self.calm[known]

    def clear(self, path: str) -> None:
        """Remove whatever lies at a path."""
        if os.path.isdir(self.at(path)):
            shutil.rmtree(self.at(path))
        elif os.path.lexists(self.at(path)):
            os.unlink(self.at(path))
        else:
            return
        self.touched(path, removed=True)

    def make_way(self, path: str) -> None:
        """Make the directories above a path, in the place of files where need be."""
        parts = path.split("/")
        for length in range(1, len(parts)):
            above = "/".join(parts[:length])
            if os.path.isfile(self.at(above)):
                self.clear(above)
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)

    def files(self) -> list[str]:
        found = [
            os.path.relpath(os.path.join(at, name), self.root)
            for at, _, names in os.walk(self.root)
            for name in names
        ]
        return sorted(found)

    def some_file(self, data: Any) -> str:
        return str(data.draw(st.sampled_from(self.files() or ["always"]), label="file"))

    def some_directory(self, data: Any) -> str:
        above = sorted({p[: p.rindex("/")] for p in self.files() if "/" in p})
        return str(data.draw(st.sampled_from(above or ["none"]), label="directory"))

    @rule(path=paths)
    def write(self, path: str) -> None:
        """Make or edit a file, also in the place of a directory, or below what was a file."""
        self.make_way(path)
        if os.path.isdir(self.at(path)):
            self.clear(path)
        self.length += 1
        with open(self.at(path), "w") as file:
            file.write("t" * self.length)
        self.touched(path)

    @rule(path=paths)
    def write_many(self, path: str) -> None:
        for n in range(13):
            self.write(f"{path}/{n}")

    @rule(data=st.data())
    def edit(self, data: Any) -> None:
        self.write(self.some_file(data))

    @rule(data=st.data(), path=paths)
    def copy(self, data: Any, path: str) -> None:
        file = self.some_file(data)
        if not os.path.isfile(self.at(file)):
            return
        with open(self.at(file)) as opened:
            text = opened.read()
        self.write(path)
        with open(self.at(path), "w") as opened:
            opened.write(text)

    @rule(data=st.data(), time=st.integers(0, 2**40))
    def touch(self, data: Any, time: int) -> None:
        file = self.some_file(data)
        if os.path.isfile(self.at(file)):
            os.utime(self.at(file), ns=(time, time))
            self.hints.append((escape(file), False))

    @rule(data=st.data())
    def blank(self, data: Any) -> None:
        file = self.some_file(data)
        with open(self.at(file), "w") as opened:
            opened.write(" ")
        self.touched(file)

    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        self.clear(self.some_file(data))

    @rule(data=st.data())
    def delete_directory(self, data: Any) -> None:
        self.clear(self.some_directory(data))

    @rule(data=st.data(), path=paths, whole=st.booleans())
    def move(self, data: Any, path: str, whole: bool) -> None:
        old = self.some_directory(data) if whole else self.some_file(data)
        if at_or_below(path, old) or at_or_below(old, path):
            return
        self.make_way(path)
        self.clear(path)
        if not os.path.lexists(self.at(old)):  # one of those that made way
            return
        os.rename(self.at(old), self.at(path))
        self.touched(old, removed=True)
        self.touched(path)

    @rule(data=st.data())
    def change_places(self, data: Any) -> None:
        one, two = self.some_file(data), self.some_file(data)
        if one == two:
            return
        os.rename(self.at(one), self.at("swap"))
        os.rename(self.at(two), self.at(one))
        os.rename(self.at("swap"), self.at(two))
        self.touched(one)
        self.touched(two)

    # -- all else ----------------------------------------------------------------------------

    @rule()
    def lose_ledger(self) -> None:
        self.scene.lose_ledger()

    @rule()
    def lose_memory(self) -> None:
        self.scene.lose_memory()
        self.calm.clear()

    @rule(
        tags=st.sampled_from([(), ("one",), ("two", "three")]),
        namespace=st.sampled_from(["root", "agent:a"]),
        exclude=st.sampled_from([(), (EXCLUDED + "/",)]),
    )
    def reconfigure(self, tags: tuple[str, ...], namespace: str, exclude: tuple[str, ...]) -> None:
        self.scene.settings = {
            "tags": tags,
            "namespace": Namespace.parse(namespace),
            "exclude": exclude,
        }
        self.calm = {p: t for p, t in self.calm.items() if EXCLUDED not in p.split("/")[:-1]}

    def scope(self, data: Any) -> Scope:
        """The hints of now, or some of them; sometimes with the whole besides."""
        chosen = [hint for hint in self.hints if data.draw(st.sampled_from([1, 1, 1, 0]))]
        removed = frozenset(path for path, removed in chosen if removed)
        paths = tuple(path for path, _ in chosen)
        return Scope(paths, removed)

    @precondition(lambda self: self.hints)
    @rule(data=st.data())
    def hinted_pass(self, data: Any) -> None:
        try:
            self.scene.sync(self.scope(data), hold=self.hold)
        except SourceUnavailable:
            assert not self.disk()
        self.hints.clear()

    @rule(at=st.integers(1, 70), data=st.data(), whole=st.booleans())
    def killed_pass(self, at: int, data: Any, whole: bool) -> None:
        scope = WHOLE if whole else self.scope(data)
        try:
            self.scene.sync_killed(at, scope, hold=self.hold)
        except SourceUnavailable:
            assert not self.disk()

    @rule(left=st.integers(0, 6), data=st.data(), whole=st.booleans())
    def pass_whose_engine_goes_away(self, left: int, data: Any, whole: bool) -> None:
        calls = iter(range(left))

        def before(name: str, argument: Any) -> None:
            if next(calls, None) is None:
                raise Unavailable("away")

        self.scene.engine.before = before
        try:
            self.scene.sync(WHOLE if whole else self.scope(data), hold=self.hold)
        except (Unavailable, SourceUnavailable):
            pass
        finally:
            self.scene.engine.before = lambda name, argument: None

    @rule(data=st.data(), whole=st.booleans())
    def pass_that_cannot_look_into_a_directory(self, data: Any, whole: bool) -> None:
        """Whatever a person accepts, nothing below it is forgotten."""
        top = escape(self.some_directory(data))
        before = self.scene.memory()
        owed = self.scene.ledger.doomed(SOURCE)
        source = HalfBlind(self.scene.source._settings)
        source.top = top
        scope = WHOLE if whole else self.scope(data)
        Pass(source, self.scene.ledger, self.scene.engine, accept_deletions=True).run(scope)
        after = self.scene.memory()
        for path, texts in before.items():
            if path.startswith(top + "/") and not owed:
                assert set(texts) <= set(after.get(path, [])), path

    @rule()
    def pass_of_a_new_process(self) -> None:
        self.scene.reopen()
        self.whole_pass()

    @rule()
    def whole_pass(self) -> None:
        try:
            held = self.scene.sync(hold=self.hold).held
        except SourceUnavailable:
            assert not self.disk()
            held = 1
        if held:
            self.scene.sync(accept=True, hold=self.hold)
        self.hints.clear()
        expected = self.disk()
        assert self.scene.memory() == expected
        fresh = self.scene.fresh_ids()
        assert self.scene.ids() == {path: fresh[path] for path in expected}
        assert self.scene.ledger.doomed(SOURCE) == []
        assert self.scene.ledger.count(SOURCE) == (len(expected), len(expected))
        self.calm = expected

    def disk(self) -> dict[str, list[str]]:
        excluded = self.scene.settings.get("exclude")
        return {
            path: texts
            for path, texts in self.scene.disk().items()
            if not excluded or EXCLUDED not in path.split("/")[:-1]
        }

    @invariant()
    def what_nobody_touched_is_in_memory(self) -> None:
        memory = self.scene.memory() if self.calm else {}
        for path, texts in self.calm.items():
            assert set(texts) <= set(memory.get(path, [])), path


class FolderInFile(Folder):
    """The same with the engine that people use."""

    engine = "local"


PROFILE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
TestFolder = Folder.TestCase
TestFolder.settings = PROFILE
TestFolderInFile = FolderInFile.TestCase
TestFolderInFile.settings = settings(PROFILE, max_examples=max(5, EXAMPLES // 5))
TestFolder.pytestmark = [pytest.mark.timeout(0)]
TestFolderInFile.pytestmark = [pytest.mark.timeout(0)]
