"""Files that are damaged, in the way or not to be touched: one sentence that names them, always."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Result
from tests.cli.running import environment
from tests.cli.scene import CONFIG, LEDGER, MEMORY, STATE, configure
from tests.end_to_end.harness import Machine
from tests.waiting import until

READING = ["search x", "recall x", "list", "get x", "explore kind"]
COMPARING = ["sync", "sync --dry-run", "verify", "verify --repair", "forget --source a --yes"]
COMMANDS = [*READING, *COMPARING, "check", "status"]


def garbage(file: Path) -> None:
    file.write_bytes(b"this is no database " * 300)


def cut_in_half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2 + 100])


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def of_another_program(file: Path) -> None:
    file.unlink()
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE mine (x)")
    other.close()


DAMAGES: list[Callable[[Path], None]] = [
    *(garbage, cut_in_half, cut_short, folder, of_another_program)
]


@pytest.fixture
def synced(cli: Cli, home: Path) -> Path:
    """A home whose notes are in memory, with no log beside the files."""
    configure(home, "notes")
    (home / "notes" / "a.md").write_text("some text\n")
    assert cli("sync").code == 0
    assert not (home / f"{MEMORY}-wal").exists()
    return home


def assert_sentence(result: Result, path: Path, command: str = "") -> None:
    """Nothing but one line on stderr that names the file and a way out."""
    (line,) = result.err.splitlines() or [""]
    assert str(path) in line, (command, line)
    assert "Traceback" not in line
    assert "fault of syncd" not in line
    ways = ("move", "name another path", "check", "begins a new")
    assert any(way in line for way in ways), (command, line)


@pytest.mark.parametrize("damage", DAMAGES)
def test_memory_that_cannot_be_used(cli: Cli, synced: Path, damage: Callable[[Path], None]) -> None:
    damage(synced / MEMORY)
    for command in COMMANDS:
        result = cli(*command.split())
        assert result.code in (2, 3), command
        assert_sentence(result, synced / MEMORY, command)
        assert bool(result.out) == (command in ("check", "status")), command


@pytest.mark.parametrize("damage", DAMAGES)
def test_memory_that_was_moved_away_is_made_anew(
    cli: Cli, synced: Path, damage: Callable[[Path], None]
) -> None:
    damage(synced / MEMORY)
    (synced / MEMORY).rename(synced / "kept")
    assert cli("sync").out == "notes: 1 stored, 0 forgotten\n"
    assert cli("verify").code == 0


@pytest.mark.parametrize("damage", [garbage, cut_in_half, cut_short, of_another_program])
def test_a_ledger_that_is_none(cli: Cli, synced: Path, damage: Callable[[Path], None]) -> None:
    for command in ("sync", "verify --repair"):
        damage(synced / LEDGER)
        make_stale(synced)
        result = cli(*command.split())
        assert (result.code, result.err.count("it is kept as")) == (0, 1), command
        assert cli("status").code == 0
    damage(synced / LEDGER)
    kept = (synced / LEDGER).read_bytes()
    told = cli("status")
    assert (told.code, told.out) == (3, "")
    assert_sentence(told, synced / LEDGER)
    for command in (*READING, "verify", "check", "sync --dry-run"):
        result = cli(*command.split())
        assert str(synced / LEDGER) not in result.err
        assert result.code == (1 if command == "get x" else 0), command
    assert (synced / LEDGER).read_bytes() == kept


def make_stale(home: Path) -> None:
    with (home / "notes" / "a.md").open("a") as file:
        file.write("more\n")


def test_a_folder_where_the_ledger_should_be(cli: Cli, synced: Path) -> None:
    folder(synced / LEDGER)
    make_stale(synced)
    for command in ("sync", "sync --dry-run", "verify --repair", "status"):
        result = cli(*command.split())
        assert (result.code, result.out) == (3, ""), command
        assert_sentence(result, synced / LEDGER, command)
    assert cli("search", "text").code == 0


def test_a_file_where_the_state_should_be(cli: Cli, synced: Path) -> None:
    shutil.rmtree(synced / STATE)
    (synced / STATE).write_text("a file")
    for command in ("sync", "verify --repair", "check", "status", "run"):
        result = cli(*command.split())
        assert result.code == 3, command
        assert_sentence(result, synced / STATE, command)
    assert (synced / STATE).read_text() == "a file"


def config_in_latin_1(file: Path) -> None:
    file.write_bytes(b"sources: [{id: a, folder: /caf\xe9}]\n")


def config_cut(file: Path) -> None:
    file.write_text('{"sources": [{"id"')


def config_binary(file: Path) -> None:
    file.write_bytes(bytes(range(256)) * 10)


def config_huge(file: Path) -> None:
    file.write_bytes(b"# much\n" * 200_000)


@pytest.mark.parametrize(
    "damage", [folder, config_in_latin_1, config_cut, config_binary, config_huge]
)
def test_a_configuration_that_cannot_be_used(
    cli: Cli, synced: Path, damage: Callable[[Path], None]
) -> None:
    damage(synced / CONFIG)
    for command in (*COMMANDS, "run"):
        result = cli(*command.split())
        assert (result.code, result.out) == (2, ""), command
        (line,) = result.err.splitlines()
        assert line.startswith(f"{synced / CONFIG}:")
    init = cli("init", "notes")
    assert (init.code, init.out, len(init.err.splitlines())) == (2, "", 1)
    assert f"{synced / CONFIG} is there already, but is not right" in init.err


def test_the_daemon_says_what_is_wrong_with_memory_and_goes_on(machine: Machine) -> None:
    machine.put("a.md")
    assert machine.syncd("sync").returncode == 0
    garbage(machine.memory_file)
    machine.start()
    until(lambda: machine.said(str(machine.memory_file), "is damaged"))
    asked = machine.syncd("sync")
    assert (asked.returncode, asked.stdout) == (3, "")
    assert "is damaged" in asked.stderr
    assert machine.status()["state"] == "failing"
    assert machine.stop() == 0
    assert not machine.said("Traceback")


def test_the_daemon_begins_a_damaged_ledger_anew(machine: Machine) -> None:
    machine.put("a.md")
    assert machine.syncd("sync").returncode == 0
    garbage(machine.state / "ledger.db")
    machine.start()
    machine.assert_equal_to_disk()
    assert machine.status()["files"] == 1


# --- as an ordinary user, whom permissions bind


# root, too, is bound by permissions when it lacks these
_BOUND = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


@dataclass(frozen=True)
class Ordinary:
    """Commands of a user whom permissions bind, in a home of theirs."""

    home: Path

    def __call__(self, *arguments: str) -> Result:
        command = [sys.executable, "-W", "error", "-m", "syncd", *arguments]
        done = subprocess.run(
            [*(_BOUND if os.geteuid() == 0 else []), *command],
            env=environment(self.home),
            cwd="/",
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def ordinary(tmp_path: Path) -> Iterator[Ordinary]:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root is bound by permissions only with setpriv (util-linux)")
    configure(tmp_path, "notes")
    (tmp_path / "notes" / "a.md").write_text("some text\n")
    yield Ordinary(tmp_path)
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o700)


def test_memory_that_may_not_be_read(ordinary: Ordinary) -> None:
    assert ordinary("sync").code == 0
    (ordinary.home / MEMORY).chmod(0)
    for command in ("search x", "sync", "verify", "check", "status"):
        result = ordinary(*command.split())
        assert result.code == 3, command
        assert_sentence(result, ordinary.home / MEMORY)


@pytest.mark.parametrize("command", ["sync", "check", "run"])
def test_a_state_that_may_not_be_written(ordinary: Ordinary, command: str) -> None:
    (ordinary.home / STATE).mkdir(parents=True)
    (ordinary.home / STATE).chmod(0o555)
    result = ordinary(*command.split())
    assert result.code == 3
    assert_sentence(result, ordinary.home / STATE)


@pytest.mark.parametrize("command", ["sync", "run"])
def test_a_home_that_may_not_be_written(ordinary: Ordinary, command: str) -> None:
    ordinary.home.chmod(0o555)
    result = ordinary(*command.split())
    assert result.code == 3
    assert_sentence(result, ordinary.home / ".local")


def test_init_where_nothing_may_be_written(ordinary: Ordinary) -> None:
    shutil.rmtree(ordinary.home / ".config")
    ordinary.home.chmod(0o555)
    result = ordinary("init", str(ordinary.home / "notes"))
    assert (result.code, result.out) == (1, "")
    assert_sentence(result, ordinary.home / ".config")


def test_a_configuration_that_may_not_be_read(ordinary: Ordinary) -> None:
    (ordinary.home / CONFIG).chmod(0)
    for command in ("list", "run"):
        result = ordinary(command)
        assert result.code == 2
        assert_sentence(result, ordinary.home / CONFIG)


def test_a_folder_that_may_not_be_read_is_unavailable(ordinary: Ordinary) -> None:
    assert ordinary("sync").code == 0
    (ordinary.home / "notes").chmod(0)
    result = ordinary("sync")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("notes: unavailable, nothing was forgotten: ")
    assert "notes: unavailable: " in ordinary("status").out


def test_a_file_that_may_not_be_read_keeps_its_item(ordinary: Ordinary) -> None:
    assert ordinary("sync").code == 0
    (ordinary.home / "notes" / "a.md").write_text("another text\n")
    (ordinary.home / "notes" / "a.md").chmod(0)
    result = ordinary("sync")
    assert (result.code, result.err) == (1, "")
    assert "  not in memory: a.md: " in result.out
    assert "a.md" in ordinary("list").out


def test_without_any_home(cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.delenv("HOME")
    for command in (*COMMANDS, "run", "init ."):
        result = cli(*command.split())
        assert (result.code, result.out) == (2, ""), command
        assert "there is no home directory to look in: set HOME" in result.err
    (home / "c.yaml").write_text("sources: []\n")
    for command in (*COMMANDS, "run"):
        result = cli("--config", "c.yaml", *command.split())
        assert (result.code, result.out) == (2, ""), command
        assert "there is no home directory on this machine" in result.err
