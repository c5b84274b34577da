"""HTTP on loopback: keep-alive, one packet an answer, and the bends that faults ask for."""

from __future__ import annotations

import os
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.cortex.double.values import Reply

Exchange = Callable[[str, str, dict[str, str], bytes], Reply]
BLOCK = b" " * (1 << 20)


class Handler(BaseHTTPRequestHandler):
    """One connection; the answers come from the server's `exchange`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        self.server.left(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        return

    def respond(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.exchange(self.command, self.path, headers, raw)
        if reply.delay:
            self.server.closing.wait(reply.delay)
        if reply.drop or reply.reset:
            self.close_connection = True
            if reply.reset:
                self._reset()
            return
        self._send(reply)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = respond

    def _reset(self) -> None:
        """RST and no FIN before it: a linger of nought, closed below what socketserver holds."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        os.close(self.connection.detach())

    def _send(self, reply: Reply) -> None:
        padding = max(0, reply.size - len(reply.body))
        announced = len(reply.body) + padding if reply.length is None else reply.length
        head = self._head(reply, announced)
        if padding:
            self.wfile.write(head)
            self._pad(padding, reply.chunked)
            head = b""
        body = reply.body[: len(reply.body) // 2] if reply.cut else reply.body
        if reply.chunked and body:
            body = b"%x\r\n%b\r\n" % (len(body), body)
        if reply.chunked and not reply.cut:
            body += b"0\r\n\r\n"
        if reply.cut or reply.length is not None:
            self.close_connection = True
        self.wfile.write(head + body)

    def _head(self, reply: Reply, announced: int) -> bytes:
        known = {status.value: status.phrase for status in HTTPStatus}
        lines = [f"HTTP/1.1 {reply.status} {known.get(reply.status, 'Unknown')}"]
        lines.append("Content-Type: application/json")
        size = "Transfer-Encoding: chunked" if reply.chunked else f"Content-Length: {announced}"
        lines += [size, *(f"{name}: {value}" for name, value in reply.headers)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _pad(self, size: int, chunked: bool) -> None:
        while size > 0 and not self.server.closing.is_set():
            block = BLOCK[: min(size, len(BLOCK))]
            size -= len(block)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block) if chunked else block)


class Server(ThreadingHTTPServer):
    """Ends with no thread and no socket left, whatever connections clients keep open."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, exchange: Exchange, certificate: tuple[Path, Path] | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.exchange = exchange
        self.closing = threading.Event()
        self.crashes: list[BaseException] = []
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            # the handshake belongs to the connection's thread, or one slow client stops all
            self.socket = context.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), name="double")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.closing.set()
        self.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                hang_up(connection)
        self.server_close()

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
            if self.closing.is_set():
                hang_up(connection)

    def left(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are no news; anything else is a fault of the double's own."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            self.crashes.append(error)


def hang_up(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was gone already
