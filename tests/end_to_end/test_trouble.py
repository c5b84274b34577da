"""Disks that go, rights that are taken, limits that are reached, books that are lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.harness import Machine, on_disk
from tests.waiting import until

# Root reads everything; without these two capabilities it is refused like anybody else.
ORDINARY = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def _works(*command: str) -> bool:
    try:
        return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def ordinary(machine: Machine) -> Machine:
    """A machine whose daemon may do no more than an ordinary user."""
    if os.geteuid() == 0:
        if not _works(*ORDINARY):
            pytest.skip("root cannot give up its capabilities here (no setpriv)")
        machine.prefix = ORDINARY
    return machine


def _limited(machine: Machine, name: str, value: int) -> None:
    if not _works("unshare", "-r"):
        pytest.skip("user namespaces are not permitted here")
    set_limit = f'echo {value} > /proc/sys/user/{name} && exec "$@"'
    machine.prefix = ["unshare", "-r", "bash", "-c", set_limit, "bash"]
    folder = {"id": "notes", "folder": str(machine.root), "rescan": "1s"}
    machine.configure(folder)


@pytest.mark.parametrize(
    ("name", "value"), [("max_inotify_watches", 6), ("max_inotify_instances", 0)]
)
def test_what_cannot_be_watched_is_scanned_by_the_clock(
    machine: Machine, name: str, value: int
) -> None:
    _limited(machine, name, value)
    for number in range(1, 13):
        machine.put(f"d{number}/a.md")
    machine.start()
    machine.assert_equal_to_disk()
    for number in range(1, 13):
        with (machine.root / f"d{number}/a.md").open("a") as file:
            file.write("more\n")
    machine.put("d13/new.md")
    machine.assert_equal_to_disk()
    machine.prefix = []
    status = until(lambda: (s := machine.status())["state"] == "polling" and s)
    assert f"fs.inotify.{name.replace('inotify', 'user')}" in status["reason"]
    assert len(machine.said("WARNING")) <= 2
    machine.put("d14/later.md")
    machine.assert_equal_to_disk()


def test_a_root_that_is_unmounted_forgets_nothing(machine: Machine) -> None:
    for number in range(1, 41):
        machine.put(f"d{number % 4}/n{number}.md", f"note {number}\n")
    machine.start()
    machine.assert_equal_to_disk()
    machine.settled()
    before, all_texts = machine.ids(), machine.memory()
    away = machine.top / "away"
    machine.root.rename(away)
    status = until(lambda: (s := machine.status())["state"] == "unavailable" and s)
    assert "does not exist" in status["reason"]
    machine.root.mkdir()
    until(lambda: "another directory" in machine.status().get("reason", ""))
    assert machine.stop() == 0
    machine.start()
    until(lambda: "another directory" in machine.status().get("reason", ""))
    assert machine.memory() == all_texts
    machine.root.rmdir()
    away.rename(machine.root)
    machine.put("d0/n4.md", "note 4 edited\n")
    (machine.root / "d1/n1.md").unlink()
    machine.assert_equal_to_disk(90)
    after = machine.ids()
    changed = {str(machine.root / path) for path in ("d0/n4.md", "d1/n1.md")}
    assert {p: i for p, i in after.items() if p not in changed} == {
        p: i for p, i in before.items() if p not in changed
    }
    assert machine.said("notes: 1 stored, 2 forgotten") or machine.said("1 stored")


@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_root_that_cannot_be_read_forgets_nothing(ordinary: Machine, mode: int) -> None:
    machine = ordinary
    machine.put_many(25)
    machine.start()
    machine.assert_equal_to_disk()
    machine.settled()
    before = machine.ids()
    machine.root.chmod(mode)
    try:
        assert "permission denied" in machine.settled()["unavailable"]
        status = until(lambda: (s := machine.status())["state"] == "unavailable" and s)
    finally:
        machine.root.chmod(0o755)
    assert "permission denied" in status["reason"]
    assert machine.ids() == before
    (machine.root / "n1.md").unlink()
    machine.assert_equal_to_disk(90)
    del before[str(machine.root / "n1.md")]
    assert machine.ids() == before


def test_permissions_taken_below_the_root_and_given_back(ordinary: Machine) -> None:
    machine = ordinary
    for path in ("open.md", "dir/a.md", "dir/b.md", "file.md"):
        machine.put(path)
    machine.start()
    machine.assert_equal_to_disk()
    before = machine.ids()
    (machine.root / "dir").chmod(0)
    (machine.root / "file.md").chmod(0)
    machine.put("more.md")
    until(lambda: "more.md" in machine.memory())
    machine.settled()
    assert before.items() <= machine.ids().items()
    (machine.root / "dir").chmod(0o755)
    (machine.root / "file.md").chmod(0o644)
    machine.put("dir/c.md")
    (machine.root / "dir/a.md").unlink()
    machine.assert_equal_to_disk()
    until(lambda: machine.status()["state"] == "idle")


def test_one_source_that_is_away_does_not_stop_another(machine: Machine) -> None:
    other = machine.top / "other"
    other.mkdir()
    machine.configure(
        {"id": "notes", "folder": str(machine.root)}, {"id": "other", "folder": str(other)}
    )
    machine.put_many(15)
    machine.root.rename(machine.top / "away")
    machine.start()
    (other / "x.md").write_text("x\n")
    until(lambda: machine.memory(other) == on_disk(other))
    assert machine.status()["state"] == "unavailable"
    assert machine.status("other")["state"] == "idle"
    (machine.top / "away").rename(machine.root)
    machine.assert_equal_to_disk(60)


# -- events that are lost -----------------------------------------------------------------------


def test_a_queue_that_overflows_costs_a_scan_and_no_file(machine: Machine) -> None:
    # Each file gives three events at least, which the daemon cannot take while it is stopped.
    files = int(os.environ.get("SYNCD_TEST_OVERFLOW", "0")) or _queue_length() // 3 + 500
    if files > 50_000:
        pytest.skip("the queue of this machine is too long to be filled in a test")
    for number in range(50):
        machine.put(f"d{number}/before.md")
    machine.start()
    machine.assert_equal_to_disk()
    os.kill(machine.pid, signal.SIGSTOP)
    try:
        for number in range(files):
            machine.put(f"d{number % 50}/f{number}.md", f"one {number}\n")
        (machine.root / "d0/before.md").unlink()
    finally:
        os.kill(machine.pid, signal.SIGCONT)
    machine.assert_equal_to_disk(240)
    machine.put("d7/after.md")
    machine.assert_equal_to_disk()


def _queue_length() -> int:
    return int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())


# -- books --------------------------------------------------------------------------------------


def _zap(state: Path) -> None:
    for file in state.glob("*.db"):
        with file.open("r+b") as handle:
            handle.seek(4096)
            handle.write(random.Random(1).randbytes(8192))


def _empty(state: Path) -> None:
    for file in state.glob("*.db"):
        file.write_bytes(b"")


def _gone(state: Path) -> None:
    state.rename(f"{state}.old")


@pytest.mark.parametrize("damage", [_zap, _empty, _gone])
def test_a_ledger_damaged_while_stopped_costs_no_file(
    machine: Machine, damage: Callable[[Path], None]
) -> None:
    machine.put_many(60)
    machine.start()
    machine.assert_equal_to_disk()
    before = machine.ids()
    assert machine.stop() == 0
    damage(machine.state)
    (machine.root / "n2.md").unlink()
    machine.start()
    machine.put("late.md")
    (machine.root / "n1.md").unlink()
    machine.assert_equal_to_disk()
    machine.settled()
    assert {p: i for p, i in machine.ids().items() if p in before} == {
        p: i for p, i in before.items() if not p.endswith(("/n1.md", "/n2.md"))
    }
    assert not machine.said("Traceback")


@pytest.mark.parametrize("damage", [_zap, _gone])
def test_a_ledger_damaged_while_running_costs_no_file(
    machine: Machine, damage: Callable[[Path], None]
) -> None:
    machine.put_many(60)
    machine.start()
    machine.assert_equal_to_disk()
    before = machine.ids()
    damage(machine.state)
    machine.put("late.md")
    machine.assert_equal_to_disk(60)
    (machine.root / "n1.md").unlink()
    machine.assert_equal_to_disk(60)
    assert machine.process is not None
    assert machine.process.poll() is None
    del before[str(machine.root / "n1.md")]
    assert before.items() <= machine.ids().items()
    assert not machine.said("Traceback")
    assert machine.stop() == 0
    machine.start()
    machine.settled()
    machine.assert_equal_to_disk()


def test_a_memory_file_deleted_while_running_is_filled_again(machine: Machine) -> None:
    machine.put_many(30)
    machine.start()
    machine.assert_equal_to_disk()
    for file in machine.memory_file.parent.glob("memory.db*"):
        file.unlink()
    machine.settled()
    assert machine.memory() == machine.disk()
    machine.put("late.md")
    machine.assert_equal_to_disk()


def test_a_disk_full_of_something_else_is_waited_for(machine: Machine) -> None:
    if not _works("unshare", "-rm"):
        pytest.skip("mount namespaces are not permitted here")
    machine.state.mkdir(parents=True)
    mount = f'mount -t tmpfs -o size=1m tmpfs {machine.state} && exec "$@"'
    machine.prefix = ["unshare", "-rm", "bash", "-c", mount, "bash"]
    machine.put_many(60)
    machine.start()
    machine.assert_equal_to_disk()
    before = machine.ids()
    state = Path(f"/proc/{machine.pid}/root{machine.state}")
    fill = state / "fill"
    with fill.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    for number in range(300):
        machine.put(f"late/{number}.md")
    until(lambda: machine.said("WARNING", "full"))
    (machine.root / "n1.md").unlink()
    assert machine.process is not None
    assert machine.process.poll() is None
    fill.unlink()
    machine.assert_equal_to_disk(90)
    del before[str(machine.root / "n1.md")]
    assert before.items() <= machine.ids().items()
    assert len(machine.said("WARNING")) < 10
    assert machine.stop() == 0


def test_a_state_that_cannot_be_written_is_named_at_the_start(ordinary: Machine) -> None:
    machine = ordinary
    machine.put_many(5)
    machine.start()
    machine.assert_equal_to_disk()
    before = machine.ids()
    machine.stop()
    files = [machine.state, *machine.state.iterdir()]
    for path in files:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        assert machine.spawn().wait(30) != 0
    finally:
        for path in files:
            path.chmod(path.stat().st_mode | 0o200)
    assert "permission" in machine.lines()[-1].lower()
    assert not machine.said("Traceback")
    machine.start()
    machine.put("late.md")
    machine.assert_equal_to_disk()
    assert before.items() <= machine.ids().items()


def test_folders_may_be_deleted_and_made_again(machine: Machine) -> None:
    machine.put_many(12, "d/n")
    machine.start()
    machine.assert_equal_to_disk()
    shutil.rmtree(machine.root / "d")
    machine.put_many(3, "d/m")
    machine.assert_equal_to_disk()
