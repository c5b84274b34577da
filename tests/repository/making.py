"""Real repositories, made with real git, and what a source sees in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from syncd.memory import Document
from syncd.sources import Blind, LeftOut, Reading, Seen, Sighting, Skip, Unreadable
from syncd.sources.names import name_bytes
from syncd.sources.repository import COMMITS, RepositorySettings, RepositorySource
from syncd.sources.seen import Outcome

PERSON = {
    "GIT_AUTHOR_NAME": "Case",
    "GIT_AUTHOR_EMAIL": "case@example.invalid",
    "GIT_COMMITTER_NAME": "Case",
    "GIT_COMMITTER_EMAIL": "case@example.invalid",
}


class Repo:
    """A repository on disk. Each commit is a minute younger than the one before."""

    clock = 1_700_000_000

    def __init__(self, root: Path, *, make: bool = True) -> None:
        self.root = root
        if make:
            root.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q")

    def git(self, *arguments: str | bytes, given: bytes | None = None, **more: str) -> bytes:
        """What git says, run in the repository; an error when it fails."""
        Repo.clock += 60
        stamp = f"{Repo.clock} +0100"
        dates = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={**os.environ, **PERSON, **dates, **more},
            input=given,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stderr.decode(errors="replace"))
        return done.stdout

    def out(self, *arguments: str) -> str:
        return self.git(*arguments).decode().strip()

    def put(self, path: str | bytes, content: str | bytes | None = None) -> None:
        """Write a file, whose content is by default its own name."""
        target = os.path.join(os.fsencode(self.root), os.fsencode(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        content = os.path.basename(target) + b"\n" if content is None else content
        with open(target, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str = "change", *options: str) -> str:
        """Commit everything; the full hash."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, *options)
        return self.head()

    def head(self) -> str:
        return self.out("rev-parse", "HEAD")

    def clone(self, target: Path, *options: str) -> Repo:
        subprocess.run(
            ["git", "clone", "-q", *options, f"file://{self.root}", str(target)],
            check=True,
            capture_output=True,
        )
        return Repo(target, make=False)

    def commits(self, tip: str = "HEAD") -> set[str]:
        return set(self.out("rev-list", tip).split())

    def shown(self) -> set[bytes]:
        """The regular files that git would show and that are on disk."""
        listed = self.git("ls-files", "-z", "-co", "--exclude-standard").split(b"\0")
        root = os.fsencode(self.root)
        there = (name for name in listed if name and not name.endswith(b"/"))
        return {name for name in there if _is_file(os.path.join(root, name))}

    def tree(self, tip: str = "HEAD") -> dict[bytes, str]:
        """The regular files of a tip's tree with their blobs."""
        records = self.git("ls-tree", "-r", "-z", tip).split(b"\0")
        found = {}
        for record in filter(None, records):
            head, _, name = record.partition(b"\t")
            mode, _, blob = head.decode().split()
            if mode.startswith("100"):
                found[name] = blob
        return found


def _is_file(path: bytes) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def source(where: Path | str, mirrors: Path | None = None, **more: Any) -> RepositorySource:
    settings = RepositorySettings(
        "widgets", str(where), mirrors or Path("/nonexistent/mirrors"), **more
    )
    return RepositorySource(settings)


def sightings(seen: Iterable[Seen]) -> list[str]:
    """The paths that a scan shows, which must ascend."""
    everything = list(seen)
    paths = [one.path for one in everything]
    assert paths == sorted(set(paths)), "a scan ascends and repeats nothing"
    return [one.path for one in everything if isinstance(one, Sighting)]


def files(repository: RepositorySource, under: str = "") -> set[bytes]:
    """The names of the files that a source shows and would read."""
    found = set()
    for seen in repository.scan(under):
        kept = isinstance(seen, Sighting) and not seen.path.startswith(COMMITS)
        if kept and repository.judge(seen) is None:
            found.add(name_bytes(seen.path))
    return found


def commits(repository: RepositorySource) -> set[str]:
    shown = sightings(repository.scan(".git"))
    return {path.removeprefix(COMMITS) for path in shown}


def left_out(repository: RepositorySource) -> dict[str, str]:
    return {one.path: one.reason for one in repository.scan() if isinstance(one, LeftOut)}


def blind(repository: RepositorySource) -> dict[str, str]:
    return {one.path: one.reason for one in repository.scan() if isinstance(one, Blind)}


def outcomes(repository: RepositorySource) -> dict[str, Outcome | None]:
    """What everything becomes that a pass would read."""
    seen = [one for one in repository.scan() if isinstance(one, Sighting)]
    wanted = [one.path for one in seen if repository.judge(one) is None]
    return dict(repository.read_many(wanted))


def items(repository: RepositorySource) -> dict[str, Document]:
    found = {}
    for path, became in outcomes(repository).items():
        if isinstance(became, Reading):
            (found[path],) = became.items
    return found


def texts(repository: RepositorySource) -> dict[str, str]:
    """The texts of all files, by path."""
    return {
        path: item.text for path, item in items(repository).items() if not path.startswith(COMMITS)
    }


def refusals(repository: RepositorySource) -> dict[str, str]:
    """Why each path that was read has no item."""
    return {
        path: became.reason
        for path, became in outcomes(repository).items()
        if isinstance(became, Skip | Unreadable)
    }
