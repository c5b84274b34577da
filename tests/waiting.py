"""Waiting on a condition, so that no test guesses how long something takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], timeout: float = 30.0, what: str = "condition") -> T:
    """The first true value of `condition`, asked every 20 ms; AssertionError after `timeout` s."""
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what} did not come true within {timeout} s"
        pause.wait(0.02)
