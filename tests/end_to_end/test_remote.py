"""The daemon on a memory that is far away: few requests, and nothing lost or written twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cortex.double import Double, Fault, Recorded
from tests.end_to_end.remote import Remote, routes
from tests.waiting import until

Make = Callable[..., Remote]


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Make]:
    """Makes a machine on a double; both end with the test."""
    made: list[Remote] = []

    def make(
        wire: str = "direct", pace: dict[str, float] | None = None, **double: object
    ) -> Remote:
        server = Double(wire, **double)  # type: ignore[arg-type]
        server.__enter__()
        server.service.rate_limit = None
        made.append(Remote(tmp_path, server, **(pace or {})))
        return made[-1]

    yield make
    for machine in made:
        machine.close()
        machine.double.__exit__(None, None, None)


@pytest.mark.parametrize("wire", ["direct", "hosted"])
def test_what_a_life_costs(remote: Make, wire: str) -> None:
    machine = remote(wire)
    machine.put_many(200)
    for number in range(60):
        machine.put(f"old/{number}.md", f"old {number}\n")
    with machine.asking() as first:
        machine.start()
        machine.quiet()
    machine.assert_true()
    assert machine.written() == 260
    print(wire, "first pass", routes(first))
    assert routes(first)["append"] == 260
    assert len(first) <= 260 + 40

    with machine.asking() as rescan:
        machine.settled()
    assert routes(rescan) == {}

    with machine.asking() as edit:
        machine.put("n7.md", "seven, edited\n")
        machine.assert_equal_to_disk()
        machine.quiet()
    print(wire, "edit", routes(edit))
    assert len(edit) <= 8

    with machine.asking() as removal:
        (machine.root / "n8.md").unlink()
        machine.assert_equal_to_disk()
        machine.quiet()
    print(wire, "removal", routes(removal))
    assert len(removal) <= 3

    with machine.asking() as directory:
        shutil.rmtree(machine.root / "old")
        machine.assert_equal_to_disk()
        machine.quiet()
    print(wire, "directory", routes(directory))
    assert len(directory) <= 8
    assert machine.stop() == 0

    with machine.asking() as again:
        machine.start()
        machine.quiet()
    print(wire, "start", routes(again))
    assert "append" not in routes(again)
    assert len(again) <= 14
    machine.assert_true()
    machine.assert_secret()


def test_the_hosted_pace_and_an_estimate_of_the_time_left(remote: Make) -> None:
    machine = remote("hosted")
    machine.environment["HASTY_BUCKET"] = '{"burst": 10, "rate": 25}'
    machine.put_many(90)
    machine.start()
    seen: dict[str, Any] = {}
    until(lambda: seen.update(machine.status()) or "estimate" in seen, what="an estimate")
    assert seen["state"] == "syncing"
    assert 0 < seen["pending"] <= 90
    assert 1 <= seen["estimate"] <= 60
    told = machine.syncd("status").stdout
    assert "files to go, about" in told
    machine.assert_equal_to_disk()
    machine.quiet()
    after = machine.status()
    assert (after["state"], after["pending"], "estimate" in after) == ("idle", 0, False)
    times = [r.when for r in machine.double.requests if r.route != "health"]
    for start in range(0, len(times), 7):
        for end in range(start, len(times)):
            assert end - start + 1 <= 10 + 25 * (times[end] - times[start]) + 2


def test_a_refused_key_stops_sending_until_there_is_another(remote: Make) -> None:
    machine = remote("direct", {"refused": 60.0, "engine": 60.0})
    machine.put_many(3)
    machine.start()
    machine.assert_equal_to_disk()
    machine.quiet()
    machine.double.token = "canary-another-token"
    with machine.asking() as refused:
        for number in range(4, 9):
            machine.put(f"n{number}.md")
        (machine.root / "n1.md").unlink()
        status = until(lambda: (s := machine.status())["state"] == "failing" and s)
        until(lambda: machine.status()["pending"] >= 1)
    assert "engines.cortexdb.key" in status["reason"]
    assert len(refused) <= 3
    assert len(machine.said("the engine does not serve")) == 1
    shown = machine.syncd("status")
    assert shown.returncode == 3
    assert "failing" in shown.stdout
    machine.assert_secret("canary-another-token")
    with machine.asking() as idle:
        machine.put("n9.md")
        (machine.root / "n2.md").unlink()
    assert len(idle) == 0
    machine.write_key("canary-another-token")
    machine.assert_true()
    assert machine.said("the engine serves again")
    assert machine.written() == 3 + 6
    machine.assert_secret("canary-another-token")


def test_a_hangup_ends_a_pause(remote: Make) -> None:
    machine = remote("direct", {"first": 60.0, "engine": 60.0})
    machine.double.fail("*", None, status=503)
    machine.put_many(3)
    machine.start()
    until(lambda: machine.status()["state"] == "failing")
    machine.double.heal()
    os.kill(machine.pid, signal.SIGHUP)
    machine.assert_true()


def test_a_server_that_is_gone_for_a_while(remote: Make) -> None:
    machine = remote("direct")
    machine.put_many(40)
    machine.start()
    machine.assert_equal_to_disk()
    machine.quiet()
    with machine.closed():
        machine.put("n1.md", "one, edited\n")
        (machine.root / "n2.md").unlink()
        machine.put("n41.md")
        status = until(lambda: (s := machine.status())["state"] == "failing" and s)
        assert "was not reached: connection refused" in status["reason"]
        assert machine.syncd("status").returncode == 3
    machine.assert_true()
    assert machine.written() == 42
    assert len(machine.lines()) <= 8, machine.lines()


@pytest.mark.parametrize("how", [{"status": 503}, {"reset": True}], ids=["503", "reset"])
def test_an_outage_costs_nothing_but_its_time(remote: Make, how: dict[str, Any]) -> None:
    machine = remote("direct")
    machine.put_many(150)
    # a write that was refused need not be waited for, as one without an answer must be
    machine.double.fail("append", None, skip=120, status=429)
    machine.double.fail("*", None, when=lambda request: len(machine.double.log) >= 120, **how)
    machine.start()
    until(lambda: machine.status()["state"] == "failing")
    with machine.asking() as away:
        machine.put("n1.md", "one, edited\n")
        (machine.root / "n2.md").unlink()
        machine.put("n151.md")
        start = len(machine.double.requests)
        until(lambda: len(machine.double.requests) >= start + 10, what="retries")
    when = sorted(request.when for request in away)
    gaps = [later - before for before, later in pairwise(when)]
    assert max(gaps) > 0.15, "the pauses grow"
    assert len(machine.lines()) <= 8, machine.lines()
    machine.double.heal()
    machine.assert_true()
    # n1 in two versions; n2 was written before it was removed
    assert machine.written() <= 152
    machine.quiet()
    assert machine.status()["state"] == "idle"


def test_retry_after_in_every_form(remote: Make) -> None:
    machine = remote("direct")
    machine.put_many(120)
    now = time.time()
    asked = [
        *("1", formatdate(now + 2, usegmt=True), formatdate(now - 60, usegmt=True)),
        *("0", "-5", "1.5", "soon", ""),
    ]
    for value in asked:
        machine.double.fail("append", status=429, headers={"Retry-After": value})
    machine.double.fail("append", status=429)
    machine.start()
    machine.assert_true(60)
    assert machine.written() == 120
    times = [(r.when, r.status) for r in machine.double.asked("append")]
    first = next(at for at, status in times if status == 429)
    after = min(at for at, _ in times if at > first + 0.05)
    assert after - first >= 0.95


def test_a_huge_retry_after_does_not_hold_up_the_end(remote: Make) -> None:
    machine = remote("direct", {"asked": 900.0})
    machine.put("a.md")
    machine.double.fail("*", None, status=429, headers={"Retry-After": "99999999"})
    machine.start()
    until(lambda: machine.double.requests)
    assert machine.stop(timeout=10) == 0
    assert machine.said("stopped before the pass was done")
    assert not machine.said("abandoned")


@pytest.mark.parametrize("wire", ["direct", "hosted"])
def test_lost_answers_and_sudden_deaths_write_nothing_twice(remote: Make, wire: str) -> None:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    choice = random.Random(seed)
    machine = remote(wire)
    machine.put_many(180)
    lost = choice.sample(range(180), 4)
    for number in lost:
        machine.double.fail("append", after_applying=True, drop=True, skip=number)
    for deaths in range(3):
        machine.start()
        target = (deaths + 1) * choice.randrange(20, 50)
        until(lambda n=target: len(machine.double.log) >= n)  # type: ignore[misc]
        if deaths == 1:
            assert machine.stop(timeout=10) == 0
        else:
            machine.kill()
    machine.start()
    machine.assert_true(60)
    machine.quiet()
    assert machine.written() == 180
    machine.assert_true()


def test_an_edit_while_an_answer_is_lost_leaves_nothing_behind(remote: Make) -> None:
    machine = remote("direct", {"first": 0.5})
    machine.put_many(3)
    machine.start()
    machine.assert_equal_to_disk()
    machine.quiet()
    machine.double.fail("append", after_applying=True, drop=True)
    machine.put("n1.md", "one version\n")
    until(lambda: machine.status()["state"] == "failing")
    machine.put("n1.md", "another version\n")
    machine.assert_true()


def test_poison_is_set_aside_and_the_rest_goes_on(remote: Make) -> None:
    machine = remote("direct")
    machine.put_many(99)
    machine.put("n57.md", "POISON text\n")
    machine.put("n58.md", "TOO LARGE\n")
    machine.double.refuse("POISON", 422)
    machine.double.refuse("TOO LARGE", 413)
    with machine.asking() as asked:
        machine.start()
        right = {p: t for p, t in machine.disk().items() if p not in ("n57.md", "n58.md")}
        machine.await_memory(right)
        machine.quiet()
    refused = [request for request in asked if request.status in (422, 413)]
    print("poison", routes(asked), len(refused))
    assert routes(asked)["append"] == 97 + len(refused)
    assert len(refused) <= 2 * 8
    aside = {entry["path"]: entry["reason"] for entry in machine.status()["set_aside"]}
    assert set(aside) == {"n57.md", "n58.md"}
    assert "422" in aside["n57.md"]
    assert "413" in aside["n58.md"]
    with machine.asking() as rest:
        machine.put("later.md")
        machine.await_memory({**right, "later.md": ["text of later.md\n"]})
        machine.settled()
    assert routes(rest)["append"] == 1
    machine.put("n57.md", "healed\n")
    (machine.root / "n58.md").unlink()
    machine.assert_true()
    machine.quiet()
    assert machine.status()["set_aside"] == []


@pytest.mark.parametrize("running", [True, False])
def test_a_memory_that_forgets_is_found_out(remote: Make, running: bool) -> None:
    machine = remote("direct", {"recount": 0.0 if running else 3600.0})
    machine.put_many(30)
    machine.start()
    machine.assert_equal_to_disk()
    machine.quiet()
    if not running:
        assert machine.stop() == 0
    machine.double.forget_everything()
    assert machine.syncd("verify").returncode == 1
    if running:
        machine.settled()
    else:
        machine.start()
    machine.assert_true()
    assert machine.syncd("verify").returncode == 0


def test_an_authority_of_ones_own(remote: Make, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2"
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*made.split(), *name], capture_output=True, check=True)
    machine = remote("direct", certificate=(certificate, key))
    machine.put("a.md", "PRIVATE TEXT\n")
    machine.start()
    status = until(lambda: (s := machine.status())["state"] == "failing" and s)
    assert "certificate of 127.0.0.1" in status["reason"]
    assert "self-signed" in status["reason"]
    assert "ca_file" in status["reason"]
    assert not machine.double.requests
    assert len(machine.said("WARNING")) + len(machine.said("not trusted")) <= 4
    assert machine.stop() == 0
    machine.settings["ca_file"] = str(certificate)
    machine.configure()
    machine.start()
    machine.assert_true()


def test_the_commands(remote: Make) -> None:
    machine = remote("direct")
    machine.put("harbour.md", "The ferry leaves at noon.\n")
    machine.put("b.md", "another thing\n")
    done = machine.syncd("sync")
    assert (done.returncode, done.stdout) == (0, "notes: 2 stored, 0 forgotten\n")
    found = machine.syncd("search", "ferry")
    assert found.returncode == 0
    assert "harbour.md" in found.stdout
    assert machine.syncd("list").stdout.count(".md") == 2
    whole = machine.syncd("verify")
    assert (whole.returncode, whole.stdout) == (0, "notes: 2 files, all in memory as on the disk\n")
    assert machine.syncd("forget", "--path", str(machine.root / "b.md"), "--yes").returncode == 0
    assert [hit.meta.file_path for hit in machine.hits()] == [str(machine.root / "harbour.md")]
    assert machine.syncd("verify", "--repair").returncode == 0
    machine.assert_true()
    assert machine.syncd("check").returncode == 0
    machine.double.fail("*", None, status=503)
    for words in (["check"], ["search", "ferry"]):
        failed = machine.syncd(*words)
        assert failed.returncode == 3, (words, failed)
        assert "answered 503" in failed.stderr, (words, failed.stderr)
        assert "Traceback" not in failed.stderr


def test_syncs_over_a_bad_line(remote: Make) -> None:
    seed = random.randrange(1 << 32)
    choice = random.Random(seed)
    wire = choice.choice(["direct", "hosted"])
    print("seed", seed, wire)
    machine = remote(wire)
    machine.put_many(60)

    def chaos(request: Recorded) -> Fault | None:
        if choice.random() > 0.05:
            return None
        lost = choice.random() < 0.5
        how: list[dict[str, Any]] = [{"status": status} for status in (429, 500, 503, 504)]
        how += [{"drop": True}, {"cut": True}, {"reset": True}]
        return Fault(request.route, after_applying=lost, **choice.choice(how))

    machine.double.faults.chaos = chaos
    codes = [machine.syncd("sync").returncode for _ in range(4)]
    assert set(codes) <= {0, 3}
    machine.double.heal()
    assert machine.syncd("sync").returncode == 0
    machine.assert_true()
    assert machine.written() == 60
    assert machine.syncd("verify").returncode == 0
