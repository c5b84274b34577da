"""The control socket: for its owner alone, unimpressed by whatever is sent to it."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from syncd.daemon.control import ControlServer, NoAnswer, Refused, ask, socket_path
from tests.waiting import until

Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


def echo(request: Mapping[str, Any]) -> dict[str, Any]:
    if request.get("ask") == "refuse":
        raise Refused("no")
    return {"echo": dict(request)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir(mode=0o700)
    return tmp_path / "run" / "s.sock"


@pytest.fixture
def serve(path: Path) -> Iterator[Callable[..., ControlServer]]:
    servers: list[ControlServer] = []

    def start(answer: Answer = echo) -> ControlServer:
        servers.append(ControlServer(path, answer))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.fspath(path))
    connection.settimeout(30)
    return connection


def raw(path: Path, data: bytes, *, hang_up: bool = True) -> bytes:
    """Send bytes as they are; what comes back until the other end closes."""
    with connect(path) as connection:
        try:
            connection.sendall(data)
            if hang_up:
                connection.shutdown(socket.SHUT_WR)
        except BrokenPipeError:
            pass  # it has heard enough
        out = b""
        try:
            while part := connection.recv(65536):
                out += part
        except ConnectionResetError:
            pass
        return out


def test_a_request_is_answered(path: Path, serve: Callable[..., ControlServer]) -> None:
    serve()
    assert ask(path, {"ask": "x", "n": "ä\n"}) == {"echo": {"ask": "x", "n": "ä\n"}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_refusal_is_told(path: Path, serve: Callable[..., ControlServer]) -> None:
    serve()
    with pytest.raises(Refused, match="no"):
        ask(path, {"ask": "refuse"})


def test_without_a_daemon_there_is_no_answer(path: Path, tmp_path: Path) -> None:
    with pytest.raises(NoAnswer):
        ask(path, {})
    (tmp_path / "file").write_text("")
    with pytest.raises(NoAnswer):
        ask(tmp_path / "file", {})


def test_a_socket_that_a_dead_daemon_left_is_replaced(
    path: Path, serve: Callable[..., ControlServer]
) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(os.fspath(path))
    stale.close()
    with pytest.raises(NoAnswer):
        ask(path, {})
    serve()
    assert ask(path, {}) == {"echo": {}}


@pytest.mark.parametrize(
    "line",
    [
        *(b"\n", b"garbage\n", b"\xff\xfe\n", b"[1]\n", b"null\n", b"{\n", b"1e999\n", b'"x"\n'),
        b"[" * 100_000 + b"\n",
    ],
)
def test_garbage_is_answered_with_what_is_wrong(
    path: Path, serve: Callable[..., ControlServer], line: bytes
) -> None:
    serve()
    reply = json.loads(raw(path, line))
    assert reply == {"error": "a request is one line with a JSON object"}
    assert ask(path, {}) == {"echo": {}}


@pytest.mark.parametrize("data", [b"", b'{"ask":', b"x" * (3 * 1024 * 1024)])
def test_a_line_that_does_not_end_harms_nobody(
    path: Path, serve: Callable[..., ControlServer], data: bytes
) -> None:
    serve()
    assert raw(path, data) == b""
    assert ask(path, {}) == {"echo": {}}


def test_who_says_nothing_keeps_nobody_waiting(
    path: Path, serve: Callable[..., ControlServer]
) -> None:
    serve()
    silent = [connect(path) for _ in range(100)]
    assert ask(path, {}) == {"echo": {}}
    for connection in silent:
        # it is hung up on after a while
        assert connection.recv(1) == b""
        connection.close()


def test_a_client_that_hangs_up_before_its_answer_harms_nobody(
    path: Path, serve: Callable[..., ControlServer]
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slow(request: Mapping[str, Any]) -> dict[str, Any]:
        asked.set()
        go_on.wait(30)
        return {"long": "x" * 10_000_000}

    serve(slow)
    connection = connect(path)
    connection.sendall(b"{}\n")
    assert asked.wait(30)
    connection.close()
    go_on.set()
    assert len(ask(path, {})["long"]) == 10_000_000
    until(lambda: not [t for t in threading.enumerate() if t.name == "control-answer"])


def test_nothing_is_left_over_after_the_end(path: Path) -> None:
    def left() -> tuple[set[str], int]:
        return {t.name for t in threading.enumerate()}, len(os.listdir("/proc/self/fd"))

    # The servers of earlier tests may still be ending, and are not to be counted.
    until(lambda: not [t for t in threading.enumerate() if t.name.startswith("control")])
    before = left()
    server = ControlServer(path, echo)
    server.start()
    ask(path, {})
    server.close()
    until(lambda: left() == before)
    assert not path.exists()
    server.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user, which only root can become")
def test_another_user_is_not_heard(path: Path, serve: Callable[..., ControlServer]) -> None:
    heard: list[Mapping[str, Any]] = []
    serve(lambda request: heard.append(request) or {})  # type: ignore[func-returns-value]
    for directory in (path.parent, *path.parents):
        if stat.S_IMODE(directory.stat().st_mode) & 0o001 == 0:
            directory.chmod(0o711)
    path.chmod(0o666)  # even if the file let them in
    program = (
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX); os.setgroups([]);"
        "os.setgid(65534); os.setuid(65534); s.connect(sys.argv[1]);"
        "s.sendall(b'{}\\n'); sys.stdout.write(repr(s.recv(100)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, os.fspath(path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert found.stdout in ("b''", ""), found
    assert not heard
    path.chmod(0o600)
    assert ask(path, {}) == {}


def test_the_socket_has_one_place_for_each_state_directory(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "alias").symlink_to("state")
    here = {"XDG_RUNTIME_DIR": str(run)}
    place = socket_path(tmp_path / "state", here)
    assert place.parent == run
    assert socket_path(tmp_path / "alias", here) == place
    assert socket_path(tmp_path / "other", here) != place
    deep = tmp_path / ("x" * 200) / ("y" * 200)
    assert len(os.fsencode(socket_path(deep, {"XDG_RUNTIME_DIR": "/run/user/1000"}))) < 108


@pytest.mark.parametrize(
    "environ", [{}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "/not/there"}]
)
def test_without_a_session_there_is_a_place_too(tmp_path: Path, environ: dict[str, str]) -> None:
    place = socket_path(tmp_path, environ)
    assert place.parent in (Path(f"/run/user/{os.getuid()}"), Path(f"/tmp/syncd-{os.getuid()}"))
    assert len(os.fsencode(place)) < 108


def test_a_place_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(PermissionError):
        ControlServer(shared / "s.sock", echo).start()
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with pytest.raises(OSError, match="not a private"):
        ControlServer(tmp_path / "link" / "s.sock", echo).start()
    made = tmp_path / "made" / "s.sock"
    server = ControlServer(made, echo)
    server.start()
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700
    server.close()
