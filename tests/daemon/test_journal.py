"""Log lines: one message is one line, with the priority that journald reads."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.daemon.journal import QUIET, LineFormatter, escape, priority

EVIL = "x\n<3>fake log line\r\x1b[31m\x85\u2028\udcff.md"


def record(level: int, message: str, *args: object) -> logging.LogRecord:
    return logging.LogRecord("syncd", level, __file__, 1, message, args, None)


def test_a_message_is_one_line_in_the_journal() -> None:
    line = LineFormatter(in_journal=True).format(record(logging.WARNING, "skipped %s", EVIL))
    assert line == r"<4>skipped x\n<3>fake log line\r\x1b[31m\x85\u2028\udcff.md"


def test_a_message_is_one_line_with_time_and_level_elsewhere() -> None:
    line = LineFormatter(in_journal=False).format(record(logging.INFO, "a\tb"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} INFO a\\tb", line)


def test_a_traceback_keeps_the_priority_on_each_line() -> None:
    try:
        raise ValueError(EVIL)
    except ValueError:
        one = logging.LogRecord("syncd", logging.ERROR, __file__, 1, "failed", (), sys.exc_info())
    lines = LineFormatter(in_journal=True).format(one).split("\n")
    assert lines[:2] == ["<3>failed", "<3>Traceback (most recent call last):"]
    assert all(line.startswith("<3>") and line.isprintable() for line in lines)


@given(st.text())
def test_nothing_that_moves_a_cursor_or_ends_a_line_comes_through(text: str) -> None:
    escaped = escape(text)
    assert escaped.isprintable()
    assert len(f"{escaped}|".splitlines()) == 1
    escaped.encode("utf-8")


@pytest.mark.parametrize("text", ["", "plain text", "caf\u00e9 \u65e5\u672c", "a\\b"])
def test_ordinary_text_stays(text: str) -> None:
    assert escape(text) == text


def test_priorities() -> None:
    levels = [logging.DEBUG, logging.INFO, 25, logging.WARNING, logging.ERROR, logging.CRITICAL]
    assert [priority(level) for level in levels] == [7, 6, 6, 4, 3, 2]


SAY = """
import logging, os, sys
if sys.argv[1] == "journal":
    there = os.fstat(2)
    os.environ["JOURNAL_STREAM"] = f"{there.st_dev}:{there.st_ino}"
from syncd.daemon.journal import setup_logging
setup_logging(sys.argv[2])
setup_logging(sys.argv[2])
logging.getLogger("syncd").debug("debug")
logging.getLogger("syncd").info("a\\nb")
for name in ("watchdog.observers", "httpx", "apscheduler.scheduler", "git.cmd", "urllib3"):
    logging.getLogger(name).info("noise")
    logging.getLogger(name).debug("noise")
logging.getLogger("git.cmd").warning("trouble")
"""


def said(where: str, level: str) -> list[str]:
    environment = {**os.environ, "JOURNAL_STREAM": "1:1"}
    done = subprocess.run(
        [sys.executable, "-c", SAY, where, level],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_in_the_journal_with_libraries_quiet_even_at_debug() -> None:
    assert said("journal", "DEBUG") == ["<7>debug", r"<6>a\nb", "<4>trouble"]


def test_a_redirected_stream_is_no_journal() -> None:
    lines = said("file", "INFO")
    assert [line.split(" ", 1)[1] for line in lines] == [r"INFO a\nb", "WARNING trouble"]


def test_a_higher_level_holds_for_libraries_too() -> None:
    assert said("journal", "ERROR") == []


def test_libraries_that_are_kept_quiet() -> None:
    assert {"watchdog", "httpx", "apscheduler", "git"} <= set(QUIET)
