"""`syncd sync`: what it does, says and leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from syncd.memory import Item, StoreReceipt
from syncd.memory.errors import InvalidRequest, Unavailable
from syncd.memory.reference import ReferenceEngine
from syncd.sources import Unreadable
from syncd.sources.folder import FolderSource
from syncd.sync.lock import StateLock
from tests.cli.conftest import Cli
from tests.cli.running import environment, syncd
from tests.cli.scene import LEDGER, MEMORY, STATE, configure, everything, hits, settle, texts
from tests.cli.test_command_line import on_terminal
from tests.end_to_end.harness import Machine
from tests.repository.making import Repo
from tests.waiting import until


@pytest.fixture
def notes(home: Path) -> Path:
    """Two sources; this one has three texts and a secret in it, the other has one text."""
    configure(home, "notes", "papers")
    (home / "notes" / "sub").mkdir()
    for name in ("a.md", "b.md", "sub/c.md"):
        (home / "notes" / name).write_text(f"text of {name}\n")
    (home / "notes" / ".env").write_text("KEY=1\n")
    (home / "papers" / "p.md").write_text("a paper\n")
    settle(home)
    return home / "notes"


def test_the_summary_tells_what_was_done(cli: Cli, home: Path, notes: Path) -> None:
    result = cli("sync")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "notes: 3 stored, 0 forgotten",
        "  left out: 1 secrets",
        "papers: 1 stored, 0 forgotten",
    ]
    assert texts(home)["notes/sub/c.md"] == "# c.md\n\ntext of sub/c.md\n"


def test_a_second_sync_has_nothing_to_do(cli: Cli, home: Path, notes: Path) -> None:
    cli("sync")
    before = {hit.id for hit in hits(home)}
    assert "notes: nothing to do" in cli("sync").out
    assert {hit.id for hit in hits(home)} == before


def test_what_was_there_already_is_replayed(cli: Cli, home: Path, notes: Path) -> None:
    cli("sync")
    shutil.rmtree(home / STATE)
    assert "papers: 0 stored, 1 replayed, 0 forgotten" in cli("sync").out
    assert len(hits(home)) == 4


def test_json_has_a_tally_for_each_source(cli: Cli, notes: Path) -> None:
    found = cli("sync", "--json").json
    assert found["dry_run"] is False
    assert found["sources"][0] == {
        "source": "notes",
        "examined": 3,
        "stored": 3,
        "replayed": 0,
        "forgotten": 0,
        "held": 0,
        "skipped": {"secrets": 1},
        "set_aside": [],
        "unread": [],
        "in_step": True,
    }
    assert [each["source"] for each in found["sources"]] == ["notes", "papers"]


def test_only_the_named_source_is_synced_and_once(cli: Cli, home: Path, notes: Path) -> None:
    assert cli("sync", "papers", "papers").out == "papers: 1 stored, 0 forgotten\n"
    assert list(texts(home)) == ["papers/p.md"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("nots", "did you mean notes?"), ("xyz", "there are: notes, papers"), ("\x1b[2J", "x1b")],
)
def test_a_name_that_is_no_source(cli: Cli, home: Path, notes: Path, name: str, words: str) -> None:
    result = cli("sync", name)
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert words in result.err
    assert not (home / MEMORY).exists()


def test_without_a_source_it_says_that_nothing_is_watched(cli: Cli, home: Path) -> None:
    configure(home)
    assert "no source" in cli("sync").err
    assert "add one" in cli("sync", "notes").err


def test_a_repository_and_its_mirror_are_synced_with_their_commits(cli: Cli, home: Path) -> None:
    repo = Repo(home / "widgets")
    repo.put("parser.py", "def parse_http_header(line): ...\n")
    commit = repo.commit("Teach the parser about trailers")
    (home / "c.yaml").write_text(
        "sources:\n"
        f"  - {{id: copy, repository: {home / 'widgets'}}}\n"
        f"  - {{id: mirror, repository: 'file://{home / 'widgets'}'}}\n"
    )
    assert cli("--config", "c.yaml", "sync").code == 0
    for source in ("copy", "mirror"):
        listed = json.loads(cli("--config", "c.yaml", "list", "--source", source, "--json").out)
        found = {
            item["meta"].get("commit") or item["meta"]["file_path"] for item in listed["items"]
        }
        assert found == {commit, "parser.py"}
    assert cli("--config", "c.yaml", "verify").code == 0
    again = json.loads(cli("--config", "c.yaml", "sync", "--json").out)["sources"]
    assert [(s["stored"], s["replayed"], s["forgotten"]) for s in again] == [(0, 0, 0)] * 2


def test_an_address_that_cannot_be_reached_is_told_without_its_password(
    cli: Cli, home: Path
) -> None:
    address = "https://ada:hunter2@127.0.0.1:9/r.git"
    (home / "c.yaml").write_text(f"sources: [{{id: r, repository: '{address}'}}]\n")
    for command in (["check"], ["sync"], ["status"], ["sync", "--json"], ["verify"]):
        result = cli("--config", "c.yaml", *command)
        assert "hunter2" not in result.out + result.err
    assert cli("--config", "c.yaml", "sync").code == 1


# --- dry runs


def test_a_dry_run_of_a_first_sync_makes_nothing(cli: Cli, home: Path, notes: Path) -> None:
    before = everything(home)
    result = cli("sync", "--dry-run")
    assert result.out.splitlines()[0] == "notes: 3 files to read, 0 to forget"
    assert (result.code, result.err) == (0, "")
    assert everything(home) == before


def test_a_dry_run_tells_what_is_due_and_leaves_it(cli: Cli, home: Path, notes: Path) -> None:
    cli("sync")
    (notes / "a.md").write_text("another text\n")
    (notes / "b.md").unlink()
    before = everything(home)
    for _ in range(2):
        found = cli("sync", "notes", "--dry-run", "--json").json
        assert found["dry_run"] is True
        (tally,) = found["sources"]
        assert (tally["examined"], tally["forgotten"], tally["stored"]) == (1, 1, 0)
    assert everything(home) == before
    assert "notes: 1 stored, 2 forgotten" in cli("sync").out
    assert len(hits(home)) == 3


def test_a_dry_run_sees_that_memory_or_the_ledger_was_lost(
    cli: Cli, home: Path, notes: Path
) -> None:
    cli("sync")
    kept = (home / MEMORY).read_bytes()
    (home / MEMORY).unlink()
    assert "notes: 3 files to read" in cli("sync", "--dry-run").out
    assert not (home / MEMORY).exists()
    (home / MEMORY).write_bytes(kept)
    (home / LEDGER).write_bytes(b"this is no ledger" * 100)
    assert "notes: 3 files to read" in cli("sync", "--dry-run").out
    assert (home / LEDGER).read_bytes().startswith(b"this is no ledger")


def test_a_dry_run_of_a_source_that_is_away_writes_nothing_down(
    cli: Cli, home: Path, notes: Path
) -> None:
    cli("sync")
    notes.rename(home / "away")
    before = everything(home)
    assert cli("sync", "--dry-run", "--json").json["sources"][0]["unavailable"]
    assert everything(home) == before


# --- what is missing, held or refused


def test_a_source_that_is_away_keeps_its_items_and_the_others_go_on(
    cli: Cli, home: Path, notes: Path
) -> None:
    cli("sync")
    notes.rename(home / "away")
    (home / "papers" / "q.md").write_text("new\n")
    result = cli("sync")
    assert result.code == 1
    assert result.err.startswith("notes: unavailable, nothing was forgotten: ")
    assert result.out == "papers: 1 stored, 0 forgotten\n"
    assert len(hits(home)) == 5
    assert cli("status", "--json").json["sources"][0]["state"] == "unavailable"
    (home / "away").rename(notes)
    assert cli("sync").code == 0


def test_deletions_are_accepted_for_a_named_source_only(cli: Cli, home: Path, notes: Path) -> None:
    for number in range(20):
        (notes / f"n{number}.md").write_text(f"note {number}\n")
    cli("sync")
    for number in range(15):
        (notes / f"n{number}.md").unlink()
    held = cli("sync")
    assert held.code == 1
    assert "  held: 15 files are gone" in held.out
    assert "syncd sync --accept-deletions notes" in held.out
    assert len(hits(home)) == 24
    assert "held: 15 files" in cli("sync", "--dry-run").out
    unnamed = cli("sync", "--accept-deletions")
    assert (unnamed.code, "name the source" in unnamed.err) == (2, True)
    assert len(hits(home)) == 24
    assert "15 to forget" in cli("sync", "--accept-deletions", "--dry-run", "notes").out
    assert len(hits(home)) == 24
    assert cli("sync", "--accept-deletions", "notes").code == 0
    assert len(hits(home)) == 9


class Particular(ReferenceEngine):
    """Refuses what is called bad, and everything while it is away."""

    away = False

    def store_many(self, items: Sequence[Item]) -> list[StoreReceipt]:
        if self.away:
            raise Unavailable("no answer from the memory")
        if any("bad" in item.wire() for item in items):
            raise InvalidRequest("this text is not wanted")
        return super().store_many(items)


@pytest.fixture
def particular(monkeypatch: pytest.MonkeyPatch) -> Particular:
    memory = Particular()
    monkeypatch.setattr("syncd.cli.sync.open_engine", lambda config, read_only=False: memory)
    return memory


def test_what_the_engine_refuses_is_named_with_its_reason(
    cli: Cli, notes: Path, particular: Particular
) -> None:
    (notes / "bad\x1b.md").write_text("bad\n")
    result = cli("sync")
    assert result.code == 1
    assert "notes: 3 stored" in result.out
    assert "  not in memory: bad\\x1b.md: this text is not wanted" in result.out.splitlines()
    tally = cli("sync", "--json").json["sources"][0]
    assert tally["set_aside"] == [{"path": "bad\x1b.md", "reason": "this text is not wanted"}]
    assert tally["in_step"] is False


def test_what_cannot_be_read_is_named(
    cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = FolderSource.read

    def read(self: FolderSource, path: str) -> object:
        return Unreadable("permission denied") if path == "a.md" else real(self, path)

    monkeypatch.setattr(FolderSource, "read", read)
    result = cli("sync", "notes")
    assert (result.code, "  not in memory: a.md: permission denied" in result.out) == (1, True)
    entry = cli("status", "--json").json["sources"][0]["set_aside"]
    assert entry == [{"path": "a.md", "reason": "permission denied"}]


def test_an_engine_that_does_not_serve_is_a_sentence_and_exit_code_3(
    cli: Cli, notes: Path, particular: Particular
) -> None:
    particular.away = True
    for options in ([], ["--json"]):
        result = cli("sync", *options)
        assert (result.code, result.out, result.err) == (
            *(3, ""),
            "syncd: no answer from the memory\n",
        )
    particular.away = False
    assert cli("sync").code == 0


def test_a_damaged_ledger_is_kept_aside_and_said(cli: Cli, home: Path, notes: Path) -> None:
    cli("sync")
    (home / LEDGER).write_bytes(b"this is no ledger" * 100)
    result = cli("sync")
    assert result.code == 0
    (aside,) = (home / STATE).glob("ledger.db.damaged-*")
    assert result.err == f"the ledger was damaged: it is kept as {aside}, and a new one is begun\n"
    assert len(hits(home)) == 4


# --- other processes, terminals, interrupts


def test_a_state_that_another_process_holds(cli: Cli, home: Path, notes: Path) -> None:
    with StateLock(home / STATE):
        for arguments in (["sync"], ["sync", "--dry-run"], ["verify", "--repair"], ["run"]):
            done = syncd(*arguments, home=home)
            assert (done.returncode, done.stdout) == (4, b""), arguments
            line = done.stderr.decode()
            assert f"another syncd (process {os.getpid()}) holds the state" in line
            assert len(line.splitlines()) == 1


def test_while_the_daemon_runs_it_is_asked(machine: Machine) -> None:
    machine.put("a.md")
    machine.start()
    machine.settled()
    machine.put("b.md", "brand new words\n")
    done = machine.syncd("sync", "notes", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.memory()["b.md"] == ["brand new words\n"]
    ahead = machine.syncd("sync", "--dry-run")
    assert ahead.stdout == "notes: 0 files to read, 0 to forget\n"
    wrong = machine.syncd("sync", "nots")
    assert (wrong.returncode, "did you mean notes?" in wrong.stderr) == (2, True)


def test_the_daemon_does_not_know_a_source_that_was_added_since(machine: Machine) -> None:
    machine.start()
    machine.configure(
        {"id": "notes", "folder": str(machine.root)}, {"id": "home", "folder": str(machine.run)}
    )
    done = machine.syncd("sync")
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not know home: restart it" in done.stderr


def test_a_second_daemon_is_refused_and_the_first_is_named(machine: Machine) -> None:
    machine.start()
    done = machine.syncd("run")
    assert (done.returncode, done.stdout) == (4, "")
    assert len(done.stderr.splitlines()) == 1
    assert f"process {machine.pid}" in done.stderr
    assert machine.process is not None
    assert machine.process.poll() is None


def test_progress_is_shown_on_a_terminal_and_nowhere_else(tmp_path: Path) -> None:
    configure(tmp_path, "notes")
    for number in range(30):
        (tmp_path / "notes" / f"{number}.md").write_text(f"note {number}\n")
    received = on_terminal("sync", home=tmp_path, columns=60)
    assert "notes: files read 1" in received
    # the line is wiped before the summary is written
    assert received.endswith("  \rnotes: 30 stored, 0 forgotten\r\n")
    (tmp_path / "notes" / "0.md").write_text("another\n")
    assert syncd("sync", home=tmp_path).stderr == b""


def test_an_interrupt_leaves_everything_consistent(tmp_path: Path) -> None:
    configure(tmp_path, "notes")
    for number in range(3000):
        (tmp_path / "notes" / f"{number}.md").write_text(f"note {number}\n")
    child = subprocess.Popen(
        [sys.executable, "-m", "syncd", "sync"],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until(lambda: (tmp_path / MEMORY).exists() and hits(tmp_path), what="a first batch")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, b"", b"")
    assert 0 < len(hits(tmp_path)) < 3000
    assert syncd("status", home=tmp_path).returncode == 0
    assert syncd("sync", home=tmp_path).returncode == 0
    assert len(texts(tmp_path)) == 3000
