"""The one place where errors become sentences and exit codes. Nobody sees a traceback of these."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum

import click

from syncd.cli.names import printable
from syncd.config import ConfigError


class Exit(IntEnum):
    """What the exit status tells a script (design, "Commands")."""

    DONE = 0
    BEHIND = 1  # something is not in memory, or could not be done
    WRONG = 2  # wrong use or configuration
    NOT_SERVING = 3  # the engine, or a book of our own, cannot be used
    HELD = 4  # another syncd holds the state
    INTERRUPTED = 130


class UserError(Exception):
    """Something that a person can mend; `message` says what happened and what to do.

    `lines` follow it as they are, to be copied.
    """

    def __init__(
        self, message: str, exit_code: int = Exit.WRONG, lines: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code
        self.lines = lines


# by name, so that reporting an error imports nothing; a test resolves every name
CODES = {
    "syncd.memory.errors.InvalidRequest": Exit.WRONG,
    "syncd.memory.errors.Unsupported": Exit.WRONG,
    "syncd.memory.errors.Config": Exit.WRONG,
    "syncd.memory.errors.MemoryError": Exit.NOT_SERVING,
    "syncd.sync.errors.LedgerError": Exit.NOT_SERVING,
    "syncd.sync.lock.StateLocked": Exit.HELD,
    "syncd.sources.seen.SourceUnavailable": Exit.BEHIND,
}

# the types of others that say what happened, and what to do then
ADVICE = {
    "syncd.sync.errors.LedgerDamaged": "`syncd sync` begins a new one; memory is not touched",
    "syncd.sync.errors.LedgerUnavailable": "check that it is a file, its permissions and its disk",
    "syncd.sync.lock.StateLocked": "wait until that is done, or end it",
}

_WAY_OUT = {
    errno.EEXIST: "move away what is there",
    errno.EISDIR: "move the folder away",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EROFS: "choose a place that can be written",
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some of your quota on that disk",
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the limit of open files (fs.file-max)",
}


def report(error: Exception) -> int:
    """Say on stderr what happened and return the exit code."""
    if os.environ.get("SYNCD_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return Exit.BEHIND
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    lines, code = explain(error)
    try:
        for line in lines:
            click.echo(line, err=True)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _drop_output()
    return code


def explain(error: Exception) -> tuple[list[str], int]:
    """The lines that tell a person what happened, and the exit code."""
    if isinstance(error, ConfigError):
        return [printable(str(problem)) for problem in error.problems], Exit.WRONG
    if isinstance(error, click.Abort):
        return _aborted(error)
    if isinstance(error, UserError):
        return [_said(error.message), *map(printable, error.lines)], error.exit_code
    for kind in type(error).__mro__:
        code = CODES.get(f"{kind.__module__}.{kind.__qualname__}")
        if code is not None:
            return [_said(_advised(error))], code
    if isinstance(error, OSError):
        return [_said(of_the_system(error))], Exit.BEHIND
    what = f"this is a fault of syncd: {type(error).__name__}: {error}"
    return [_said(f"{what} (SYNCD_DEBUG=1 shows where)")], Exit.BEHIND


def _advised(error: Exception) -> str:
    kind = type(error)
    advice = ADVICE.get(f"{kind.__module__}.{kind.__qualname__}")
    return str(error) + (f": {advice}" if advice else "")


def _aborted(error: click.Abort) -> tuple[list[str], int]:
    # click hides what happened from a traceback, but keeps it
    if isinstance(error.__cause__ or error.__context__, EOFError):
        return [_said("a question was left without an answer: --yes answers it")], Exit.WRONG
    return [], Exit.INTERRUPTED


def of_the_system(error: OSError) -> str:
    """What the system refused, of which file, and what to do about it."""
    named = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    what = error.strerror or str(error) or type(error).__name__
    way_out = _WAY_OUT.get(error.errno or 0)
    return (f"{named}: " if named else "") + what + (f": {way_out}" if way_out else "")


def _said(message: str) -> str:
    return f"syncd: {printable(message)}"


def _drop_output() -> None:
    """Let the interpreter's own flush at the end go nowhere, instead of failing once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(nowhere, stream.fileno())
        except (AttributeError, OSError, ValueError):
            continue
    os.close(nowhere)
