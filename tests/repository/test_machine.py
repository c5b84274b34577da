"""A state machine: whatever git and the user do, after a pass memory equals git.

A longer run: SYNCD_TEST_MACHINE=500 (examples) pytest tests/repository/test_machine.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from syncd.memory import MetaFilter
from syncd.memory.reference import ReferenceEngine
from syncd.sources.names import escape
from syncd.sources.repository import COMMITS
from syncd.sync.ledger import Ledger
from syncd.sync.passes import Pass
from syncd.sync.reconcile import listed
from tests.repository.making import Repo, source

EXAMPLES = int(os.environ.get("SYNCD_TEST_MACHINE", "12"))
STEPS = 25
paths = st.sampled_from(["a.md", "d/b.md", "d", "d/e/c.md", "é.md", "build/x.md"])
branches = st.sampled_from(["main", "one", "two"])
texts = st.text("abc\n", min_size=1, max_size=9)


class Repository(RuleBasedStateMachine):
    """A working copy, the bare repository that it pushes to, and a memory of each."""

    @initialize()
    def begin(self) -> None:
        self.top = Path(
            tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        )
        self.repo = Repo(self.top / "r")
        self.repo.put(".gitignore", "build/\n")
        self.repo.commit("first")
        self.bare = self.repo.clone(self.top / "bare.git", "--bare")
        self.engines = {"copy": ReferenceEngine(), "bare": ReferenceEngine()}
        self.ledgers = {name: Ledger.open(self.state(name)) for name in self.engines}
        self.sources = {"copy": source(self.repo.root), "bare": source(self.bare.root)}
        self.fresh = False

    def state(self, name: str) -> Path:
        directory = self.top / f"state-{name}"
        directory.mkdir()
        return directory

    def teardown(self) -> None:
        for ledger in self.ledgers.values():
            ledger.close()
        shutil.rmtree(self.top)

    # -- what a user does ------------------------------------------------------------------------

    def attempt(self, *command: str) -> None:
        """A git command that may well be refused; what it began is given up."""
        self.fresh = False
        try:
            self.repo.git(*command)
        except AssertionError:
            for undo in ("merge", "rebase", "cherry-pick"):
                subprocess.run(
                    ["git", undo, "--abort"], cwd=self.repo.root, capture_output=True, check=False
                )

    @rule(path=paths, text=texts)
    def write(self, path: str, text: str) -> None:
        self.fresh = False
        target = self.repo.root / path
        above = [*target.relative_to(self.repo.root).parents][:-1]
        for each in above:
            if (self.repo.root / each).is_file():
                (self.repo.root / each).unlink()
        if target.is_dir():
            shutil.rmtree(target)
        self.repo.put(path, text)

    @rule(path=paths)
    def remove(self, path: str) -> None:
        self.fresh = False
        target = self.repo.root / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)

    @rule(message=st.sampled_from(["x", "y\n\nbody", "é"]))
    def commit(self, message: str) -> None:
        self.fresh = False
        self.repo.commit(message)

    @rule()
    def amend(self) -> None:
        self.attempt("commit", "-q", "--amend", "--allow-empty", "-m", "amended")

    @rule(name=branches)
    def branch(self, name: str) -> None:
        self.attempt("checkout", "-q", "-b", name)

    @rule(name=branches)
    def checkout(self, name: str) -> None:
        self.attempt("checkout", "-q", name)

    @rule()
    def detach(self) -> None:
        self.attempt("checkout", "-q", "--detach", "HEAD~1")

    @rule(name=branches)
    def merge(self, name: str) -> None:
        self.attempt("merge", "-q", "--no-edit", name)

    @rule(name=branches)
    def rebase(self, name: str) -> None:
        self.attempt("rebase", "-q", name)

    @rule(how=st.sampled_from(["--hard", "--soft", "--mixed"]))
    def reset(self, how: str) -> None:
        self.attempt("reset", "-q", how, "HEAD~1")

    @rule()
    def stash(self) -> None:
        self.attempt("stash", "-q", "-u")

    @rule()
    def track_ignored(self) -> None:
        self.attempt("add", "-f", "build")

    @rule()
    def collect(self) -> None:
        self.attempt("reflog", "expire", "--expire=now", "--all")
        self.attempt("gc", "-q", "--prune=now")

    # -- what syncd does -------------------------------------------------------------------------

    @rule()
    def look(self) -> None:
        self.repo.git("push", "-q", "--force", str(self.bare.root), "HEAD:refs/heads/main")
        for name, each in self.sources.items():
            Pass(each, self.ledgers[name], self.engines[name]).run()
        self.fresh = True

    @rule(name=st.sampled_from(["copy", "bare"]))
    def restart(self, name: str) -> None:
        root = self.repo.root if name == "copy" else self.bare.root
        self.sources[name] = source(root)

    @invariant()
    @precondition(lambda self: self.fresh)
    def memory_equals_git(self) -> None:
        commits = {COMMITS + commit for commit in self.repo.commits()}
        assert self.held("copy") == self.on_disk() | dict.fromkeys(commits)
        assert self.held("bare") == self.in_tree() | dict.fromkeys(commits)

    def held(self, name: str) -> dict[str, str | None]:
        """What memory holds of each path: the text of a file, None of a commit."""
        found: dict[str, str | None] = {}
        for hit in listed(self.engines[name], MetaFilter(source_id="widgets")):
            key = self.sources[name].key_of(hit.meta)
            assert key is not None
            assert key not in found
            title = key.rpartition("/")[2]
            commit = key.startswith(COMMITS)
            found[key] = None if commit else hit.text.removeprefix(f"# {title}\n\n")
        return found

    def on_disk(self) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for name in self.repo.shown():
            text = (self.repo.root / os.fsdecode(name)).read_text()
            if text.strip():
                found[escape(os.fsdecode(name))] = text
        return found

    def in_tree(self) -> dict[str, str | None]:
        found: dict[str, str | None] = {}
        for name, blob in self.repo.tree().items():
            text = self.repo.git("cat-file", "blob", blob).decode()
            if text.strip():
                found[escape(os.fsdecode(name))] = text
        return found


@pytest.mark.timeout(1200)
class TestRepository(Repository.TestCase):
    settings = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
