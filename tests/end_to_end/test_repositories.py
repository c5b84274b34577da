"""Repositories under a running daemon: whatever git does, memory is soon as git is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.harness import Machine
from tests.repository.making import Repo
from tests.waiting import until


class Watched:
    """A repository in the place of the machine's folder, watched by a daemon."""

    def __init__(self, machine: Machine, repo: Repo, **settings: object) -> None:
        self.machine = machine
        self.repo = repo
        machine.configure({"id": "notes", "repository": str(repo.root), "rescan": "1h", **settings})

    def commits(self) -> set[str]:
        return {hit.meta.commit for hit in self.machine.hits() if hit.meta.commit is not None}

    def files(self) -> dict[str, str]:
        """The texts of the files in memory; each path once."""
        found: dict[str, str] = {}
        for hit in self.machine.hits():
            if hit.meta.file_path is not None:
                assert hit.meta.file_path not in found, hit.meta.file_path
                found[hit.meta.file_path] = hit.text.partition("\n\n")[2]
        return found

    def disk(self) -> dict[str, str]:
        names = [name.decode() for name in self.repo.shown()]
        return {name: (self.repo.root / name).read_text(encoding="utf-8") for name in names}

    def equals(self) -> bool:
        return self.commits() == self.repo.commits() and self.files() == self.disk()

    def soon(self, what: str) -> None:
        """Memory becomes as git is, without anybody asking for a pass."""
        until(self.equals, what=f"memory equal to git after {what}")


@pytest.fixture
def watched(machine: Machine) -> Watched:
    repo = Repo(machine.root)
    for number in range(60):
        repo.put(f"d{number % 6}/n{number}.md", f"note {number}\n")
    repo.commit("the first")
    repo.git("branch", "-q", "-M", "main")
    watched = Watched(machine, repo)
    machine.start()
    watched.soon("the start")
    return watched


def test_what_git_does_is_noticed(watched: Watched) -> None:
    repo = watched.repo
    repo.put("d0/n0.md", "an edit that is not committed\n")
    watched.soon("an edit")
    repo.commit("the second")
    watched.soon("a commit")
    repo.git("commit", "-q", "--amend", "-m", "the second, in other words")
    watched.soon("an amend")
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    watched.soon("a new branch")
    repo.put("side.md", "only here\n")
    repo.commit("aside")
    watched.soon("a commit on it")
    repo.git("rebase", "-q", "main")
    watched.soon("a rebase")
    repo.git("checkout", "-q", "main")
    watched.soon("a checkout")
    repo.git("merge", "-q", "--no-ff", "-m", "together", "side")
    watched.soon("a merge")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    watched.soon("a reset")
    repo.git("stash", "push", "-q", "--include-untracked")
    repo.git("checkout", "-q", "--detach")
    watched.soon("a detached head")
    repo.commit("on no branch")
    watched.soon("a commit on no branch")
    log = watched.machine.lines()
    assert not [line for line in log if "WARNING" in line or "ERROR" in line], log


def test_a_checkout_of_thousands_of_files_ends_equal(watched: Watched) -> None:
    repo = watched.repo
    repo.git("checkout", "-q", "-b", "large")
    for number in range(3000):
        repo.put(f"l{number % 40}/f{number}.md", f"large {number}\n")
    repo.commit("three thousand")
    watched.soon("three thousand files")
    repo.git("checkout", "-q", "main")
    watched.soon("their removal")
    assert watched.machine.status()["state"] == "idle"
    repo.git("checkout", "-q", "large")
    watched.soon("their return")


def test_a_rebase_that_stops_loses_no_file(watched: Watched) -> None:
    repo = watched.repo
    repo.git("checkout", "-q", "-b", "side")
    repo.put("d0/n0.md", "one side\n")
    repo.commit("one side")
    repo.git("checkout", "-q", "main")
    repo.put("d0/n0.md", "the other side\n")
    repo.commit("the other side")
    repo.git("checkout", "-q", "side")
    with pytest.raises(AssertionError, match="rebase"):
        repo.git("rebase", "-q", "main")
    repo.put("d0/n0.md", "both sides\n")
    repo.git("add", "-A")
    repo.git("-c", "core.editor=true", "rebase", "--continue")
    watched.soon("the end of the rebase")
    assert watched.files()["d0/n0.md"] == "both sides\n"


def test_while_it_was_down(watched: Watched) -> None:
    repo, machine = watched.repo, watched.machine
    machine.stop()
    for number in range(50):
        (repo.root / f"d{number % 6}/n{number}.md").unlink()
    repo.commit("most of it was removed")
    repo.git("commit", "-q", "--amend", "-m", "and said in other words")
    machine.start()
    # Git's own account of the tip is no mere absence: nothing is held.
    watched.soon("a start after a removal")
    assert machine.status()["state"] == "idle"


def test_a_worktree_and_its_repository_are_two_sources(watched: Watched, tmp_path: Path) -> None:
    repo, machine = watched.repo, watched.machine
    machine.stop()
    repo.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    linked = Repo(tmp_path / "linked", make=False)
    other = Watched(machine, linked)
    machine.start()
    other.soon("the change of the configuration")
    linked.put("linked.md", "in the worktree alone\n")
    linked.commit("linked")
    other.soon("a commit in a linked worktree")


def test_an_address_is_fetched_on_its_own_schedule(machine: Machine, tmp_path: Path) -> None:
    origin = Repo(tmp_path / "origin")
    origin.put("a.md", "one\n")
    origin.commit("one")
    machine.configure(
        {"id": "notes", "repository": f"file://{origin.root}", "fetch": "1s", "rescan": "1h"}
    )
    machine.start()

    def commits() -> set[str]:
        return {hit.meta.commit for hit in machine.hits() if hit.meta.commit is not None}

    until(lambda: commits() == origin.commits(), what="the first fetch")
    origin.put("a.md", "two\n")
    origin.commit("two")
    until(lambda: commits() == origin.commits(), what="the next fetch")
    origin.git("commit", "-q", "--amend", "-m", "two, said again")
    until(lambda: commits() == origin.commits(), what="a rewritten history")
    origin.root.rename(tmp_path / "away")
    until(lambda: machine.status()["state"] == "unavailable", what="that it is away")
    assert commits()
    (tmp_path / "away").rename(origin.root)
    until(lambda: machine.status()["state"] == "idle", what="that it is back")


def test_nothing_in_the_repository_is_written(watched: Watched) -> None:
    repo = watched.repo
    listing = [sys.executable, "-c", _LISTING, str(repo.root)]
    before = subprocess.check_output(listing)
    watched.machine.settled()
    assert subprocess.check_output(listing) == before


_LISTING = """
import hashlib, os, sys
for top, names, files in sorted(os.walk(sys.argv[1])):
    for name in sorted(files):
        path = os.path.join(top, name)
        status = os.lstat(path)
        with open(path, "rb") as file:
            print(path, status.st_ino, status.st_mtime_ns, hashlib.sha256(file.read()).hexdigest())
"""
