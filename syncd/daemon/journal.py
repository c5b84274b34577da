"""Log lines for the journal or a terminal: one message is one line, whatever its text holds.

Invariant: no text of a message (a file name, an error) can forge a line or colour a terminal.
"""

from __future__ import annotations

import logging
import os
import sys
import unicodedata
from typing import TextIO

# libraries that would log at INFO what syncd says itself, or what is no one's business
QUIET = ("watchdog", "httpx", "httpcore", "urllib3", "apscheduler", "git", "stamina", "asyncio")

# syslog priorities, read by journald from the start of a line: sd-daemon(3)
_PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
)
_DEBUG_PRIORITY = 7


def setup_logging(level: int | str = logging.INFO) -> None:
    """Log to standard error at this level; libraries speak from WARNING on, whatever the level.

    Raises ValueError for a level that does not exist.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(in_journal=is_journal(sys.stderr)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def is_journal(stream: TextIO) -> bool:
    """Whether this stream goes to the journal: JOURNAL_STREAM names its device and inode."""
    named = os.environ.get("JOURNAL_STREAM", "")
    try:
        there = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return named == f"{there.st_dev}:{there.st_ino}"


class LineFormatter(logging.Formatter):
    """`<4>message` in the journal, which adds the time; `time level message` elsewhere."""

    def __init__(self, *, in_journal: bool) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S%z")
        self._in_journal = in_journal

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line; a traceback follows on lines of the same priority."""
        message = escape(record.getMessage())
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        lines = [message, *(escape(line) for line in trace.splitlines())]
        if self._in_journal:
            return "\n".join(f"<{priority(record.levelno)}>{line}" for line in lines)
        lines[0] = f"{self.formatTime(record, self.datefmt)} {record.levelname} {message}"
        return "\n".join(lines)


def priority(level: int) -> int:
    """The syslog priority of a logging level."""
    return next((number for least, number in _PRIORITIES if level >= least), _DEBUG_PRIORITY)


def escape(text: str) -> str:
    """The text with everything that is not printed as itself written as an escape."""
    if text.isprintable():
        return text
    return "".join(char if _is_plain(char) else _escaped(char) for char in text)


def _is_plain(char: str) -> bool:
    return char == " " or unicodedata.category(char)[0] not in "CZ"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
