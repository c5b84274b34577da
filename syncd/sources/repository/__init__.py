"""The repository source: a working copy, a bare repository, or the mirror of an address."""

from __future__ import annotations

from syncd.sources.names import escape, printable
from syncd.sources.repository.git import without_credentials
from syncd.sources.repository.history import CommitRules
from syncd.sources.repository.settings import RepositorySettings
from syncd.sources.repository.source import COMMITS, RepositorySource

__all__ = ["COMMITS", "CommitRules", "RepositorySettings", "RepositorySource", "shown_address"]


def shown_address(repository: str) -> str:
    """A configured path or address as people may see it, without credentials."""
    return printable(escape(without_credentials(repository)))
