"""Running git so that it only reads: no lock, prompt, download, hook or program of a repository.

GitPython opens repositories (layout.py); the commands run here, because its `Git.execute` hands the
caller's GIT_* variables on, decodes names lossily and ends only a timed-out git, not its children.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, NamedTuple

from syncd.sources.names import escape, printable
from syncd.sources.reading import reason_of
from syncd.sources.seen import Stopped

# A FIFO in the place of an ignore file, or a network disk, must not hold a pass for ever.
READ_TIMEOUT = 300.0
_SLICE = 0.2
_BUFFER = 1 << 16
_FAILED = 128
# All other GIT_* variables would redirect, trace or configure what is read.
_KEPT = frozenset(
    {
        *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
        *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_TEST_ASSUME_DIFFERENT_OWNER"),
    }
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_PAGER": "cat",
    # History is what was committed, wherever it is read.
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "LANGUAGE": "C",
    "LC_ALL": "C",
}
# Every key of a repository's configuration that names a program, or changes what is read.
_SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "core.gitProxy=",
    "core.sshCommand=ssh -o BatchMode=yes",
    "core.alternateRefsCommand=",
    "core.untrackedCache=false",
    "credential.helper=",
    "diff.external=",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "safe.bareRepository=all",
    "submodule.recurse=false",
)
_CONFIG = [part for setting in _SETTINGS for part in ("-c", setting)]
_USERINFO = re.compile(r"(?<=://)[^\s/'\"]*@")
_QUERY = re.compile(r"(://[^\s?#'\"]*)[?#][^\s'\"]*")
_LEVEL = re.compile(r"^(?:fatal|error|warning|remote|hint): ", re.IGNORECASE)
_OWNER = re.compile(r"(?:dubious ownership in repository at|unsafe repository \()\s*'?([^'\n]*)'?")


class Answer(NamedTuple):
    """What git wrote, as bytes; `complaints` is its standard error."""

    output: bytes
    complaints: str


class GitFailed(Exception):
    """git ended with an error; `reason` is one sentence without credentials."""

    def __init__(self, reason: str, code: int, complaints: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.complaints = complaints


class Git:
    """git in one place. `work_tree` overrules where a repository says that its files lie."""

    def __init__(self, place: str, work_tree: str | None = None) -> None:
        self.place = place
        self._environment = reading_environment()
        # Without this, git would look for a repository in the directories above.
        self._environment["GIT_CEILING_DIRECTORIES"] = os.path.dirname(place)
        if work_tree is not None:
            self._environment["GIT_WORK_TREE"] = work_tree

    def run(
        self,
        *arguments: str,
        timeout: float = READ_TIMEOUT,
        environment: Mapping[str, str] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Answer:
        """What a command says. GitFailed when it fails or is not done in `timeout` seconds.

        `environment` adds variables; with `stopped()` true, git is ended and Stopped raised.
        """
        process = self._start(arguments, None, subprocess.PIPE, environment)
        try:
            output, complaints = _heard(process, timeout, stopped)
        finally:
            end(process)
        said = os.fsdecode(complaints)
        if process.returncode != 0:
            raise GitFailed(sentence(said, self.place), process.returncode, said)
        return Answer(output, said)

    @contextlib.contextmanager
    def stream(self, *arguments: str, lines: Iterable[str] = ()) -> Iterator[Stream]:
        """A running command that reads `lines`; it is ended when the block is left."""
        # Its input lies in a file, so that neither side can wait for the other.
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
            given.writelines(f"{line}\n".encode() for line in lines)
            given.seek(0)
            process = self._start(arguments, given, complaints, None)
            try:
                yield Stream(process, complaints, self.place)
            finally:
                end(process)

    def _start(
        self,
        arguments: Iterable[str],
        given: IO[bytes] | None,
        complaints: IO[bytes] | int,
        environment: Mapping[str, str] | None,
    ) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                ["git", "--literal-pathspecs", *_CONFIG, *arguments],
                cwd=self.place,
                env={**self._environment, **(environment or {})},
                stdin=subprocess.DEVNULL if given is None else given,
                stdout=subprocess.PIPE,
                stderr=complaints,
                bufsize=_BUFFER,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            gone = f"{printable(escape(self.place))} does not exist"
            here = error.filename == self.place
            raise GitFailed(gone if here else "git is not installed", _FAILED) from error
        except OSError as error:
            raise GitFailed(f"git cannot run: {reason_of(error)}", _FAILED) from error


class Stream:
    """The output of a command that runs."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: IO[bytes], place: str) -> None:
        self._process = process
        self._complaints = complaints
        self._place = place
        assert process.stdout is not None
        self.output: IO[bytes] = process.stdout

    def failure(self) -> GitFailed | None:
        """After the end of the output: why the command failed, or None when it did not."""
        code = self._process.wait()
        said = _text_of(self._complaints)
        return GitFailed(sentence(said, self._place), code, said) if code else None

    def complaint(self) -> str:
        """The last thing that it complained of so far, as one sentence."""
        return sentence(_text_of(self._complaints), self._place)


def reading_environment() -> dict[str, str]:
    """The environment of a git that asks nobody and fetches nothing."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _KEPT
    }
    # A partial clone would fetch every blob that is asked for. The first variable stops that since
    # git 2.39.4, the second one before.
    return {
        **kept,
        **_ENVIRONMENT,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def end(process: subprocess.Popen[bytes]) -> None:
    """End a command and whatever it started; returns when nothing of it is left to wait for."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


def sentence(complaints: str, place: str) -> str:
    """What git complained of, as one sentence without credentials."""
    owned = _OWNER.search(complaints)
    if owned is not None:
        shown = printable(escape(owned[1] or place))
        return (
            f"git refuses {shown}, which belongs to another user; if you trust it: "
            f"git config --global --add safe.directory {shown}"
        )
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    grave = [line for line in lines if line.startswith("fatal: ")] or lines
    said = _LEVEL.sub("", grave[-1]) if grave else "git failed without a word"
    return printable(escape(without_credentials(said)))


def without_credentials(text: str) -> str:
    """A text whose addresses lack user names, passwords and queries."""
    return _QUERY.sub(r"\1", _USERINFO.sub("", text))


def _heard(
    process: subprocess.Popen[bytes], timeout: float, stopped: Callable[[], bool]
) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + timeout
    while True:
        try:
            return process.communicate(timeout=min(_SLICE, max(deadline - time.monotonic(), 0)))
        except subprocess.TimeoutExpired:
            if stopped():
                raise Stopped from None
            if time.monotonic() >= deadline:
                raise GitFailed(f"git was not done after {timeout:g} s", _FAILED) from None


def _text_of(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    return os.fsdecode(complaints.read())
