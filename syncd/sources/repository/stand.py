"""One look at a repository as a whole, which everything that is said afterwards is about.

Nothing is concluded from a repository that git refuses, works in, or cannot read.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from syncd.sources.names import escape, printable
from syncd.sources.repository import layout
from syncd.sources.repository.forge import Remote, remote
from syncd.sources.repository.git import Git, GitFailed
from syncd.sources.repository.layout import Layout, Tip
from syncd.sources.repository.mirror import Mirror
from syncd.sources.repository.settings import RepositorySettings
from syncd.sources.rules import OWN_FILES
from syncd.sources.seen import Root, SourceBusy, SourceUnavailable


class Stand(NamedTuple):
    """What a look found. `origin` says whose repository it is."""

    layout: Layout
    git: Git
    tip: Tip
    root: Root
    origin: Remote


class Lookout:
    """Looks at one repository, in a directory or in the mirror of an address."""

    def __init__(self, settings: RepositorySettings, root: str, mirror: Mirror | None) -> None:
        self._settings = settings
        self._root = root
        self._mirror = mirror
        self._private = tuple(os.path.realpath(path) for path in settings.private)
        self._origin: tuple[object, Remote] | None = None

    def look(self) -> Stand:
        """The repository as it is now; SourceUnavailable when it cannot be trusted now."""
        if self._mirror is not None and not self._mirror.exists:
            raise SourceUnavailable(f"{remote(self._settings.repository).address}: never fetched")
        if self._mirror is None and any(_below(self._root, path) for path in self._private):
            raise SourceUnavailable(f"{printable(escape(self._root))} holds {OWN_FILES}")
        found = layout.find(self._root)
        root = layout.identity(found)
        at_work = layout.busy(found)
        if at_work is not None:
            raise SourceBusy(at_work)
        git = found.git()
        # The HEAD of a mirror names the branch that was asked for.
        branch = self._settings.branch if self._mirror is None else None
        tip = layout.tip(found, git, branch)
        return Stand(found, git, tip, root, self._origin_of(found, git))

    def _origin_of(self, found: Layout, git: Git) -> Remote:
        if self._mirror is not None:
            return remote(self._settings.repository)
        version: object = None
        try:
            status = os.stat(f"{found.common_dir}/config")
            version = (found, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        except OSError:
            self._origin = None
        if self._origin is None or self._origin[0] != version:
            self._origin = (version, _origin_of(found, git))
        return self._origin[1]


def _origin_of(found: Layout, git: Git) -> Remote:
    try:
        written = git.run("config", "--get", "remote.origin.url").output
    except GitFailed:
        # Not configured: what is left is what people call it.
        return Remote(found.name, "", found.name)
    return remote(escape(os.fsdecode(written.rstrip(b"\n"))))


def _below(path: str, top: str) -> bool:
    return f"{path}/".startswith(f"{top}/")
