"""`syncd status`: contract 6, and nothing that is not so."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from syncd.cli import status
from syncd.memory.reference import ReferenceEngine
from syncd.sync.ledger import Ledger
from tests.cli.conftest import Cli
from tests.cli.running import syncd
from tests.cli.scene import MEMORY, STATE, configure, everything
from tests.cli.test_command_line import on_terminal
from tests.end_to_end.harness import Machine
from tests.waiting import until

STATES = {"idle", "scanning", "syncing", "polling", "paused", "unavailable", "held", "failing"}
ALWAYS = {"id", "kind", "state", "files", "items", "pending", "set_aside", "skipped"}
SOMETIMES = {"reason", "last_pass", "last_change"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def notes(home: Path) -> Path:
    configure(home, "notes", "papers")
    (home / "notes" / "a.md").write_text("some text\n")
    (home / "notes" / ".env").write_text("KEY=1\n")
    return home / "notes"


def note(home: Path, source: str, **fields: object) -> None:
    """Write into a source's record what a daemon would."""
    ledger = Ledger.open(home / STATE)
    ledger.note(source, **fields)
    ledger.close()


def test_before_the_first_sync(cli: Cli, home: Path, notes: Path) -> None:
    before = everything(home)
    result = cli("status", "--json")
    assert (result.code, result.err) == (0, "")
    nothing = {"files": 0, "items": 0, "pending": 0, "set_aside": [], "skipped": {}}
    assert result.json == {
        "daemon": {"running": False},
        "engine": {"id": "local", "health": {"state": "ok"}},
        "sources": [
            {"id": id, "kind": "folder", "state": "idle", "reason": "never synced", **nothing}
            for id in ("notes", "papers")
        ],
    }
    assert "notes: never synced" in cli("status").out.splitlines()
    assert everything(home) == before


def test_json_is_the_contract_s(cli: Cli, notes: Path) -> None:
    cli("sync")
    found = cli("status", "--json").json
    assert list(found) == ["daemon", "engine", "sources"]
    first, second = found["sources"]
    assert set(first) == ALWAYS | {"last_pass", "last_change"}
    assert set(second) == ALWAYS | {"last_pass"}
    assert (first["id"], first["kind"], first["state"]) == ("notes", "folder", "idle")
    assert (first["files"], first["items"], first["pending"]) == (1, 1, 0)
    assert first["skipped"] == {"secrets": 1}
    for name in ("last_pass", "last_change"):
        assert TIME.fullmatch(first[name])
        at = datetime.fromisoformat(first[name])
        assert 0 <= (datetime.now(UTC) - at).total_seconds() < 600


def test_the_text_tells_the_same(cli: Cli, notes: Path) -> None:
    cli("sync")
    lines = cli("status").out.splitlines()
    assert lines[:2] == ["daemon: not running", "engine: local, ok"]
    head, row = lines[2].split(), lines[3].split()
    assert head[:5] == ["SOURCE", "STATE", "FILES", "PENDING", "SKIPPED"]
    assert row[:5] == ["notes", "idle", "1", "0", "1"]
    assert "notes: left out: 1 secrets" in lines


def test_a_source_that_is_not_as_it_should_be_is_exit_code_1(
    cli: Cli, home: Path, notes: Path
) -> None:
    cli("sync")
    for state in sorted(STATES):
        note(home, "notes", state=state, reason="for\x1b a reason")
        result = cli("status")
        under_way = state in ("idle", "scanning", "syncing", "polling")
        assert result.code == (0 if under_way else 1), state
        assert "\x1b" not in result.out
        if not under_way:
            assert f"notes: {state}: for\\x1b a reason" in result.out
        source = cli("status", "--json").json["sources"][0]
        assert source["state"] in STATES
        assert set(source) <= ALWAYS | SOMETIMES


@pytest.mark.parametrize("state", ["scanning", "syncing", "polling"])
def test_what_only_a_daemon_does_is_not_said_without_one(
    cli: Cli, home: Path, notes: Path, state: str
) -> None:
    cli("sync")
    note(home, "notes", state=state, reason="changes cannot be watched")
    source = cli("status", "--json").json["sources"][0]
    assert source["state"] == "idle"
    assert "reason" not in source


def test_an_engine_that_is_down_is_exit_code_3_and_says_why(
    cli: Cli, home: Path, notes: Path
) -> None:
    cli("sync")
    (home / MEMORY).write_bytes(b"this is no memory " * 300)
    result = cli("status")
    assert result.code == 3
    assert "engine: local, down" in result.out
    assert str(home / MEMORY) in result.err
    health = cli("status", "--json").json["engine"]["health"]
    assert (health["state"], "damaged" in health["reason"]) == ("down", True)


def test_items_of_a_source_that_is_no_longer_named(cli: Cli, home: Path, notes: Path) -> None:
    cli("sync")
    configure(home, "papers")
    assert cli("status", "--json").json["orphaned"] == ["notes"]
    result = cli("status")
    assert result.code == 0
    assert "source notes is not in the configuration any more" in result.err
    assert "syncd forget --source notes" in result.err
    cli("forget", "--source", "notes", "--yes")
    assert "orphaned" not in cli("status", "--json").json
    assert cli("status").err == ""


def test_a_repository_is_listed_as_one(cli: Cli, home: Path) -> None:
    (home / "c.yaml").write_text("sources: [{id: r, repository: https://example.com/r.git}]\n")
    (source,) = cli("--config", "c.yaml", "status", "--json").json["sources"]
    assert (source["id"], source["kind"]) == ("r", "repository")


def test_no_source_at_all(cli: Cli, home: Path) -> None:
    configure(home)
    result = cli("status")
    assert (result.code, "nothing is watched" in result.err) == (0, True)
    assert cli("status", "--json").json["sources"] == []


def test_it_fits_a_narrow_terminal(tmp_path: Path) -> None:
    name = "a-rather-long-name-of-a-source"
    configure(tmp_path, name)
    assert syncd("sync", home=tmp_path).returncode == 0
    lines = on_terminal("status", home=tmp_path, columns=60).splitlines()
    assert len(lines) == 4
    assert all(len(line) <= 60 for line in lines)
    assert lines[3].split()[1] == "idle"


def test_the_engine_is_not_asked_for_more_than_its_health(
    cli: Cli, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def opening(config: object, read_only: bool = False) -> ReferenceEngine:
        asked.append(read_only)
        return ReferenceEngine()

    cli("sync")
    monkeypatch.setattr("syncd.cli.check.open_engine", opening)
    monkeypatch.setattr(status, "open_engine", opening)
    cli("status")
    assert asked == [True]


# --- a real daemon


def test_a_daemon_that_runs_and_one_that_ended(machine: Machine) -> None:
    machine.put("a.md")
    started = datetime.now(UTC)
    machine.start()
    machine.settled()
    found = syncd_status(machine)
    assert found["daemon"]["running"] is True
    assert found["daemon"]["pid"] == machine.pid
    since = datetime.fromisoformat(found["daemon"]["since"])
    assert -2 < (since - started).total_seconds() < 60
    assert TIME.fullmatch(found["daemon"]["since"])
    assert machine.status()["files"] == 1
    text = machine.syncd("status").stdout
    assert text.startswith(f"daemon: running, process {machine.pid}, since 2")
    assert machine.stop() == 0
    assert syncd_status(machine)["daemon"] == {"running": False}


def test_a_daemon_that_was_killed_leaves_no_lie(machine: Machine) -> None:
    machine.put_many(600)
    machine.start()
    until(lambda: len(machine.hits()) > 0, what="a first batch")
    machine.kill()
    found = syncd_status(machine)
    assert found["daemon"] == {"running": False}
    (source,) = found["sources"]
    assert source["state"] == "idle"
    assert source["files"] <= len(machine.hits()) <= 600
    assert machine.syncd("sync").returncode == 0
    assert machine.status()["files"] == 600
    assert machine.status()["pending"] == 0


def syncd_status(machine: Machine) -> Any:
    done = machine.syncd("status", "--json")
    assert done.stderr == ""
    return json.loads(done.stdout)
