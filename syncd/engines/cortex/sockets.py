"""The sockets of a client, known so that `close` can end a call that waits on one of them.

Closing a socket does not wake the thread that reads from it; shutting it down does.
"""

from __future__ import annotations

import socket
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


class Sockets:
    """Learns of every connection through httpx's `trace` extension."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._shut = False

    def traced(self, event: str, info: Mapping[str, Any]) -> None:
        if not event.endswith(("connect_tcp.complete", "start_tls.complete")):
            return
        connection = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._open.add(connection)
            late = self._shut
        if late:
            _shut_down(connection)

    def shut(self) -> None:
        """Shut all down, and every later one as soon as it is connected."""
        with self._lock:
            self._shut = True
            connections = list(self._open)
        for connection in connections:
            _shut_down(connection)


def _shut_down(connection: socket.socket) -> None:
    with suppress(OSError):
        # Not SSLSocket's own, which takes the session away from under a thread that reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
