"""A clone of the watched branch of a URL: bare, complete, and syncd's own.

Credentials never reach a file, a command line or a message: git is given the address without them,
and the header that holds them through its environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from syncd.sources.names import escape, printable
from syncd.sources.repository.forge import Access, access
from syncd.sources.repository.git import Git, GitFailed, without_credentials
from syncd.sources.seen import SourceUnavailable

_PROTOCOLS = "file:git:http:https:ssh"
_CONNECT = 20
_FETCH = (
    *("fetch", "--quiet", "--no-tags", "--force", "--no-recurse-submodules"),
    *("--no-write-fetch-head", "--no-auto-gc", "--end-of-options"),
)
_HEADS = "refs/heads/"
_PASSWORD = re.compile(
    r"could not read (?:Username|Password)|Authentication failed|terminal prompts disabled"
)
_KEY = re.compile(r"Permission denied \(|Host key verification failed")


class Mirror:
    """The clone of one URL, below `mirrors`; `branch` None follows the remote's own HEAD."""

    def __init__(self, source: str, url: str, branch: str | None, mirrors: Path) -> None:
        self._access = access(url)
        self._branch = branch
        digest = hashlib.sha256(self._access.address.encode("utf-8", "surrogateescape"))
        name = f"{source}-{digest.hexdigest()[:12]}.git"
        self.root = os.path.join(os.path.realpath(mirrors), name)
        self._shown = printable(escape(without_credentials(self._access.address)))

    @property
    def exists(self) -> bool:
        """Whether it was ever fetched."""
        return os.path.isfile(f"{self.root}/HEAD")

    def fetch(self, timeout: float, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Bring it up to date within `timeout` seconds; whether anything changed.

        SourceUnavailable with the reason; Stopped when `stopped()` became true.
        """
        deadline = time.monotonic() + timeout
        try:
            self._prepare()
            git = Git(self.root)
            ref, commit = self._asked(git, deadline, stopped)
            changed = commit is not None and commit != self._held(git, ref)
            if changed:
                self._remote(git, deadline, stopped, *_FETCH, self._access.address, f"+{ref}:{ref}")
            git.run("symbolic-ref", "HEAD", ref)
            if changed:
                self._tidy(git)
        except GitFailed as error:
            raise SourceUnavailable(f"{self._shown}: {self._reason(error)}") from None
        except OSError as error:
            what = os.strerror(error.errno).lower() if error.errno else "cannot be written"
            raise SourceUnavailable(f"{printable(escape(self.root))}: {what}") from error
        return changed

    def _prepare(self) -> None:
        if self.exists:
            self._unlock()
            return
        os.makedirs(os.path.dirname(self.root), mode=0o700, exist_ok=True)
        # Begun beside its place, so that it is either not there or whole.
        begun = f"{self.root}.new"
        shutil.rmtree(begun, ignore_errors=True)
        os.mkdir(begun, 0o700)
        Git(begun).run("init", "--quiet", "--bare", "--template=", begun)
        os.rename(begun, self.root)

    def _unlock(self) -> None:
        """Remove what a fetch that was killed has left: nobody else works here."""
        for directory, _, names in os.walk(self.root):
            for name in names:
                if name.endswith(".lock") or name.startswith("tmp_"):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(os.path.join(directory, name))

    def _asked(
        self, git: Git, deadline: float, stopped: Callable[[], bool]
    ) -> tuple[str, str | None]:
        """The ref that the remote has for us and its commit; None: nothing was committed there."""
        command = ("ls-remote", "--symref", "--end-of-options", self._access.address)
        wanted = "HEAD" if self._branch is None else _HEADS + self._branch
        output = self._remote(git, deadline, stopped, *command, wanted)
        parts = [line.partition("\t") for line in output.splitlines()]
        named = {ref: commit for commit, _, ref in parts if not commit.startswith("ref: ")}
        if self._branch is not None:
            if wanted not in named:
                raise GitFailed(f"the branch {printable(self._branch)} does not exist there", 1)
            return wanted, named[wanted]
        for target, _, _ in parts:
            if target.startswith("ref: "):
                return target.removeprefix("ref: "), named.get("HEAD")
        if "HEAD" in named:
            raise GitFailed("its HEAD names no branch, so one has to be configured", 1)
        if self._held(git, "HEAD") is not None:
            raise GitFailed("it has no commits any more", 1)
        return f"{_HEADS}main", None

    def _held(self, git: Git, ref: str) -> str | None:
        try:
            return git.run("rev-parse", "--verify", "--quiet", ref).output.decode().strip()
        except GitFailed as error:
            if error.code == 1:
                return None
            raise

    def _remote(self, git: Git, deadline: float, stopped: Callable[[], bool], *command: str) -> str:
        answer = git.run(
            *command,
            timeout=max(deadline - time.monotonic(), 1),
            environment=_environment(self._access),
            stopped=stopped,
        )
        return os.fsdecode(answer.output)

    def _tidy(self, git: Git) -> None:
        with contextlib.suppress(GitFailed):
            git.run("-c", "gc.auto=6700", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet")

    def _reason(self, error: GitFailed) -> str:
        if _PASSWORD.search(error.complaints):
            return "it asks for a name and a password, or refuses those that were given"
        if _KEY.search(error.complaints):
            return "ssh was refused: neither a key nor the host may need a question"
        reason = error.reason
        for secret in sorted(self._access.secrets, key=len, reverse=True):
            reason = reason.replace(secret, "***")
        return reason


def _environment(reached: Access) -> dict[str, str]:
    """What a git that fetches may do besides reading."""
    settings = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}
    if reached.header is not None:
        settings[f"http.{reached.address}.extraHeader"] = reached.header
    environment = {
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        "GIT_SSH_COMMAND": _ssh(os.environ.get("GIT_SSH_COMMAND")),
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (key, value) in enumerate(settings.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def _ssh(configured: str | None) -> str:
    """An ssh that asks nothing, with whatever else the user's own command says."""
    return f"{configured or 'ssh'} -o BatchMode=yes -o ConnectTimeout={_CONNECT}"
