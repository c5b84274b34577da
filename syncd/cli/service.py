"""`syncd service`: the systemd user unit, installed, removed and shown."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click

from syncd.cli.errors import Exit, UserError
from syncd.cli.output import json_option, note, print_json, print_table
from syncd.cli.session import Session

UNIT = "syncd.service"
TOKEN = "@SYNCD@"
_LINGER = Path("/var/lib/systemd/linger")
_SHOWN = (
    "LoadState", "UnitFileState", "ActiveState", "SubState", "Result", "MainPID", "NRestarts",
    "StatusText", "ActiveEnterTimestamp", "ExecMainStatus",
)  # fmt: skip


class Service(NamedTuple):
    """How the unit fares. `since` is when it became active; `linger` whether it outlives logout."""

    installed: bool
    enabled: bool
    state: str
    pid: int | None
    restarts: int
    since: datetime | None
    said: str
    result: str
    exit_status: int
    linger: bool
    unit: str

    def as_json(self) -> dict[str, Any]:
        """For scripts; unknown fields are left out."""
        since = None if self.since is None else self.since.strftime("%Y-%m-%dT%H:%M:%SZ")
        fields = {**self._asdict(), "since": since}
        return {name: value for name, value in fields.items() if value not in (None, "")}


@click.group(
    short_help="Install, remove or show the systemd user unit.",
    epilog="\b\nExample:\n  syncd service install && syncd service status",
)
def service() -> None:
    """Run syncd with systemd, as a service of yours: started at login, restarted after a crash."""


command = service


@service.command()
@click.pass_obj
def install(session: Session) -> int:
    """Install the unit, and start it now and at each login."""
    session.config()  # a unit that cannot start is not installed
    path = unit_path()
    write(path, unit_text(template(), program(), config_argument(session.path())))
    systemctl("daemon-reload")
    systemctl("enable", UNIT)
    _start()
    note(f"installed {path}; syncd is running")
    if not lingers():
        note(f"it ends when you log out; to keep it: loginctl enable-linger {user()}")
    return Exit.DONE


@service.command()
def uninstall() -> int:
    """Stop the service and remove the unit. Memory and configuration stay."""
    path = unit_path()
    if not path.exists():
        note("syncd is not installed as a service: nothing to do")
        return Exit.DONE
    systemctl("disable", "--now", UNIT)
    path.unlink(missing_ok=True)
    systemctl("daemon-reload")
    note(f"stopped, and removed {path}")
    return Exit.DONE


@service.command()
@json_option
def status(as_json: bool) -> int:
    """Show whether the service is installed and running. Exit status 0 when it runs."""
    found = look()
    if as_json:
        print_json(found.as_json())
    else:
        print_table(_rows(found), whole=(1,))
        if not found.linger:
            note(f"it ends when you log out; to keep it: loginctl enable-linger {user()}")
    return Exit.DONE if found.state == "active" else Exit.BEHIND


def _rows(found: Service) -> list[tuple[str, str]]:
    at = found.unit if found.installed else "no; `syncd service install` does it"
    rows = [("installed", at)]
    if found.installed:
        rows += [("enabled", "at login" if found.enabled else "no"), ("state", _state(found))]
    if found.said and found.state == "active":
        rows.append(("says", found.said))
    if found.restarts:
        rows.append(("restarts", str(found.restarts)))
    return rows


def _state(found: Service) -> str:
    if found.state == "active":
        since = "" if found.since is None else f" since {found.since:%Y-%m-%d %H:%M:%S} UTC"
        return f"running{since} (process {found.pid})"
    if found.state == "failed":
        why = f"{found.result}, exit status {found.exit_status}"
        return f"failed ({why}); journalctl --user -u syncd tells more"
    return found.state


def _start() -> None:
    """Start it, or start it anew when it runs; wait until it is ready."""
    systemctl("reset-failed", UNIT, check=False)
    if systemctl("restart", UNIT, check=False) is None:
        found = look()
        raise UserError(
            f"the service is installed but does not start ({found.result}, exit status "
            f"{found.exit_status}): journalctl --user -u syncd tells why",
            Exit.BEHIND,
        )


def look() -> Service:
    """Ask the user manager. Raises UserError when there is none."""
    path = unit_path()
    text = systemctl("show", UNIT, f"--property={','.join(_SHOWN)}", "--timestamp=unix") or ""
    told = dict(line.partition("=")[::2] for line in text.splitlines())
    pid = int(told.get("MainPID") or 0)
    since = re.fullmatch(r"@(\d+)", told.get("ActiveEnterTimestamp", ""))
    return Service(
        installed=told.get("LoadState") == "loaded",
        enabled=told.get("UnitFileState") == "enabled",
        state=told.get("ActiveState") or "unknown",
        pid=pid or None,
        restarts=int(told.get("NRestarts") or 0),
        since=datetime.fromtimestamp(int(since[1]), UTC) if since else None,
        said=told.get("StatusText", ""),
        result=told.get("Result", ""),
        exit_status=int(told.get("ExecMainStatus") or 0),
        linger=lingers(),
        unit=str(path),
    )


# --- the unit's text


def template() -> str:
    """The shipped unit: in a wheel beside the code, in a checkout in its own directory."""
    package = Path(__file__).parents[1]
    for path in (package / "data" / UNIT, package.parent / "systemd" / UNIT):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise UserError(f"{UNIT} is missing from this installation of syncd: install it anew")


def program() -> list[str]:
    """The command line that starts this very syncd, as absolute paths.

    Links are kept: what an installer links to changes with the next version.
    """
    started = Path(os.path.abspath(sys.argv[0]))
    for path in (started, Path(sys.executable).with_name("syncd")):
        if path.name == "syncd" and path.is_file() and os.access(path, os.X_OK):
            return [str(path)]
    return [sys.executable, "-m", "syncd"]


def config_argument(path: Path) -> list[str]:
    """The option that names a configuration that lies elsewhere than usual."""
    usual = Path.home() / ".config/syncd/config.yaml"
    where = Path(os.path.abspath(path))
    return [] if where == usual else ["--config", str(where)]


def unit_text(text: str, program: Sequence[str], arguments: Sequence[str] = ()) -> str:
    """The unit with its command line. Raises UserError for a path that systemd cannot run."""
    path, *rest = program
    if set(path) & set("\"'\\") or not path.isprintable():
        raise UserError(f"systemd cannot start a program at {path}: install syncd elsewhere")
    # systemd expands variables in arguments, but not in the path of the program
    words = [quote(path), *(quote(word).replace("$", "$$") for word in (*rest, *arguments))]
    line = " ".join(words)
    return "\n".join(
        each.replace(TOKEN, line) if each.startswith("ExecStart=") else each
        for each in text.split("\n")
    )


def quote(word: str) -> str:
    """One word of a unit's command line: systemd.service(5), "Command lines"."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = "".join(char if char >= " " else f"\\x{ord(char):02x}" for char in escaped)
    return f'"{escaped}"'


def write(path: Path, text: str) -> None:
    """Write the unit whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


# --- the user manager


def unit_path() -> Path:
    """Where the user manager looks for units of this user. Raises UserError when there is none."""
    usual = Path.home() / ".config"
    searched = (systemctl("show", "--property=UnitPath", "--value") or "").split()
    for home in (Path(os.environ.get("XDG_CONFIG_HOME") or usual), usual):
        if str(home / "systemd/user") in searched:
            return home / "systemd/user" / UNIT
    return usual / "systemd/user" / UNIT


def systemctl(*arguments: str, check: bool = True) -> str | None:
    """What `systemctl --user` prints; None when it failed and that is no error here."""
    try:
        done = subprocess.run(
            ["systemctl", "--user", "--no-pager", *arguments],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except FileNotFoundError:
        raise UserError(
            "systemctl is not installed: without systemd, start `syncd run` by other means",
            Exit.BEHIND,
        ) from None
    if done.returncode == 0:
        return done.stdout
    if "connect to bus" in done.stderr or "not been booted" in done.stderr:
        raise UserError(
            "no systemd user manager answers: log in as yourself (not through su or sudo), or "
            "start `syncd run` by other means",
            Exit.BEHIND,
        )
    if not check:
        return None
    said = done.stderr.strip().splitlines()
    raise UserError(
        f"systemctl --user {arguments[0]} failed: {said[0] if said else done.returncode}",
        Exit.BEHIND,
    )


def user() -> str:
    """The name of the user whose manager this is."""
    return pwd.getpwuid(os.getuid()).pw_name


def lingers() -> bool:
    """Whether the user's services outlive the last session."""
    return (_LINGER / user()).exists()
