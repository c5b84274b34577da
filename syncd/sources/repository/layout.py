"""Where a repository's parts lie, what its tip is, and whether git is at work in it.

GitPython opens it; what it cannot open becomes one sentence. Nothing here asks git to decide what
a repository's own configuration could have made up: the root is what the user named.
"""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

from syncd.sources.names import escape, printable
from syncd.sources.reading import reason_of
from syncd.sources.repository.git import Git, GitFailed
from syncd.sources.seen import Root, SourceUnavailable

# So long after its last sign of life, git is believed to wait for a person, or to have died.
QUIET = 10.0
# What a command that removes files, and brings them back, leaves in the git directory meanwhile.
_WORK = {
    "index.lock": "git is writing the index",
    "rebase-merge": "a rebase is in progress",
    "rebase-apply": "a rebase is in progress",
    "sequencer": "a series of cherry-picks or reverts is in progress",
}
_REFS = ("refs/heads/", "refs/remotes/", "refs/tags/")


# Where a ref is written, whatever the branch; "reftable" is where newer repositories keep them all.
_BRANCHES = ("refs/heads/", "reftable/")
_TELLING = {"", "logs", "refs", "info"}
_OF_EVERYTHING = {"HEAD", "config", "shallow", "info/exclude"}
_OF_COMMITS = {"packed-refs", "logs/HEAD", "refs"}


class Layout(NamedTuple):
    """Absolute paths. A linked worktree shares `common_dir`; a bare one has no files on disk."""

    root: str
    git_dir: str
    common_dir: str
    bare: bool

    def git(self) -> Git:
        """git in this repository, whatever it says about where its files lie."""
        return Git(self.root, None if self.bare else self.root)

    @property
    def name(self) -> str:
        """The name of the directory, the same in every worktree."""
        path = self.common_dir
        if os.path.basename(path) == ".git":
            path = os.path.dirname(path)
        return escape(os.path.basename(path).removesuffix(".git") or path)


class Tip(NamedTuple):
    """The commit that is looked at (None: nothing was committed yet) and the ref that names it."""

    commit: str | None
    ref: str


def find(root: str) -> Layout:
    """The layout of the repository in a directory; SourceUnavailable says why it is none."""
    shown = printable(escape(root))
    try:
        if not stat.S_ISDIR(os.stat(root).st_mode):
            raise SourceUnavailable(f"{shown} is not a folder")
        linked = _link(root)
    except FileNotFoundError as error:
        raise SourceUnavailable(f"{shown} does not exist") from error
    except OSError as error:
        raise SourceUnavailable(f"{shown} cannot be read: {reason_of(error)}") from error
    if linked is not None and not os.path.isdir(linked):
        where = printable(escape(linked))
        raise SourceUnavailable(f"{shown} belongs to a repository that is not at {where} any more")
    try:
        return _opened(root)
    except ImportError as error:
        raise SourceUnavailable("git is not installed") from error
    except (OSError, ValueError) as error:
        raise SourceUnavailable(f"{shown} cannot be opened as a repository") from error


def _opened(root: str) -> Layout:
    import git  # a large library, which only repositories need

    try:
        # Closed at once: an open one keeps child processes.
        with git.Repo(root, expand_vars=False) as repository:
            git_dir = os.path.realpath(repository.git_dir)
            common_dir = os.path.realpath(repository.common_dir)
            return Layout(root, git_dir, common_dir, repository.bare or git_dir == root)
    except (git.InvalidGitRepositoryError, git.NoSuchPathError) as error:
        shown = printable(escape(root))
        damaged = os.path.lexists(f"{root}/.git")
        what = "is damaged: git finds no repository in it" if damaged else "is no git repository"
        raise SourceUnavailable(f"{shown} {what}") from error


def _link(root: str) -> str | None:
    """Where a `.git` file says that the git directory lies; None when it is no such file."""
    path = f"{root}/.git"
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        written = os.fsdecode(file.read(8192).removeprefix(b"gitdir: ").rstrip(b"\r\n"))
    return os.path.join(root, written)


def identity(layout: Layout) -> Root:
    """The device and inode of the root; SourceUnavailable when it is not there any more."""
    try:
        status = os.stat(layout.root)
    except OSError as error:
        shown = printable(escape(layout.root))
        raise SourceUnavailable(f"{shown} cannot be read: {reason_of(error)}") from error
    return Root(status.st_dev, status.st_ino)


def tip(layout: Layout, git: Git, branch: str | None) -> Tip:
    """What the watched branch names. SourceUnavailable when git refuses, or the branch is gone."""
    try:
        if branch is None:
            return _head(layout, git)
        for prefix in _REFS:
            commit = _resolved(git, prefix + branch)
            if commit is not None:
                return Tip(commit, prefix + branch)
    except GitFailed as error:
        raise SourceUnavailable(error.reason) from error
    shown = printable(escape(layout.root))
    raise SourceUnavailable(f"the branch {printable(branch)} does not exist in {shown} any more")


def _head(layout: Layout, git: Git) -> Tip:
    commit = _resolved(git, "HEAD")
    if commit is not None:
        return Tip(commit, "HEAD")
    try:
        ref = os.fsdecode(git.run("symbolic-ref", "-q", "HEAD").output.strip())
    except GitFailed as error:
        raise SourceUnavailable("HEAD names nothing: the repository is damaged") from error
    # A ref that is there and names nothing was damaged; only one that is absent is unborn.
    listed = git.run("for-each-ref", "--format=%(refname)", ref).output.strip()
    if listed or os.path.isfile(f"{layout.common_dir}/{ref}"):
        shown = printable(escape(ref))
        raise SourceUnavailable(f"{shown} names nothing: the repository is damaged")
    return Tip(None, ref)


def _resolved(git: Git, name: str) -> str | None:
    try:
        return git.run("rev-parse", "--verify", "--quiet", name).output.decode().strip()
    except GitFailed as error:
        if error.code == 1:
            return None
        raise


def busy(layout: Layout, now: float | None = None) -> str | None:
    """What git does there now, so that files come and go; None when it rests or waits.

    `now` is in seconds since the epoch. A lock that nobody touches is not waited for.
    """
    now = time.time() if now is None else now
    for name, what in _WORK.items():
        age = _age(f"{layout.git_dir}/{name}", now)
        if age is not None and abs(age) < QUIET:
            return f"{what} ({printable(escape(layout.git_dir))}/{name})"
    return None


def stale_lock(layout: Layout, now: float | None = None) -> str | None:
    """A sentence about an index.lock that was left behind; it is git's, and never removed."""
    age = _age(f"{layout.git_dir}/index.lock", time.time() if now is None else now)
    if age is None or abs(age) < QUIET:
        return None
    shown = printable(escape(layout.git_dir))
    return f"{shown}/index.lock is {age:.0f} s old: git will not commit until it is removed"


def _age(path: str, now: float) -> float | None:
    try:
        return now - os.lstat(path).st_mtime
    except OSError:
        return None


def shallow(layout: Layout) -> frozenset[str]:
    """The commits whose parents were cut off; SourceUnavailable when that cannot be known."""
    try:
        with open(f"{layout.common_dir}/shallow", encoding="ascii") as file:
            return frozenset(line.strip() for line in file)
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError) as error:
        raise SourceUnavailable("the list of shallow commits cannot be read") from error


def directories(layout: Layout) -> list[str]:
    """The git directories in which the tip shows itself: one, or two in a linked worktree."""
    return list(dict.fromkeys((layout.git_dir, layout.common_dir)))


def tells_nothing(top: str, os_dir: str) -> bool:
    """Whether no change in a directory below a git directory `top` says anything of the tip."""
    inside = os_dir[len(top) :].strip("/")
    return not (inside in _TELLING or f"{inside}/".startswith(_BRANCHES))


def meaning(layout: Layout, path: str) -> str | None:
    """The key to look at when a path in a git directory changed: "", ".git" or None.

    git replaces these files by renaming, so it is their directories that are watched.
    """
    for top in directories(layout):
        if path == top:
            return ""
        if path.startswith(f"{top}/") and not path.endswith(".lock"):
            inside = path[len(top) + 1 :]
            if inside in _OF_EVERYTHING:
                return ""
            if inside in _OF_COMMITS or f"{inside}/".startswith(_BRANCHES):
                return ".git"
    return None
