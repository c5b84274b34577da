"""The state lock, with real child processes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from syncd.sync.lock import Holder, StateLock, StateLocked, holder

HOLD = """
import sys
from pathlib import Path
from syncd.sync.lock import StateLock, StateLocked
lock = StateLock(Path(sys.argv[1]))
try:
    lock.acquire()
except StateLocked as refused:
    print("refused", refused.pid, refused.since, flush=True)
    sys.exit(4)
print("held", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


@contextmanager
def child(directory: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(directory)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_the_directory_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state"
    with StateLock(state):
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        assert stat.S_IMODE((state / "lock").stat().st_mode) == 0o600


def test_a_second_lock_is_refused_with_the_first_ones_data(tmp_path: Path) -> None:
    before = time.time()
    with StateLock(tmp_path), pytest.raises(StateLocked) as refused:
        StateLock(tmp_path).acquire()
    assert refused.value.pid == os.getpid()
    assert refused.value.since is not None
    assert before - 1 <= refused.value.since <= time.time()
    assert str(os.getpid()) in str(refused.value)


def test_acquiring_twice_through_one_object_is_one_lock(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    lock.acquire()
    lock.acquire()
    assert lock.held
    lock.release()
    lock.release()
    assert not lock.held
    assert holder(tmp_path) is None


def test_another_process_is_refused_and_names_the_holder(tmp_path: Path) -> None:
    with child(tmp_path) as first:
        assert line(first) == "held"
        with child(tmp_path) as second:
            word, pid, since = line(second).split()
            assert (word, int(pid)) == ("refused", first.pid)
            assert abs(float(since) - time.time()) < 600
            assert second.wait() == 4
        assert first.poll() is None


def test_of_many_that_start_at_once_one_wins(tmp_path: Path) -> None:
    with child(tmp_path) as a, child(tmp_path) as b, child(tmp_path) as c:
        words = sorted(line(process).split()[0] for process in (a, b, c))
    assert words == ["held", "refused", "refused"]


def test_holder_tells_who_without_taking(tmp_path: Path) -> None:
    assert holder(tmp_path / "nowhere") is None
    assert not (tmp_path / "nowhere").exists()
    with child(tmp_path) as process:
        assert line(process) == "held"
        seen = holder(tmp_path)
        assert seen is not None
        assert seen.pid == process.pid
        say(process)
        assert line(process) == "released"
        assert holder(tmp_path) is None, "released, though the process lives on"


def test_kill_9_frees_the_lock(tmp_path: Path) -> None:
    with child(tmp_path) as process:
        assert line(process) == "held"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert holder(tmp_path) is None, "a stale file is no lock"
    with StateLock(tmp_path):
        seen = holder(tmp_path)
        assert seen is not None
        assert seen.pid == os.getpid(), "the dead holder's longer or shorter line is overwritten"


def test_a_symbolic_link_is_the_same_state(tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path / "state")
    (tmp_path / "state").mkdir()
    with child(tmp_path / "alias") as process:
        assert line(process) == "held"
        with pytest.raises(StateLocked) as refused:
            StateLock(tmp_path / "state").acquire()
        assert refused.value.pid == process.pid


def test_a_program_started_by_the_holder_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = StateLock(tmp_path)
    lock.acquire()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as outlives:
        lock.release()
        assert holder(tmp_path) is None
        outlives.kill()


def test_a_moment_of_asking_does_not_refuse_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    real, refusals = fcntl.flock, [BlockingIOError(11, "busy")] * 3

    def flock(file: int, mode: int) -> None:
        if refusals:
            raise refusals.pop()
        real(file, mode)

    monkeypatch.setattr(fcntl, "flock", flock)
    with StateLock(tmp_path) as lock:
        assert lock.held


@pytest.mark.parametrize("text", ["", "soon", "12", "12 x", "\xff\xfe"])
def test_a_holder_that_has_not_written_yet_has_no_name(tmp_path: Path, text: str) -> None:
    with StateLock(tmp_path):
        (tmp_path / "lock").write_text(text, encoding="utf-8")
        assert holder(tmp_path) == Holder(None, None)


def test_a_directory_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        StateLock(tmp_path / "file" / "state").acquire()
    assert holder(tmp_path / "file" / "state") is None


def test_a_lock_whose_directory_was_moved_away_is_taken_anew(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with StateLock(state) as lock:
        lock.renew()
        state.rename(tmp_path / "away")
        assert holder(state) is None
        lock.renew()
        assert holder(state) is not None
        assert holder(tmp_path / "away") is None
        with pytest.raises(StateLocked):
            StateLock(state).acquire()


def test_a_lock_that_another_took_meanwhile_is_lost(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with StateLock(state) as lock:
        (state / "lock").unlink()
        with StateLock(state):
            with pytest.raises(StateLocked):
                lock.renew()
            assert not lock.held
        lock.renew()
        assert lock.held
