"""The commits of a branch: which of them are wanted, and what each becomes.

The order is newest first. Messages come as raw objects (`cat-file --batch`) and changed paths from
`diff-tree`, both in constant memory: no format of `git log` survives a NUL in a message, and its
re-encoding depends on the machine's iconv.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from syncd.memory import Document
from syncd.sources.repository.git import Git, GitFailed
from syncd.sources.repository.items import Mould, parsed
from syncd.sources.repository.objects import changes, contents
from syncd.sources.seen import Look, SourceUnavailable, Unreadable


@dataclass(frozen=True, slots=True)
class CommitRules:
    """The newest `max` commits, not older than `since`, that touch one of `paths` (any: empty)."""

    max: int = 1000
    since: datetime | None = None
    paths: tuple[str, ...] = ()


class Selection(NamedTuple):
    """Full hashes, newest first; `broken` says why older ones could not be looked at."""

    commits: tuple[str, ...] = ()
    broken: str | None = None


def select(git: Git, tip: str, rules: CommitRules) -> Selection:
    """The commits that a branch's tip and the rules ask for.

    Whether a commit touches a path is asked of each, not of a simplified history; commits with a
    date that is out of order do not hide those behind them.
    """
    paths = [path.strip("/") for path in rules.paths]
    since = rules.since.timestamp() if rules.since is not None else float("-inf")
    found: list[str] = []
    walk = ("rev-list", "--timestamp", *(("--full-history",) if paths else ()))
    with git.stream(*walk, tip, "--", *paths) as stream:
        for line in stream.output:
            stamp, _, commit = line.decode("ascii").strip().partition(" ")
            if int(stamp) >= since:
                found.append(commit)
                if len(found) == rules.max:
                    return Selection(tuple(found))
        failure = stream.failure()
    return Selection(tuple(found), failure.reason if failure else None)


def read(
    git: Git, commits: Sequence[str], mould: Mould, cut_off: Collection[str]
) -> Generator[tuple[str, Document | Unreadable], None, None]:
    """The item of each commit, in the order of `commits`.

    For those whose parents were `cut_off` nobody can say what they changed.
    """
    known = [commit for commit in commits if commit not in cut_off]
    try:
        with closing(changes(git, known)) as reports, closing(contents(git, commits)) as objects:
            for commit, data in objects:
                changed = None if commit in cut_off else next(reports)[1]
                if isinstance(data, Unreadable):
                    yield commit, data
                elif isinstance(changed, Unreadable):
                    yield commit, changed
                else:
                    yield commit, mould.commit(commit, parsed(data), changed)
    except GitFailed as error:
        raise SourceUnavailable(error.reason) from error


def look_of_object(name: str, size: int) -> Look:
    """The look of something that its hash names: it cannot change, and a copy looks the same."""
    return Look(size, int(name[:15], 16), int(name[15:30], 16), int(name[30:45], 16))
