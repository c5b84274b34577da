"""What a user does with the service, played by that user under a real user manager.

Usage: scenario.py NAME PROGRAM. Fails with an AssertionError; test_unit.py starts it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOME = Path.home()
NOTES = HOME / "notes"
CONFIG = HOME / ".config/syncd/config.yaml"
UNIT = HOME / ".config/systemd/user/syncd.service"
GOOD = f"engine: local\nsources:\n  - id: notes\n    folder: {NOTES}\n"


def until(condition: Callable[[], Any], what: str) -> Any:
    deadline, pause = time.monotonic() + 60, threading.Event()
    while not (value := condition()):
        assert time.monotonic() < deadline, what
        pause.wait(0.05)
    return value


def systemctl(*arguments: str) -> str:
    done = subprocess.run(
        ["systemctl", "--user", *arguments], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def shown(name: str) -> str:
    return systemctl("show", "syncd.service", f"--property={name}", "--value")


def syncd(*arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert code is None or done.returncode == code, (arguments, done)
    return done


def status() -> dict[str, Any]:
    told = json.loads(syncd("service", "status", "--json", code=None).stdout)
    assert isinstance(told, dict)
    return told


def clean() -> None:
    systemctl("stop", "syncd.service")
    for path in (NOTES, HOME / ".config", HOME / ".local", HOME / "else where"):
        shutil.rmtree(path, ignore_errors=True)


def configure(text: str, path: Path = CONFIG) -> None:
    NOTES.mkdir(exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def life() -> None:
    """Install, ready, in use, killed and back, stopped in time, started again, uninstalled."""
    configure(GOOD)
    (NOTES / "a.md").write_text("the pangolin sleeps")
    said = syncd("service", "install").stderr
    assert str(UNIT) in said
    assert "loginctl enable-linger" in said
    first = status()
    assert (first["installed"], first["enabled"]) == (True, True)
    assert (first["state"], first["restarts"], first["linger"]) == ("active", 0, False)
    assert "since" in first
    assert shown("StatusText")
    assert "running since" in syncd("service", "status").stdout
    until(lambda: "pangolin" in syncd("search", "pangolin", code=None).stdout, "first note found")

    os.kill(first["pid"], 9)
    until(lambda: status().get("restarts") == 1 and status()["state"] == "active", "back again")
    assert status()["pid"] != first["pid"]
    (NOTES / "b.md").write_text("the aardvark digs")
    until(lambda: "aardvark" in syncd("search", "aardvark", code=None).stdout, "still watching")

    before = time.monotonic()
    systemctl("stop", "syncd.service")
    assert time.monotonic() - before < 10
    assert (shown("Result"), shown("ExecMainStatus")) == ("success", "0")
    assert syncd("service", "status", code=1).stdout
    syncd("service", "install")
    assert status()["state"] == "active", "installing again starts it again"

    syncd("service", "uninstall")
    assert not UNIT.exists()
    assert not status()["installed"]
    assert "nothing to do" in syncd("service", "uninstall").stderr


def hardened() -> None:
    """Every line of the hardening is in force on the real process."""
    configure(GOOD)
    syncd("service", "install")
    process = Path(f"/proc/{status()['pid']}")
    told = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines())
    assert (told["NoNewPrivs"], told["Seccomp"].strip(), told["Umask"]) == ("1", "2", "0077")
    assert int(told["Seccomp_filters"]) >= 6, "one for each line of the unit, or more"
    assert (process / "stat").read_text().rsplit(")", 1)[1].split()[16] == "10"
    asked = subprocess.run(
        ["ionice", "-p", process.name], capture_output=True, text=True, check=False
    )
    assert asked.stdout.strip() in ("idle", ""), asked
    state = HOME / ".local/state/syncd"
    assert state.stat().st_mode & 0o077 == 0


def faulty_configuration() -> None:
    """A wrong configuration is not installed, and a service that meets one does not loop."""
    configure("engine: nonsense\n")
    assert "engine" in syncd("service", "install", code=2).stderr
    assert not UNIT.exists()
    configure(GOOD)
    syncd("service", "install")
    CONFIG.write_text(GOOD + "surprise: 1\n")
    systemctl("restart", "syncd.service")
    until(lambda: shown("ActiveState") == "failed", "failed")
    assert (shown("ExecMainStatus"), shown("NRestarts")) == ("2", "0")
    assert "exit status 2" in syncd("service", "status", code=1).stdout
    CONFIG.write_text(GOOD)
    syncd("service", "install")
    assert status()["state"] == "active"


def held_state() -> None:
    """A service that finds its state held by another syncd ends and does not loop."""
    configure(GOOD)
    with subprocess.Popen([PROGRAM, "run"], stderr=subprocess.PIPE, text=True) as other:
        try:
            assert other.stderr is not None
            other.stderr.readline()
            refused = syncd("service", "install", code=1).stderr
            assert "exit status 4" in refused, refused
            assert (shown("ActiveState"), shown("NRestarts")) == ("failed", "0")
            assert other.poll() is None, "the first one is not disturbed"
        finally:
            other.terminate()
        assert other.wait() == 0


def odd_paths() -> None:
    """A configuration at a path that systemd would expand or split."""
    elsewhere = HOME / 'else where/100% of "$HOME"/c.yaml'
    configure(GOOD, elsewhere)
    syncd("--config", str(elsewhere), "service", "install")
    command = Path(f"/proc/{status()['pid']}/cmdline").read_bytes().split(b"\0")
    assert os.fsencode(elsewhere) in command, command
    assert not CONFIG.exists()


def crash_loop() -> None:
    """A program that fails at every start is given up."""
    configure(GOOD)
    syncd("service", "install")
    drop_in = UNIT.parent / "syncd.service.d/broken.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nExecStart=\nExecStart=/bin/false\nRestartSec=50ms\n")
    systemctl("daemon-reload")
    systemctl("restart", "syncd.service")
    until(lambda: shown("ActiveState") == "failed", "given up")
    assert int(shown("NRestarts")) <= 5
    assert shown("Result") in ("exit-code", "start-limit-hit")


def hang() -> None:
    """A daemon that shows no sign of life is killed and started anew."""
    configure(GOOD)
    syncd("service", "install")
    drop_in = UNIT.parent / "syncd.service.d/short.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("[Service]\nWatchdogSec=2s\nRestartSec=50ms\n")
    systemctl("daemon-reload")
    systemctl("restart", "syncd.service")
    pid = status()["pid"]
    until(lambda: shown("WatchdogTimestampMonotonic") > "0", "pinged")
    os.kill(pid, 19)
    until(lambda: shown("NRestarts") == "1" and shown("ActiveState") == "active", "started anew")
    assert status()["pid"] != pid


if __name__ == "__main__":
    PROGRAM = sys.argv[2]
    clean()
    try:
        globals()[sys.argv[1]]()
    finally:
        clean()
