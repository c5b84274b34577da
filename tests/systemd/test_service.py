"""`syncd service` where there is no systemd to talk to, and what it writes for one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from syncd.cli import service
from syncd.cli.errors import UserError
from syncd.cli.service import config_argument, program, quote, template, unit_text, write

ROOT = Path(__file__).parents[2]
CALL = """
import sys
from syncd.cli import COMMANDS, Entry, run
COMMANDS.setdefault("service", Entry("service", ""))
sys.exit(run(sys.argv[1:]))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    (tmp_path / "bin").mkdir()
    config = tmp_path / ".config/syncd/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"engine: local\nsources:\n  - id: notes\n    folder: {tmp_path}/notes\n")
    return tmp_path


def syncd(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """One command line, with nothing but `home/bin` to find programs in."""
    return subprocess.run(
        [sys.executable, "-c", CALL, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env={"HOME": str(home), "PATH": str(home / "bin"), "PYTHONPATH": str(ROOT)},
    )


def pretend(home: Path, script: str) -> None:
    """A `systemctl` that writes down how it was called and then does as told."""
    path = home / "bin/systemctl"
    path.write_text(f'#!/bin/sh\necho "$@" >> "{home}/calls"\n{script}\n')
    path.chmod(0o755)


def calls(home: Path) -> list[str]:
    lines = (home / "calls").read_text().splitlines()
    return [line.removeprefix("--user --no-pager ") for line in lines]


@pytest.mark.parametrize("name", ["install", "uninstall", "status"])
def test_without_systemctl_one_sentence(home: Path, name: str) -> None:
    done = syncd(home, "service", name)
    assert done.returncode == 1
    assert done.stderr == (
        "syncd: systemctl is not installed: without systemd, start `syncd run` by other means\n"
    )
    assert not (home / ".config/systemd").exists()


@pytest.mark.parametrize(
    "said",
    [
        "Failed to connect to bus: No medium found",
        "Failed to connect to bus: Operation not permitted",
        "System has not been booted with systemd as init system (PID 1). Can't operate.",
    ],
)
def test_without_a_user_manager_one_sentence(home: Path, said: str) -> None:
    pretend(home, f'echo "{said}" >&2; exit 1')
    for name in ("install", "uninstall", "status"):
        done = syncd(home, "service", name)
        assert done.returncode == 1
        assert done.stderr.startswith("syncd: no systemd user manager answers: log in as yourself")
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""


def test_another_failure_is_told_in_its_own_words(home: Path) -> None:
    pretend(home, 'case "$*" in *daemon-reload*) echo "Access denied" >&2; exit 1;; esac')
    done = syncd(home, "service", "install")
    assert done.returncode == 1
    assert done.stderr == "syncd: systemctl --user daemon-reload failed: Access denied\n"


def test_install_and_uninstall_in_order(home: Path) -> None:
    pretend(home, "exit 0")
    assert syncd(home, "service", "install").returncode == 0
    unit = home / ".config/systemd/user/syncd.service"
    assert "@SYNCD@" not in unit.read_text()
    assert unit.stat().st_mode & 0o777 == 0o644
    wanted = ["daemon-reload", "enable", "reset-failed", "restart"]
    assert [line.split()[0] for line in calls(home) if not line.startswith("show")] == wanted
    (home / "calls").unlink()
    assert syncd(home, "service", "uninstall").returncode == 0
    assert not unit.exists()
    done = [line for line in calls(home) if not line.startswith("show")]
    assert done == ["disable --now syncd.service", "daemon-reload"]


def test_a_configuration_that_is_missing_or_wrong_is_not_installed(home: Path) -> None:
    pretend(home, "exit 0")
    for text in (None, "engine: nonsense\n"):
        config = home / ".config/syncd/config.yaml"
        if text is None:
            config.unlink()
        else:
            config.write_text(text)
        assert syncd(home, "service", "install").returncode == 2
        assert not (home / ".config/systemd").exists()


def test_the_unit_goes_where_the_manager_looks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    usual, other = tmp_path / ".config/systemd/user", tmp_path / "xdg/systemd/user"
    for searched, at in ((f"/etc {usual}", usual), (f"{other} {usual}", other), ("", usual)):
        monkeypatch.setattr(service, "systemctl", lambda *_, said=searched: said)
        assert service.unit_path() == at / "syncd.service"


# --- the text of the unit


def test_the_command_line_is_quoted_for_systemd() -> None:
    text = unit_text("# @SYNCD@\nExecStart=@SYNCD@ run", ["/a b/100%/$x"], ["--config", '/"\\\n$y'])
    assert text == '# @SYNCD@\nExecStart="/a b/100%%/$x" "--config" "/\\"\\\\\\x0a$$y" run'


@pytest.mark.parametrize(("word", "quoted"), [("", '""'), ("a'b", '"a\'b"'), ("é", '"é"')])
def test_quote(word: str, quoted: str) -> None:
    assert quote(word) == quoted


@pytest.mark.parametrize("path", ['/a"b', "/a'b", "/a\\b", "/a\nb", "/a\udcff"])
def test_a_program_that_systemd_cannot_start_is_refused(path: str) -> None:
    with pytest.raises(UserError, match="install syncd elsewhere"):
        unit_text("ExecStart=@SYNCD@ run", [path])


def test_the_program_is_the_one_that_was_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = tmp_path / "real"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    (tmp_path / "syncd").symlink_to(real)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["./syncd", "service", "install"])
    assert program() == [str(tmp_path / "syncd")], "absolute, and the link is kept"
    monkeypatch.setattr(sys, "argv", ["/x/syncd/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert program() == [str(tmp_path / "syncd")], "the one beside this Python"
    (tmp_path / "syncd").unlink()
    assert program() == [str(tmp_path / "python"), "-m", "syncd"]


def test_only_an_unusual_configuration_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert config_argument(Path(".config/syncd/config.yaml")) == []
    assert config_argument(Path("c.yaml")) == ["--config", str(tmp_path / "c.yaml")]


def test_the_shipped_unit_is_found_in_a_checkout_and_in_a_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shipped = (ROOT / "systemd/syncd.service").read_text()
    assert template() == shipped
    for place in ("syncd/data", "systemd"):
        base = tmp_path / place.replace("/", "-")
        (base / place).mkdir(parents=True)
        shutil.copy(ROOT / "systemd/syncd.service", base / place)
        monkeypatch.setattr(service, "__file__", str(base / "syncd/cli/service.py"))
        assert template() == shipped
    monkeypatch.setattr(service, "__file__", str(tmp_path / "none/syncd/cli/service.py"))
    with pytest.raises(UserError, match="install it anew"):
        template()


def test_a_unit_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "systemd/user/syncd.service"
    write(path, "one")
    with pytest.raises(UnicodeEncodeError):
        write(path, "two \udcff")
    assert path.read_text() == "one"
    assert [each.name for each in path.parent.iterdir()] == ["syncd.service"]
