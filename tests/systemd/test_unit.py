"""The unit under a real user manager, run by an ordinary user who is made for that."""

from __future__ import annotations

import os
import pwd
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncd.cli.service import template, unit_text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
USER = "syncd-test"

PROGRAM = """#!{python}
import sys
sys.path[:0] = {paths!r}
from syncd.cli import COMMANDS, Entry, main
COMMANDS.setdefault("service", Entry("service", ""))
main()
"""


def why_not() -> str | None:
    """Why no user manager can be run here, None when it can."""
    if os.geteuid() != 0:
        return "needs root, to run a user manager for a user made for that"
    if Path("/proc/1/comm").read_text().strip() == "systemd":
        return "this machine was booted with systemd, whose managers are left alone"
    missing = [
        name for name in ("systemctl", "setpriv", "useradd", "ionice") if not shutil.which(name)
    ]
    if missing or not Path("/lib/systemd/systemd").exists():
        return f"systemd is not installed ({', '.join(missing) or '/lib/systemd/systemd'})"
    return None if reachable_python() else "no Python of this version that another user can start"


def reachable_python() -> str | None:
    """A Python of this version that an ordinary user can start (root's own may be hidden)."""
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    for python in (sys.executable, f"/usr/bin/python{wanted}", "/usr/local/bin/python3"):
        become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "-i"]
        command = [*become, python, "-c", show]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        if done.stdout.strip() == wanted:
            return python
    return None


needs_manager = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


@pytest.fixture(scope="module")
def user() -> Iterator[str]:
    """A user that exists for these tests only."""
    known = USER in {entry.pw_name for entry in pwd.getpwall()}
    yield USER
    if not known:
        subprocess.run(["userdel", "--remove", USER], capture_output=True, check=False)


@pytest.fixture
def program() -> Iterator[Path]:
    """`syncd` as an ordinary user can start it, at a path that has to be quoted in a unit."""
    paths = [str(ROOT), *site.getsitepackages()]
    with tempfile.TemporaryDirectory(prefix="syncd ") as name:
        os.chmod(name, 0o755)
        path = Path(name, "bin 100% $HOME", "syncd")
        path.parent.mkdir()
        path.write_text(PROGRAM.format(python=reachable_python(), paths=paths))
        path.chmod(0o755)
        yield path


@needs_manager
@pytest.mark.parametrize(
    "name",
    [
        "life",
        "hardened",
        "faulty_configuration",
        "held_state",
        "odd_paths",
        "crash_loop",
        "hang",
    ],
)
def test_under_a_real_user_manager(program: Path, user: str, name: str) -> None:
    scenario = program.with_name("scenario.py")
    shutil.copy(HERE / "scenario.py", scenario)
    python = reachable_python()
    assert python is not None
    done = subprocess.run(
        [HERE / "systemd-user", python, scenario, name, program],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd="/",
        env={"PATH": os.environ["PATH"], "SYSTEMD_TEST_USER": user},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_finds_nothing_to_say_about_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "syncd.service"
    text = unit_text(template(), [sys.executable, "-m", "syncd"], ["--config", "/a b/100%.yaml"])
    unit.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", unit],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    # it exits with 0 on unknown keys, and says so
    assert (done.returncode, done.stderr) == (0, "")


def test_every_hardening_line_says_why() -> None:
    lines = template().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("# Hardening"))
    end = lines.index("[Install]")
    settings = [number for number in range(start, end) if "=" in lines[number][:40]]
    for number in settings:
        assert lines[number].startswith("#") or lines[number - 1].startswith("#"), lines[number]
