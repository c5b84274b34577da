"""A repository as a source: the files that git would show, and the commits of its branch.

Keys: a file is its path in the repository, a commit is `.git/` and its full hash, which no file can
be. Invariant: nothing in the repository is written, locked or run, and what cannot be read is said.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from functools import partial
from operator import itemgetter

from syncd.memory import MemoryMeta, MetaFilter
from syncd.sources.folder import FolderSource
from syncd.sources.names import escape, printable
from syncd.sources.reading import TOO_LARGE
from syncd.sources.repository import history, layout
from syncd.sources.repository.files import BareFiles, DiskFiles, Files
from syncd.sources.repository.forge import Remote, is_address
from syncd.sources.repository.git import Git, GitFailed
from syncd.sources.repository.history import CommitRules, Selection
from syncd.sources.repository.layout import Layout
from syncd.sources.repository.mirror import Mirror
from syncd.sources.repository.places import is_safe
from syncd.sources.repository.settings import RepositorySettings, tip_of
from syncd.sources.repository.stand import Lookout, Stand
from syncd.sources.rules import Rules
from syncd.sources.seen import (
    Blind,
    Look,
    Outcome,
    Reading,
    Root,
    Seen,
    Sighting,
    SourceUnavailable,
    Unchanged,
    Unreadable,
)
from syncd.sources.source import Ground

COMMITS = ".git/"
_path = itemgetter(0)


class RepositorySource:
    """One repository, in a working copy, bare, or mirrored from an address."""

    kind = "repository"

    def __init__(self, settings: RepositorySettings) -> None:
        self.id = settings.id
        self._settings = settings
        self._mirror: Mirror | None = None
        if is_address(settings.repository):
            self._mirror = Mirror(
                settings.id, settings.repository, settings.branch, settings.mirrors
            )
            self.root = self._mirror.root
        else:
            self.root = os.path.realpath(settings.repository)
        self._private = tuple(os.path.realpath(path) for path in settings.private)
        self._lookout = Lookout(settings, self.root, self._mirror)
        self._files: tuple[Layout, Remote, Files] | None = None
        self._selected: tuple[object, Selection] | None = None
        self._folder: FolderSource | None = None
        self._since: str | None = None
        self._mark: str | None = None

    # -- looking ---------------------------------------------------------------------------------

    def probe(self) -> Root:
        """The device and inode of its directory; SourceUnavailable when it cannot be trusted."""
        return self._stand().root

    def busy(self) -> str | None:
        """What git does in it now, so that files come and go; None when it rests or waits.

        Until then `probe` and `scan` raise SourceUnavailable. It ends by itself: a git that shows
        no life for `layout.QUIET` seconds is not waited for.
        """
        try:
            return layout.busy(layout.find(self.root))
        except SourceUnavailable:
            return None

    def notice(self) -> str | None:
        """A sentence about something odd that stops nothing, such as a lock left behind."""
        try:
            return layout.stale_lock(layout.find(self.root))
        except SourceUnavailable:
            return None

    def is_empty(self) -> bool:
        """Whether it holds no file at all and no commit that is asked for."""
        stand = self._stand()
        if stand.tip.commit is not None and (stand.layout.bare or self._settings.commits):
            return False
        return self._files_of(stand).is_empty()

    def scan(self, under: str = "", mark: str | None = None) -> Iterator[Seen]:
        """All that is there, in ascending order of paths; or what is at and below one key.

        With the `mark` of the same tip, a whole scan says Unchanged of what depends on it alone:
        everything in a bare repository, the commits in a working copy.
        Raises SourceUnavailable, at the end too: absence counts only after a scan that ended.
        """
        if under and self._is_surely_absent(under):
            return
        stand = self._stand()
        if under:
            yield from self._scan_below(stand, under)
        else:
            self._mark, self._since = None, tip_of(mark)
            now = self._mark_of(stand)
            broken = False
            for seen in self._scan_whole(stand, now is not None and mark == now):
                broken = broken or isinstance(seen, Blind)
                yield seen
            self._mark = None if broken else now
        if layout.identity(stand.layout) != stand.root:
            self._mark = None
            raise SourceUnavailable(f"{self._shown} was replaced while it was looked at")

    def mark(self) -> str | None:
        """The tip and the rules that the last whole scan was about."""
        return self._mark

    def accounted(self, paths: Collection[str]) -> set[str]:
        """Those of `paths`, which a scan did not show, whose absence git itself explains.

        A branch that moved, a sparse checkout, an ignore file or the configuration took them away;
        of the others nobody knows more than that they are not there.
        """
        stand = self._stand()
        files = {path for path in paths if not path.startswith(COMMITS)}
        # A branch without commits may be one whose ref was lost.
        found = set() if stand.tip.commit is None else set(paths) - files
        if not self._settings.files:
            return found | files
        if not files:
            return found
        return found | self._files_of(stand).accounted(files, self._since, stand.tip.commit)

    def _stand(self) -> Stand:
        return self._lookout.look()

    @property
    def _shown(self) -> str:
        return printable(escape(self.root))

    def _is_surely_absent(self, under: str) -> bool:
        """Whether a path is not on disk, in a repository that is: asked once for each lost file."""
        if self._files is None or self._files[0].bare or f"{under}/".startswith(COMMITS):
            return False
        found = self._files[0]
        there = os.path.isfile(f"{found.git_dir}/HEAD") and layout.busy(found) is None
        return there and not self._files[2].exists(under)

    def _scan_whole(self, stand: Stand, same: bool) -> Iterator[Seen]:
        if same and (stand.layout.bare or not self._settings.files):
            return iter([Unchanged("")])
        commits: Iterator[Seen] = iter([Unchanged(COMMITS)]) if same else self._commits(stand)
        if not self._settings.files:
            return commits
        return heapq.merge(commits, self._files_of(stand).scan(""), key=_path)

    def _scan_below(self, stand: Stand, under: str) -> Iterator[Seen]:
        if f"{under}/".startswith(COMMITS):
            commit = under[len(COMMITS) :]
            yield from self._commits(stand, (commit,) if commit else ())
        elif self._settings.files:
            yield from self._files_of(stand).scan(under.rstrip("/"))

    def _mark_of(self, stand: Stand) -> str | None:
        if stand.tip.commit is None:
            return None
        cut_off = layout.shallow(stand.layout)
        rules = self._rules(stand.origin)
        return self._settings.mark(stand.tip.commit, rules, stand.origin, cut_off)

    def _commits(self, stand: Stand, only: tuple[str, ...] = ()) -> Iterator[Seen]:
        selection = self._selection(stand)
        if selection.broken is not None:
            yield Blind(COMMITS, selection.broken)
        recipe = self._settings.recipe_of_commits(stand.origin)
        cut_off = layout.shallow(stand.layout)
        wanted = [one for one in only if one in selection.commits] if only else selection.commits
        for commit in sorted(wanted):
            yield Sighting(COMMITS + commit, _look(commit, cut_off), recipe)

    def _selection(self, stand: Stand) -> Selection:
        rules, tip = self._settings.commits, stand.tip.commit
        if rules is None or tip is None:
            return Selection()
        about = (tip, layout.shallow(stand.layout))
        if self._selected is None or self._selected[0] != about or self._selected[1].broken:
            self._selected = (about, _select(stand.git, tip, rules))
        return self._selected[1]

    # -- reading ---------------------------------------------------------------------------------

    def judge(self, sighting: Sighting) -> str | None:
        """The reason to leave a file out by its name or size, or None to have it read."""
        if sighting.path.startswith(COMMITS):
            return None
        if self._files is None:
            self._files_of(self._stand())
        assert self._files is not None
        reason = self._files[2].refuse(sighting.path)
        if reason is None and sighting.look.size > self._settings.max_file_size:
            return TOO_LARGE
        return reason

    def read(self, path: str) -> Outcome | None:
        """What a file or a commit becomes; None when it is not there any more."""
        files = self._files
        if files is not None and not files[0].bare and not path.startswith(COMMITS):
            # On disk it is what it is; to look at git for each costs twenty times the reading.
            return next(iter(files[2].read_many([path])))[1]
        return next(iter(self.read_many([path])))[1]

    def defers(self, path: str) -> bool:
        """True for what comes out of git's objects, which are read in one stream."""
        return path.startswith(COMMITS) or (self._files is not None and self._files[0].bare)

    def read_many(self, paths: Sequence[str]) -> Generator[tuple[str, Outcome | None], None, None]:
        """What each path becomes: commits first, the newest first, then files in ascending order.

        SourceUnavailable when git cannot work at all.
        """
        stand = self._stand()
        commits = {path for path in paths if path.startswith(COMMITS)}
        if commits:
            yield from self._read_commits(stand, commits)
        files = [path for path in paths if path not in commits]
        if files:
            yield from self._files_of(stand).read_many(files)

    def _read_commits(self, stand: Stand, paths: set[str]) -> Iterator[tuple[str, Outcome | None]]:
        wanted = {path[len(COMMITS) :] for path in paths}
        ordered = [one for one in self._selection(stand).commits if one in wanted]
        cut_off = layout.shallow(stand.layout)
        for commit, item in history.read(
            stand.git, ordered, self._settings.mould(stand.origin), cut_off
        ):
            if isinstance(item, Unreadable):
                yield COMMITS + commit, item
            else:
                yield COMMITS + commit, Reading((item,), _look(commit, cut_off), True, "utf-8")
        for commit in sorted(wanted.difference(ordered)):
            yield COMMITS + commit, None

    # -- keys ------------------------------------------------------------------------------------

    def filter(self, path: str) -> MetaFilter | None:
        """Selects what this source holds at and below a key; None for "all commits"."""
        if f"{path}/".startswith(COMMITS):
            commit = path[len(COMMITS) :]
            return MetaFilter(source_id=self.id, commit=commit) if commit else None
        return MetaFilter(source_id=self.id, file_path=path.rstrip("/") or None)

    def key_of(self, meta: MemoryMeta) -> str | None:
        """The key of an item that was listed back."""
        if meta.commit is not None:
            return COMMITS + meta.commit
        return meta.file_path

    def grounds(self) -> list[Ground]:
        """The working copy, and the few directories of git in which the tip shows itself."""
        if self._mirror is not None:
            return []
        found = layout.find(self.root)
        files = self._settings.files and not found.bare
        copy = [Ground(self.root, self.is_pruned)] if files else []
        return copy + [
            Ground(own, partial(layout.tells_nothing, own)) for own in layout.directories(found)
        ]

    def key(self, os_path: str) -> str | None:
        """The key to look at when an absolute path changed: "" for the root, None outside.

        Of git's own directory only HEAD and the like say that everything may be another; a ref
        tells of commits, and the index of nothing that the files themselves do not show.
        """
        path = os.path.normpath(os_path)
        try:
            found = self._layout()
        except SourceUnavailable:
            return ""  # a look at everything says why
        meaning = layout.meaning(found, path)
        if meaning is not None or path == self.root:
            return meaning or ""
        return None if found.bare else self._key_below(path)

    def _key_below(self, path: str) -> str | None:
        """The key that a file or directory below the root has, or would have."""
        prefix = self.root.rstrip("/") + "/"
        if not path.startswith(prefix):
            return None
        key = escape(path[len(prefix) :])
        return key if is_safe(key) else None

    def is_pruned(self, os_dir: str) -> bool:
        """Whether nothing in a directory is looked at, so that it needs no watch."""
        if self._is_bare():
            return True
        path = os.path.normpath(os_dir)
        key = self._key_below(path)
        if key is None:
            return path != self.root
        if not self._as_folder().is_pruned(os_dir):
            return False
        # An ignore file that prunes a directory says nothing about tracked files in it.
        try:
            files = self._files[2] if self._files is not None else self._files_of(self._stand())
            return files.refuses_directory(f"{key}/") or not files.holds_tracked(key)
        except SourceUnavailable:
            return False  # a watch too many does no harm

    def rules_changed(self, os_dir: str) -> None:
        """Hear that a rule file in a directory changed, before `is_pruned` is asked again."""
        self._as_folder().rules_changed(os_dir)

    def _layout(self) -> Layout:
        return self._files[0] if self._files is not None else layout.find(self.root)

    def _as_folder(self) -> FolderSource:
        if self._folder is None:
            self._folder = FolderSource(self._settings.as_folder(self.root))
        return self._folder

    def fetch(self, timeout: float, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Bring the clone of an address up to date; whether anything changed. Seconds.

        SourceUnavailable with the reason. Nothing to do for a path.
        """
        return self._mirror.fetch(timeout, stopped) if self._mirror is not None else False

    @property
    def is_remote(self) -> bool:
        """Whether it is an address, which has to be fetched."""
        return self._mirror is not None

    # -- rules -----------------------------------------------------------------------------------

    def _is_bare(self) -> bool:
        if self._files is not None:
            return self._files[0].bare
        return self._mirror is not None or layout.find(self.root).bare

    def _files_of(self, stand: Stand) -> Files:
        if self._files is None or self._files[:2] != (stand.layout, stand.origin):
            make = BareFiles if stand.layout.bare else DiskFiles
            rules, mould = self._rules(stand.origin), self._settings.mould(stand.origin)
            files = make(stand.layout, stand.git, rules, mould, self._settings.max_file_size)
            self._files = (stand.layout, stand.origin, files)
        self._files[2].at(stand.tip.commit)
        return self._files[2]

    def _rules(self, origin: Remote) -> Rules:
        keys = [key for path in self._private if (key := self._key_below(path))]
        name = "" if self._mirror is not None else escape(os.path.basename(self.root))
        return self._settings.rules(origin, keys, name)


def _select(git: Git, tip: str, rules: CommitRules) -> Selection:
    try:
        return history.select(git, tip, rules)
    except GitFailed as error:
        raise SourceUnavailable(error.reason) from error


def _look(commit: str, cut_off: Collection[str]) -> Look:
    # A commit gets its parents back when a shallow clone is deepened: then it is read again.
    return history.look_of_object(commit, 1 if commit in cut_off else 0)
