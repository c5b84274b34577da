"""The main thread's sleep ends whenever a signal comes, at whatever instant."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from syncd.daemon.alarm import Alarm


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    with Alarm() as alarm:
        before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
        yield alarm
        signal.signal(signal.SIGUSR1, before)


def test_a_thread_wakes_it(alarm: Alarm) -> None:
    threading.Timer(0.05, alarm.set).start()
    assert alarm.wait()
    assert alarm.is_set()
    assert alarm.wait()  # for ever after


def test_time_that_passes_wakes_it(alarm: Alarm) -> None:
    assert not alarm.wait(0.01)
    assert not alarm.is_set()


def test_no_signal_is_slept_through(alarm: Alarm) -> None:
    rounds = 2000
    begun = threading.Semaphore(0)

    def send() -> None:
        for _ in range(rounds):
            begun.acquire()
            os.kill(os.getpid(), signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    for _ in range(rounds):
        begun.release()
        # Without a bound: a signal that came too early would be waited for until the test is ended.
        alarm.wait()
    sender.join()


def test_a_handler_may_set_it_at_any_instant(alarm: Alarm) -> None:
    signal.signal(signal.SIGUSR1, lambda number, frame: alarm.set())
    threading.Timer(0.02, os.kill, [os.getpid(), signal.SIGUSR1]).start()
    while not alarm.is_set():
        alarm.wait(0.0)
    assert alarm.wait()


def test_setting_it_very_often_blocks_nobody(alarm: Alarm) -> None:
    for _ in range(100_000):
        alarm.set()
    assert alarm.wait()


def test_it_leaves_nothing_behind() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with Alarm():
        pass
    assert set(os.listdir("/proc/self/fd")) == before
    assert signal.set_wakeup_fd(-1) == -1
