"""A pass over a repository leaves memory as git is, whatever kinds of pass went before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.memory import MetaFilter
from syncd.memory.reference import ReferenceEngine
from syncd.sources import Unchanged
from syncd.sources.repository import COMMITS, RepositorySettings, RepositorySource
from syncd.sync.ledger import Ledger
from syncd.sync.passes import Pass
from syncd.sync.reconcile import listed
from syncd.sync.scope import WHOLE, Scope
from syncd.sync.tally import Tally
from tests.repository.making import Repo

SCOPE = Scope((".git",))


class Kept:
    """A repository that is kept in memory."""

    def __init__(self, place: Path) -> None:
        self.repo = Repo(place / "widgets")
        settings = RepositorySettings("widgets", str(self.repo.root), place / "mirrors")
        self.source = RepositorySource(settings)
        (place / "state").mkdir()
        self.ledger = Ledger.open(place / "state")
        self.engine = ReferenceEngine()

    def sync(self, scope: Scope = WHOLE) -> Tally:
        return Pass(self.source, self.ledger, self.engine).run(scope)

    def commits(self) -> set[str]:
        hits = listed(self.engine, MetaFilter(source_id="widgets"))
        return {hit.meta.commit for hit in hits if hit.meta.commit is not None}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path)
    yield kept
    kept.ledger.close()


def test_a_tip_that_was_left_and_is_come_back_to_is_looked_at_again(kept: Kept) -> None:
    kept.repo.put("a.md")
    kept.repo.commit("one")
    kept.sync()
    kept.repo.commit("two")
    kept.sync(SCOPE)
    assert kept.commits() == kept.repo.commits()
    kept.repo.git("reset", "-q", "--hard", "HEAD~1")
    # The tip is the one of the first pass, but memory is not as that pass left it.
    kept.sync()
    assert kept.commits() == kept.repo.commits()


def test_an_unchanged_tip_is_not_looked_into(kept: Kept) -> None:
    kept.repo.put("a.md")
    kept.repo.commit("one")
    kept.sync()
    mark = kept.ledger.source("widgets").mark
    assert mark is not None
    assert Unchanged(COMMITS) in list(kept.source.scan("", mark))
    tally = kept.sync()
    assert (tally.stored, tally.replayed, tally.forgotten) == (0, 0, 0)


def test_a_branch_that_loses_most_of_its_history_is_not_held(kept: Kept) -> None:
    kept.repo.put("a.md")
    for number in range(40):
        kept.repo.commit(f"number {number}")
    kept.sync()
    kept.repo.git("reset", "-q", "--hard", "HEAD~35")
    tally = kept.sync()
    assert (tally.held, tally.forgotten) == (0, 35)
    assert kept.commits() == kept.repo.commits()
