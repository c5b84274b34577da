"""Tells systemd how the daemon fares (sd_notify(3), by hand: one datagram to $NOTIFY_SOCKET).

Silent when not started by systemd; a lost message is no reason to stop syncing.
"""

from __future__ import annotations

import logging
import os
import socket

log = logging.getLogger("syncd")


def ready(status_line: str = "") -> None:
    """Start-up, or a reload, is finished."""
    _send("READY=1", *_status(status_line))


def stopping() -> None:
    """The daemon is about to end."""
    _send("STOPPING=1")


def status(line: str) -> None:
    """One line for `systemctl status`; dropped when systemd is too busy to take it at once."""
    _send(*_status(line), patience=0.0)


def watchdog() -> None:
    """A sign of life."""
    _send("WATCHDOG=1")


def watchdog_interval() -> float | None:
    """Seconds between signs of life, half of what systemd waits for; None when it waits for none.

    Source: sd_watchdog_enabled(3).
    """
    microseconds = _whole_number("WATCHDOG_USEC")
    process = _whole_number("WATCHDOG_PID")
    if not microseconds or process not in (None, os.getpid()):
        return None
    return microseconds / 2_000_000


def _whole_number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _status(line: str) -> tuple[str, ...]:
    # a line feed would start another assignment
    return (f"STATUS={' '.join(line.split())}",) if line else ()


def _send(*assignments: str, patience: float = 1.0) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address[:1] not in ("/", "@") or not assignments:
        return
    target = os.fsencode(address)
    if target.startswith(b"@"):
        target = b"\0" + target[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as border:
            border.settimeout(patience)
            border.sendto("\n".join(assignments).encode("utf-8", "surrogateescape"), target)
    except OSError as error:
        log.debug("systemd was not told %s: %s", assignments[0], error)
