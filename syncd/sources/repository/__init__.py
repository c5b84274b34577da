"""The repository source: a working copy, a bare repository, or the mirror of an address."""

from __future__ import annotations

from syncd.sources.repository.history import CommitRules
from syncd.sources.repository.settings import RepositorySettings
from syncd.sources.repository.source import COMMITS, RepositorySource

__all__ = ["COMMITS", "CommitRules", "RepositorySettings", "RepositorySource"]
