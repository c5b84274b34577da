"""The border to watchdog: one inotify instance, its thread, and watches on single directories.

Only the reading thread and the kernel calls of watchdog are used. Its upper layers pair moves
(half a second late), hide exhausted limits and lose track after an overflow.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence

from watchdog.observers.inotify_c import (
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    WatchDescriptor,
    inotify_add_watch,
    inotify_rm_watch,
)

__all__ = ["InotifyConstants", "InotifyEvent", "Reader"]

# No OPEN, ACCESS or CLOSE_NOWRITE: a daemon that reads what it watches would feed itself
MASK = (
    InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_EXCL_UNLINK
)
# The kernel merges an event into an equal last one that nobody has read yet: a file that is
# written all the time wakes this thread a hundred times a second, not ten thousand times
BREATH_SECONDS, FEW_EVENTS = 0.01, 100


class Reader(InotifyFD):
    """One inotify instance and the thread that reads it; OSError EMFILE when there is none left.

    `on_events` gets what was read at once, in order; `on_end` is called as the thread's last act.
    """

    def __init__(
        self, on_events: Callable[[Sequence[InotifyEvent]], None], on_end: Callable[[], None]
    ) -> None:
        super().__init__()
        self.name = "watch"
        os.set_inheritable(self._inotify_fd, False)
        self._on_events = on_events
        self._on_end = on_end

    def watch(self, path: str) -> int:
        """Watch one directory, not following links; the same number again for the same directory.

        Raises OSError: ENOSPC when the limit is reached, ENOENT, ENOTDIR, EACCES and others.
        """
        number = inotify_add_watch(self._inotify_fd, os.fsencode(path), MASK)
        if number == -1:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
        return int(number)

    def unwatch(self, number: int) -> None:
        """End a watch; the kernel has ended it already when its directory is gone."""
        inotify_rm_watch(self._inotify_fd, WatchDescriptor(number))

    def run(self) -> None:
        """Read until stopped; an empty read means that the instance is broken."""
        try:
            while self.should_keep_running() and (events := self.read_events()):
                self._on_events(events)
                if len(events) < FEW_EVENTS:
                    self.stopped_event.wait(BREATH_SECONDS)
        finally:
            self._on_end()
