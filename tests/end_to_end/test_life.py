"""Starting, asking, stopping and being killed: what a user and systemd see of the daemon."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.harness import Machine
from tests.waiting import until

KILLS = int(os.environ.get("SYNCD_TEST_KILLS", "4"))
STUCK = Path(__file__).with_name("stuck.py")


def _stuck_at(machine: Machine, batch: int) -> Path:
    """Let the daemon's n-th batch wait; the file that lets it go on."""
    go_on = machine.top / "go-on"
    program = [sys.executable, "-W", "error", os.fspath(STUCK), str(batch), os.fspath(go_on)]
    machine.command = lambda *arguments: (  # type: ignore[method-assign]
        [*program, *arguments]
        if arguments[-1] == "run"
        else [sys.executable, "-m", "syncd", *arguments]
    )
    return go_on


def _until_stuck(machine: Machine) -> None:
    until(lambda: (machine.top / "go-on.waiting").exists(), what="the batch to be under way")


# -- the end ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_daemon_ends_when_told(machine: Machine, number: signal.Signals) -> None:
    machine.put_many(3)
    machine.start()
    machine.assert_equal_to_disk()
    children = subprocess.run(
        ["pgrep", "-P", str(machine.pid)], capture_output=True, text=True, check=False
    )
    assert children.stdout == ""
    assert machine.stop(number) == 0
    assert machine.heard("STOPPING=1")
    assert machine.lines()[-1].endswith("stopped")
    assert {path.name for path in machine.run.iterdir()} == {"notify"}
    assert not machine.said("Traceback")


def test_a_daemon_is_ended_in_the_middle_of_its_work(machine: Machine) -> None:
    machine.put_many(250)
    go_on = _stuck_at(machine, 2)
    machine.start()
    _until_stuck(machine)
    # the second batch is sent and not answered; told to end, the daemon waits for it a while
    assert machine.process is not None
    machine.process.send_signal(signal.SIGTERM)
    until(lambda: machine.heard("STOPPING=1"))
    go_on.touch()
    assert machine.process.wait(20) == 0
    assert len(machine.hits()) == 200
    (machine.root / "n1.md").unlink()
    machine.put("n2.md", "changed\n")
    machine.put("n251.md")
    machine.start()
    machine.assert_equal_to_disk()
    assert len(machine.ids()) == 250


def test_an_engine_that_does_not_answer_cannot_keep_the_daemon(machine: Machine) -> None:
    machine.put_many(250)
    go_on = _stuck_at(machine, 2)
    machine.start()
    _until_stuck(machine)
    assert machine.stop() == 0
    assert "abandoned" in machine.lines()[-1]
    go_on.touch()
    machine.start()
    machine.assert_equal_to_disk()
    assert len(machine.ids()) == 250


def test_who_asks_twice_does_not_wait(machine: Machine) -> None:
    machine.put_many(250)
    go_on = _stuck_at(machine, 1)
    machine.start()
    _until_stuck(machine)
    assert machine.process is not None
    machine.process.send_signal(signal.SIGTERM)
    until(lambda: machine.heard("STOPPING=1"))
    assert machine.stop(signal.SIGTERM) == 0
    assert not machine.said("abandoned")
    go_on.touch()
    machine.start()
    machine.assert_equal_to_disk()


def test_killed_at_any_moment_nothing_is_lost_or_doubled(machine: Machine) -> None:
    chance = random.Random(57)
    machine.put_many(1200)
    for round in range(KILLS):
        machine.process = machine.spawn()
        wanted = chance.randrange(1, 1200)
        until(lambda wanted=wanted: len(machine.hits()) >= min(wanted, 1000))  # type: ignore[misc]
        machine.stop(chance.choice([signal.SIGKILL, signal.SIGTERM]))
        for number in chance.sample(range(1, 1201), 40):
            machine.put(f"n{number}.md", f"note {number} of round {round}\n")
        (machine.root / f"n{2 + round}.md").unlink()
    machine.start()
    machine.assert_equal_to_disk(60)
    machine.settled()
    machine.assert_equal_to_disk()
    assert len(machine.ids()) == len(machine.disk())


# -- one for each state -------------------------------------------------------------------------


def test_a_second_daemon_is_refused_and_the_first_not_disturbed(machine: Machine) -> None:
    machine.put("a.md")
    machine.start()
    machine.assert_equal_to_disk()
    alias = machine.top / "alias"
    alias.symlink_to(machine.state)
    other = machine.top / "other.yaml"
    other.write_text(
        json.dumps({"state": str(alias), "sources": [{"id": "notes", "folder": str(machine.root)}]})
    )
    for options in ((), ("--config", str(other))):
        done = machine.syncd(*options, "run")
        assert done.returncode == 4
        assert f"process {machine.pid}" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    machine.put("b.md")
    machine.assert_equal_to_disk()
    machine.kill()
    machine.start()
    machine.put("c.md")
    machine.assert_equal_to_disk()
    assert len(machine.said("1 stored")) == 3


# -- who asks -----------------------------------------------------------------------------------


def test_sync_asks_the_daemon_and_waits_for_a_scan_that_began_later(machine: Machine) -> None:
    machine.put_many(250)
    go_on = _stuck_at(machine, 1)
    machine.start()
    _until_stuck(machine)
    machine.put("saved-before.md")
    asked = subprocess.Popen(
        machine.command("sync", "--json"),
        env=machine.environment,
        cwd=machine.home,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert asked.poll() is None
    go_on.touch()
    reply = json.loads(asked.communicate(timeout=60)[0])
    assert asked.returncode == 0
    assert reply["sources"][0]["in_step"]
    assert machine.memory() == machine.disk()
    dry = machine.syncd("sync", "--dry-run", "--json")
    assert dry.returncode == 0
    assert json.loads(dry.stdout)["sources"][0]["stored"] == 0


def test_a_hold_is_lifted_through_the_daemon(machine: Machine) -> None:
    machine.put_many(40)
    machine.start()
    machine.assert_equal_to_disk()
    machine.stop()
    for number in range(1, 31):
        (machine.root / f"n{number}.md").unlink()
    machine.start()
    until(lambda: machine.status()["state"] == "held")
    assert len(machine.memory()) == 40
    assert machine.syncd("sync").returncode == 1
    done = machine.syncd("sync", "--accept-deletions", "notes")
    assert done.returncode == 0, done.stderr
    assert "30 forgotten" in done.stdout
    machine.assert_equal_to_disk()
    assert machine.status()["state"] == "idle"


def test_a_daemon_without_a_session_is_asked_as_well(machine: Machine) -> None:
    del machine.environment["XDG_RUNTIME_DIR"]
    machine.put("a.md")
    machine.start()
    machine.put("b.md")
    assert machine.syncd("sync").returncode == 0
    assert machine.memory() == machine.disk()


def test_a_source_that_the_daemon_does_not_know_is_named(machine: Machine) -> None:
    machine.start()
    folder = {"folder": str(machine.root)}
    other = machine.top / "new"
    other.mkdir()
    machine.configure({"id": "notes", **folder}, {"id": "new", "folder": str(other)})
    done = machine.syncd("sync", "new")
    assert done.returncode == 1
    assert "does not know new" in done.stderr


def test_who_waits_when_the_daemon_ends_is_told(machine: Machine) -> None:
    machine.put_many(150)
    _stuck_at(machine, 1)
    machine.start()
    _until_stuck(machine)
    asked = subprocess.Popen(
        machine.command("sync"), env=machine.environment, stderr=subprocess.PIPE, text=True
    )
    # it waits: its connection is one more descriptor of the daemon's
    descriptors = Path(f"/proc/{machine.pid}/fd")
    until(lambda: sum("socket" in os.readlink(fd) for fd in descriptors.iterdir()) >= 2)
    machine.stop()
    _, said = asked.communicate(timeout=60)
    assert asked.returncode in (1, 4)
    assert said
    assert "Traceback" not in said


# -- quiet --------------------------------------------------------------------------------------


def test_an_engine_that_is_down_is_told_once(machine: Machine) -> None:
    blocked = machine.memory_file
    blocked.mkdir(parents=True)
    machine.put_many(300)
    machine.start()
    until(lambda: machine.said("the engine does not serve"))
    for number in range(1, 51):
        machine.put(f"n{number}.md", f"SECRETTEXT {number}\n")
    (machine.root / "evil\n<3>2020-01-01 CRITICAL fake line\x1b[31m.md").write_text("SECRETTEXT\n")
    until(lambda: machine.syncd("status").returncode == 3)
    assert len(machine.said("WARNING")) == 1
    blocked.rmdir()
    until(lambda: machine.said("serves again"), 60)
    machine.assert_equal_to_disk(60)
    assert len(machine.lines()) < 12
    assert not machine.said("SECRETTEXT")
    assert not [line for line in machine.lines() if not line.startswith("20")]
    assert not [line for line in machine.lines() if "CRITICAL" in line[:40]]


def test_a_name_cannot_forge_a_line(machine: Machine) -> None:
    machine.start("-v")
    evil = machine.root / "evil\n<3>CRITICAL fake\x1b[31m.md"
    evil.write_text("SECRETTEXT\n")
    until(lambda: len(machine.hits()) == 1)
    evil.write_bytes(b"\0binary")
    until(lambda: len(machine.hits()) == 0)
    machine.settled()
    assert not [line for line in machine.lines() if not line.startswith("20")]
    assert not machine.said("SECRETTEXT")


def _work(pid: int) -> tuple[int, int]:
    """Clock ticks that a process used, and how often its threads let others run by themselves."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    switches = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                switches += int(line.split()[1])
    return int(fields[11]) + int(fields[12]), switches


def test_an_idle_daemon_does_nothing(machine: Machine) -> None:
    machine.put_many(50)
    machine.start()
    machine.assert_equal_to_disk()
    machine.settled()
    lines = machine.lines()
    rounds = iter(range(100))
    until(lambda: next(rounds) >= 25)
    before = _work(machine.pid)
    rounds = iter(range(200))
    until(lambda: next(rounds) >= 100)  # some hundred looks of another clock
    ticks, switches = (b - a for a, b in zip(before, _work(machine.pid), strict=True))
    assert ticks <= 2
    assert switches < 25
    assert machine.lines() == lines


# -- from saving to finding ---------------------------------------------------------------------


def _found(machine: Machine, word: str) -> bool:
    return any(word in hit.text for hit in machine.hits())


def test_what_is_saved_is_found_and_what_is_replaced_is_not(machine: Machine) -> None:
    machine.start()
    note = machine.put("note.md", "aardvark\n")
    until(lambda: _found(machine, "aardvark"))
    note.write_text("bumblebee\n")
    until(lambda: _found(machine, "bumblebee") and not _found(machine, "aardvark"))
    machine.put("note.tmp", "caterpillar\n").rename(note)
    until(lambda: _found(machine, "caterpillar") and not _found(machine, "bumblebee"))
    with note.open("a") as handle:
        handle.write("dragonfly\n")
        handle.flush()
        until(lambda: _found(machine, "dragonfly"))
        handle.write("earwig\n")
        handle.flush()
        until(lambda: _found(machine, "earwig"))
    assert "note.md" in machine.syncd("search", "earwig").stdout
    assert "note.md" not in machine.syncd("search", "aardvark").stdout
    note.unlink()
    until(lambda: not machine.hits())


Save = Callable[[Path, str], object]


def _latency(machine: Machine, save: Save, path: Path, word: str) -> float:
    pause = threading.Event()
    began = time.perf_counter()
    save(path, word)
    while not _found(machine, word):
        pause.wait(0.002)
    return time.perf_counter() - began


@pytest.mark.skipif("SYNCD_TEST_LATENCY" not in os.environ, reason="prints times; judges none")
def test_how_long_it_takes_from_saving_to_finding(machine: Machine) -> None:
    machine.put_many(200)
    machine.start()
    machine.assert_equal_to_disk()
    notes = [machine.put(f"latency{number}.md", "-\n") for number in range(50)]
    machine.assert_equal_to_disk()

    def over(path: Path, word: str) -> None:
        machine.put(".tmp", word).rename(path)

    ways: dict[str, Save] = {"in place": Path.write_text, "renamed over": over}
    for name, save in ways.items():
        words = [(path, f"{name} {number}.") for number, path in enumerate(notes)]
        times = sorted(_latency(machine, save, path, word) for path, word in words)
        print(f"{name}: median {times[25] * 1000:.0f} ms, worst {times[-1] * 1000:.0f} ms")
