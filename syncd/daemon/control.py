"""The control socket: one JSON line in, one JSON line out, for the owner of the daemon alone.

It lies in the runtime directory; its name follows from the state directory, so that every command
with the same configuration finds it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger("syncd")
Answer = Callable[[Mapping[str, Any]], dict[str, Any]]

_MAX_LINE = 1024 * 1024
# A reply names each file that could not be stored.
_MAX_REPLY = 256 * _MAX_LINE
# A person who cannot be served in a moment is told so, a pass may take as long as it takes.
_CONNECT_SECONDS = 2.0


class NoAnswer(Exception):
    """There is no daemon to ask, or it broke off."""


class Refused(Exception):
    """The daemon answered that it will not; the text says why."""


def socket_path(state: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the daemon of a state directory listens."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(state))).hexdigest()[:16]
    # A command run by cron or su lacks the variable, and has to find the service all the same.
    for runtime in (environ.get("XDG_RUNTIME_DIR"), f"/run/user/{os.getuid()}"):
        if runtime and os.access(runtime, os.W_OK | os.X_OK) and os.path.isdir(runtime):
            return Path(runtime) / f"syncd-{name}.sock"
    # Without a runtime directory a private one of our own; a socket's path has 107 bytes at most,
    # so it cannot simply lie in the state directory.
    return Path(f"/tmp/syncd-{os.getuid()}") / f"{name}.sock"


class ControlServer:
    """Answers requests, each connection on its own thread, until it is closed."""

    def __init__(self, path: Path, answer: Answer) -> None:
        self._path = path
        self._answer = answer
        self._listener: socket.socket | None = None
        self._answering: set[threading.Thread] = set()

    def start(self) -> None:
        """Listen. Raises OSError when the socket cannot be made, or not privately."""
        _private_parent(self._path)
        # The state's lock is held, so whatever lies there was left by a daemon that is dead.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(os.fspath(self._path))
            os.chmod(self._path, 0o600)
            listener.listen(64)
        except OSError:
            listener.close()
            raise
        self._listener = listener
        threading.Thread(target=self._accept, args=[listener], name="control", daemon=True).start()

    def close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            listener.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)

    def wait(self, seconds: float) -> None:
        """Let those who were promised an answer have it, for so long at most. After `close`."""
        deadline = time.monotonic() + seconds
        for thread in list(self._answering):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            thread = threading.Thread(
                target=self._serve, args=[connection], name="control-answer", daemon=True
            )
            self._answering.add(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                if _peer(connection) not in (os.getuid(), 0):
                    return
                connection.settimeout(_CONNECT_SECONDS)
                reply = self._reply(_read_line(connection))
                connection.settimeout(None)
                connection.sendall(json.dumps(reply).encode() + b"\n")
            except (OSError, EOFError) as error:
                log.debug("a control connection ended early: %s", error)
            finally:
                self._answering.discard(threading.current_thread())

    def _reply(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            return {"error": "a request is one line with a JSON object"}
        try:
            return self._answer(request)
        except Refused as error:
            return {"error": str(error)}


def ask(path: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Send one request and wait for its answer.

    Raises NoAnswer when there is no daemon, Refused when it will not.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            # Not settimeout(): connect(2) would then fail at once when many others just connect.
            patience = struct.pack("ll", int(_CONNECT_SECONDS), 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
            connection.connect(os.fspath(path))
            if _peer(connection) not in (os.getuid(), 0):
                raise NoAnswer("the socket belongs to somebody else")
            connection.sendall(json.dumps(request).encode() + b"\n")
            reply = json.loads(_read_line(connection, _MAX_REPLY))
    except (OSError, EOFError, ValueError) as error:
        raise NoAnswer(str(error)) from error
    if not isinstance(reply, dict):
        raise NoAnswer("the answer is no object")
    if "error" in reply:
        raise Refused(str(reply["error"]))
    return reply


def _peer(connection: socket.socket) -> int:
    """The user id at the other end, from the kernel (unix(7), SO_PEERCRED)."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", raw)[1])


def _read_line(connection: socket.socket, longest: int = _MAX_LINE) -> bytes:
    """What the other end sends up to a line feed. Raises EOFError when none comes."""
    line = bytearray()
    while not line.endswith(b"\n"):
        part = connection.recv(65536)
        if not part or len(line) > longest:
            raise EOFError("the line did not end")
        line += part
    return bytes(line)


def _private_parent(path: Path) -> None:
    """The directory of the socket, which must be this user's alone when it is not the session's."""
    parent = path.parent
    with contextlib.suppress(FileExistsError):
        os.mkdir(parent, 0o700)
    status = os.lstat(parent)
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(1, "not a private directory", str(parent))
