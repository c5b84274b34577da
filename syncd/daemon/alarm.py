"""What the main thread sleeps on: an event that a signal handler may set.

`threading.Event` is not that: its `set` takes a lock that the interrupted thread may hold, and a
signal that comes just before the thread blocks is slept through.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from types import TracebackType
from typing import Self


class Alarm:
    """Set once, by a signal handler or by any thread. Used as a context manager, in the main one.

    The kernel's signal writes to the pipe that `wait` reads (signal.set_wakeup_fd), so that it is
    noticed at whatever instant it comes.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before = -1

    def __enter__(self) -> Self:
        self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(self._before)
        os.close(self._read)
        os.close(self._write)

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        with contextlib.suppress(BlockingIOError):  # full, so that it wakes all the same
            os.write(self._write, b"\0")

    def wait(self, timeout: float | None = None) -> bool:
        """Sleep until it is set, a signal comes or `timeout` seconds pass; whether it is set."""
        if not self._is_set:
            select.select([self._read], [], [], timeout)
            with contextlib.suppress(BlockingIOError):
                os.read(self._read, 4096)
        return self._is_set
