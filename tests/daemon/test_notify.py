"""sd_notify against a real socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.daemon import notify


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(str(tmp_path / "notify"))
        server.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield server


def test_each_message(systemd: socket.socket) -> None:
    notify.ready("watching 2 sources")
    assert systemd.recv(4096) == b"READY=1\nSTATUS=watching 2 sources"
    notify.ready()
    assert systemd.recv(4096) == b"READY=1"
    notify.status("busy")
    assert systemd.recv(4096) == b"STATUS=busy"
    notify.watchdog()
    assert systemd.recv(4096) == b"WATCHDOG=1"
    notify.stopping()
    assert systemd.recv(4096) == b"STOPPING=1"


def test_a_status_line_cannot_carry_another_message(systemd: socket.socket) -> None:
    notify.status("evil\nREADY=1\n\udcff \u00e9")
    assert systemd.recv(4096) == b"STATUS=evil READY=1 \xff \xc3\xa9"


def test_an_abstract_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"syncd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(f"\0{name}")
        server.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        notify.ready()
        assert server.recv(4096) == b"READY=1"


@pytest.mark.parametrize("address", [None, "", "relative", "/nowhere/at/all"])
def test_silent_without_a_listener(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    if address is None:
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    else:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify.ready("x")
    notify.stopping()


@pytest.mark.parametrize(
    ("microseconds", "process", "seconds"),
    [
        (None, None, None),
        ("60000000", None, 30.0),
        ("60000000", "self", 30.0),
        ("60000000", "1", None),
        ("0", None, None),
        ("-5", None, None),
        ("soon", None, None),
        ("60000000", "me", 30.0),
    ],
)
def test_the_watchdog_interval(
    monkeypatch: pytest.MonkeyPatch,
    microseconds: str | None,
    process: str | None,
    seconds: float | None,
) -> None:
    process = str(os.getpid()) if process == "self" else process
    for name, value in (("WATCHDOG_USEC", microseconds), ("WATCHDOG_PID", process)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert notify.watchdog_interval() == seconds


def test_a_status_line_waits_for_nobody(systemd: socket.socket) -> None:
    for number in range(2_000):  # far more than a socket takes that nobody reads
        notify.status(f"line {number}")
    assert systemd.recv(4096) == b"STATUS=line 0"
