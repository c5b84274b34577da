"""Help, laziness, exit codes and the streams, as a child process shows them."""

from __future__ import annotations

import importlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from syncd import __version__
from syncd.cli import COMMANDS, cli, run
from syncd.cli.errors import ADVICE, CODES, Exit
from tests.cli.conftest import Cli
from tests.cli.running import environment, syncd
from tests.cli.scene import configure

HEAVY = (
    *("pydantic", "ruamel", "watchdog", "apscheduler", "sqlite3", "httpx", "git", "chardet"),
    *("pathspec", "identify", "syncd.memory", "syncd.sources.folder"),
)
# what only the daemon, a pass, or a hosted engine needs
NOT_TO_READ = {"watchdog", "apscheduler", "httpx", "git", "chardet", "pathspec", "identify"}


def loaded_by(*arguments: str, home: Path) -> set[str]:
    """The heavy packages that a command line imports, asked of a child process."""
    code = (
        "import sys, contextlib, io\n"
        "from syncd.cli import run\n"
        "with contextlib.redirect_stdout(io.StringIO()): assert run(sys.argv[1:]) == 0\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(home),
        capture_output=True,
        check=True,
    )
    return set(done.stdout.decode().split())


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["search", "--help"]])
def test_nothing_heavy_is_imported_to_say_how_to_use_it(
    arguments: list[str], tmp_path: Path
) -> None:
    assert loaded_by(*arguments, home=tmp_path) == set()


@pytest.mark.parametrize("command", [["search", "x"], ["list"], ["explore", "kind"]])
def test_reading_commands_import_neither_the_models_nor_the_daemon(
    command: list[str], tmp_path: Path
) -> None:
    configure(tmp_path, "notes")
    assert syncd("sync", home=tmp_path).returncode == 0
    loaded = loaded_by(*command, home=tmp_path)
    assert loaded == {"ruamel", "sqlite3", "syncd.memory"}


def test_status_imports_nothing_of_the_daemon_or_the_folder_source(tmp_path: Path) -> None:
    configure(tmp_path, "notes")
    loaded = loaded_by("status", home=tmp_path)
    assert not loaded & {*NOT_TO_READ, "syncd.sources.folder"}


def test_what_is_fetched_late_from_the_sources_is_all_there() -> None:
    import syncd.sources

    for name in syncd.sources.__all__:
        assert getattr(syncd.sources, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = syncd.sources.nothing


def test_version(tmp_path: Path) -> None:
    assert syncd("--version", home=tmp_path).stdout == f"syncd {__version__}\n".encode()


def command_of(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_ends_with_an_example(name: str) -> None:
    command = command_of(name)
    text = command.get_help(click.Context(command, info_name=f"syncd {name}"))
    lines = text.rstrip().splitlines()
    assert lines[-2].strip() == "Example:"
    assert lines[-1].strip().startswith("syncd ")
    assert f" {name}" in lines[-1]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_of_commands_is_the_command_s_own(name: str) -> None:
    text = command_of(name).help or ""
    assert text.replace("\n", " ").startswith(COMMANDS[name].summary.rstrip("."))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name: str) -> None:
    for parameter in command_of(name).params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_the_help_lists_every_command(cli: Cli) -> None:
    out = cli("--help").out
    assert all(f"\n  {name} " in out for name in COMMANDS)


def test_a_misspelt_command_is_answered_with_the_right_one(cli: Cli) -> None:
    result = cli("serch", "x")
    assert (result.code, result.out) == (2, "")
    assert "Did you mean 'search'?" in result.err


def test_help_is_a_command_too(cli: Cli) -> None:
    assert cli("help") == cli("--help")
    assert cli("help", "search") == cli("search", "--help")
    assert cli("help").code == 0


def test_the_help_tells_the_exit_codes(cli: Cli) -> None:
    out = cli("--help").out
    for code in (Exit.DONE, Exit.BEHIND, Exit.WRONG, Exit.NOT_SERVING, Exit.HELD):
        assert f"{code} " in out.partition("Exit status:")[2]


def test_no_command_at_all_shows_the_help(cli: Cli) -> None:
    result = cli()
    assert "Commands:" in result.out + result.err


@pytest.mark.parametrize("name", {**CODES, **ADVICE})
def test_every_error_that_has_a_code_exists(name: str) -> None:
    module, _, kind = name.rpartition(".")
    assert issubclass(getattr(importlib.import_module(module), kind), Exception)


def test_without_a_configuration_the_way_to_one_is_shown(tmp_path: Path) -> None:
    done = syncd("list", home=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"/.config/syncd/config.yaml: there is no configuration here" in done.stderr
    assert b"syncd init" in done.stderr


def test_problems_of_the_configuration_are_lines_and_exit_code_2(cli: Cli, home: Path) -> None:
    (home / "c.yaml").write_text("engien: local\nsources:\n- id: a\n")
    result = cli("--config", "c.yaml", "list")
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines() == [
        f"{home}/c.yaml:1:1: engien: unknown key (did you mean engine?)",
        f"{home}/c.yaml:3:3: sources[0]: the key folder (or repository) is missing",
    ]


def test_a_name_cannot_send_escapes_to_the_terminal(cli: Cli) -> None:
    result = cli("--config", "\x1b]0;evil\x07.yaml", "list")
    assert result.code == 2
    assert "\x1b" not in result.err


def test_a_closed_output_is_no_fault(tmp_path: Path) -> None:
    for closing in (">&-", "2>&-", ">&- 2>&-", "<&-"):
        done = subprocess.run(
            ["sh", "-c", f'exec "{sys.executable}" -m syncd --help {closing}'],
            env=environment(tmp_path),
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), closing


def test_a_reader_that_goes_away_is_no_fault_to_tell(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "syncd", "--help"],
            env=environment(tmp_path),
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_under_the_output_is_a_sentence(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "syncd", "--help"],
            env=environment(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"syncd: No space left on device: free some space")
    assert b"Traceback" not in done.stderr


def test_a_fault_of_the_program_is_one_line_unless_asked(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object) -> Path:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("syncd.cli.session.Session.path", broken)
    result = cli("list")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert "fault of syncd: ZeroDivisionError" in result.err
    monkeypatch.setenv("SYNCD_DEBUG", "1")
    assert "Traceback" in cli("list").err


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    def interrupted(self: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr("syncd.cli.session.Session.path", interrupted)
    assert run(["list"]) == 130


def on_terminal(*arguments: str, home: Path, columns: int = 0, **more: str) -> str:
    """What a terminal of so many columns receives."""
    leader, follower = pty.openpty()
    if columns:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "syncd", *arguments],
        env=environment(home, TERM="xterm", **more),
        stdout=follower,
        stderr=follower,
        stdin=follower,
    )
    os.close(follower)
    received = b""
    try:
        while chunk := os.read(leader, 65536):
            received += chunk
    except OSError:
        pass  # the terminal reports the end of its last writer so
    finally:
        os.close(leader)
        child.wait(60)
    return received.decode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / ("a-rather-long-name-of-a-folder-" * 3) / "n"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("hello")
    return folder


def test_tables_fit_a_narrow_terminal(tmp_path: Path, project: Path) -> None:
    syncd("init", str(project), home=tmp_path)
    received = on_terminal("check", home=tmp_path, columns=50)
    lines = [line for line in received.splitlines() if line]
    assert len(lines) == 3
    assert all(len(line) <= 50 for line in lines)
    assert lines[1].rstrip().endswith("ok")
    assert "…" in lines[1]
    assert "/n" in lines[1]


def test_output_that_goes_elsewhere_is_not_cut(tmp_path: Path, project: Path) -> None:
    syncd("init", str(project), home=tmp_path)
    assert str(project).encode() in syncd("check", home=tmp_path).stdout
    assert str(project).encode() not in syncd("check", home=tmp_path, COLUMNS="40").stdout


def test_progress_is_for_terminals_only(tmp_path: Path, project: Path) -> None:
    received = on_terminal("init", str(project), home=tmp_path, columns=60)
    assert "looking at n" in received
    assert b"looking" not in syncd("init", str(project), "--force", home=tmp_path).stderr
