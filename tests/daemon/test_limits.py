"""Where the kernel says no: limits, permissions, mounts; and what of watchdog's is relied on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from syncd.daemon.hints import Kind
from syncd.daemon.watch import Watch
from tests.daemon.watching import by_name, populate, watched

HERE = Path(__file__).parents[2]

# Runs with a root and prints what the watch says of itself, then does as it is told on stdin.
CHILD = """
import json, os, sys
from syncd.daemon.hints import Hint, Kind
from syncd.daemon.watch import Watch
from tests.waiting import until
root = sys.argv[1]
hints = []
exec(sys.argv[2])
watch = Watch(root, lambda path: False, hints.append)
watch.start()
def say(**more):
    print(json.dumps({"alive": watch.alive, "watched": watch.watched, "unwatched": watch.unwatched,
        "reason": watch.reason, **more}), flush=True)
say()
exec(sys.argv[3])
watch.stop()
"""


def child(root: Path, before: str = "", after: str = "", shell: str = "") -> list[dict[str, Any]]:
    """What a watch says in a process of its own; `shell` prepares a private user namespace."""
    command = [sys.executable, "-c", CHILD, str(root), before, after]
    if shell:
        # the limits of a new user namespace can be lowered without being root
        command = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c",
                   f'{shell} && exec "$@"', "child", *command]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=HERE
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def can(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


needs_namespace = pytest.mark.skipif(
    not can("unshare", "--user", "--map-root-user", "--mount", "true"),
    reason="user namespaces are not available",
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def limit(name: str, value: int) -> str:
    return f"echo {value} > /proc/sys/user/{name}"


@needs_namespace
def test_an_exhausted_limit_is_counted_and_named(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"d{number}").mkdir()
    after = """
os.mkdir(f"{root}/d12")
until(lambda: Hint(Kind.TREE, f"{root}/d12") in hints)
say()
"""
    first, second = child(tmp_path, after=after, shell=limit("max_inotify_watches", 6))
    assert (first["alive"], first["watched"], first["unwatched"]) == (True, 6, 7)
    assert first["reason"].startswith(
        "7 folders are not watched: the limit fs.inotify.max_user_watches ("
    )
    assert "sysctl" in first["reason"]
    assert (second["watched"], second["unwatched"]) == (6, 8)


@needs_namespace
def test_renew_watches_what_could_not_be_watched(tmp_path: Path) -> None:
    populate(tmp_path, 20, 20)
    after = """
import shutil
from pathlib import Path
Path("/proc/sys/user/max_inotify_watches").write_text("1000")
watch.renew()
say()
with open(f"{root}/1/n0/n1/n2/new.md", "w") as file:
    file.write("new")
until(lambda: Hint(Kind.SAVED, f"{root}/1/n0/n1/n2/new.md") in hints)
"""
    first, second = child(tmp_path, after=after, shell=limit("max_inotify_watches", 4))
    assert first["unwatched"] == 17
    assert (second["watched"], second["unwatched"], second["reason"]) == (21, 0, None)


@needs_namespace
def test_unwatched_directories_that_go_are_not_counted_any_more(tmp_path: Path) -> None:
    populate(tmp_path / "big", 20, 20)
    after = """
import shutil
shutil.rmtree(f"{root}/big")
until(lambda: (watch.watched, watch.unwatched) == (1, 0))
say()
"""
    first, second = child(tmp_path, after=after, shell=limit("max_inotify_watches", 4))
    assert first["unwatched"] == 18
    assert (second["watched"], second["unwatched"], second["reason"]) == (1, 0, None)


@needs_namespace
def test_no_watch_at_all_is_a_watch_that_is_not_alive(tmp_path: Path) -> None:
    (said,) = child(tmp_path, shell=limit("max_inotify_watches", 0))
    assert not said["alive"]
    assert said["reason"].startswith(f"{tmp_path} is not watched: the limit fs.inotify.max_user_w")


@needs_namespace
def test_no_instance_is_a_watch_that_is_not_alive(tmp_path: Path) -> None:
    (said,) = child(tmp_path, shell=limit("max_inotify_instances", 0))
    assert not said["alive"]
    assert "fs.inotify.max_user_instances" in said["reason"]


@needs_root
def test_a_directory_that_becomes_readable_is_looked_at_and_watched() -> None:
    # pytest's own temporary directories are closed to other users
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        check_readable_again(Path(name))


def check_readable_again(root: Path) -> None:
    secret = root / "secret"
    populate(secret, 3, 3)
    os.chown(secret, 65534, 65534)
    secret.chmod(0o000)
    after = """
os.chmod(f"{root}/secret", 0o755)
until(lambda: Hint(Kind.TREE, f"{root}/secret") in hints)
say()
os.chmod(f"{root}/secret", 0o000)
os.chmod(f"{root}/secret", 0o755)
with open(f"{root}/secret/new.md", "w") as file:
    file.write("new")
until(lambda: Hint(Kind.SAVED, f"{root}/secret/new.md") in hints)
say()
"""
    before = "os.setgid(65534); os.setuid(65534)"
    first, second, third = child(root, before, after)
    assert (first["watched"], first["unwatched"], first["reason"]) == (1, 0, None)
    assert second["watched"] == 5
    assert third["watched"] == 5


@needs_namespace
def test_an_unmounted_root_ends_the_watch_without_a_removal(tmp_path: Path) -> None:
    before = """
import subprocess
subprocess.run(["mount", "-t", "tmpfs", "none", root], check=True)
open(f"{root}/a", "w").close()
"""
    after = """
subprocess.run(["umount", root], check=True)
until(lambda: Hint(Kind.LOST, root) in hints)
say(hints=[hint.kind.value for hint in hints])
"""
    _, second = child(tmp_path, before, after, shell="true")
    assert not second["alive"]
    assert second["reason"] == f"{tmp_path} was unmounted"
    assert second["hints"] == ["lost"]


@needs_namespace
def test_an_unmounted_directory_is_looked_at_and_nothing_was_removed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    before = """
import subprocess
subprocess.run(["mount", "-t", "tmpfs", "none", f"{root}/disk"], check=True)
os.makedirs(f"{root}/disk/d/e")
"""
    after = """
subprocess.run(["umount", f"{root}/disk"], check=True)
until(lambda: Hint(Kind.TREE, f"{root}/disk") in hints)
say(hints=[hint.kind.value for hint in hints])
open(f"{root}/disk/below", "w").close()
until(lambda: Hint(Kind.SAVED, f"{root}/disk/below") in hints)
"""
    first, second = child(tmp_path, before, after, shell="true")
    assert first["watched"] == 4
    assert (second["alive"], second["watched"]) == (True, 2)
    assert set(second["hints"]) == {"tree"}


@needs_namespace
def test_a_directory_that_is_mounted_twice_keeps_one_watch(tmp_path: Path) -> None:
    populate(tmp_path / "a", 3, 3)
    (tmp_path / "b").mkdir()
    before = """
import subprocess
subprocess.run(["mount", "--bind", f"{root}/a", f"{root}/b"], check=True)
os.makedirs(f"{root}/loop")
subprocess.run(["mount", "--bind", root, f"{root}/loop"], check=True)
"""
    after = """
open(f"{root}/a/0/new", "w").close()
until(lambda: any(hint.kind is Kind.SAVED and hint.path.endswith("/0/new") for hint in hints))
open(f"{root}/new", "w").close()
until(lambda: Hint(Kind.SAVED, f"{root}/new") in hints)
watch.renew()
say()
"""
    first, second = child(tmp_path, before, after, shell="true")
    assert first["alive"]
    assert first["unwatched"] == 2
    assert first["reason"] == (
        "2 folders are not watched: the same folder is mounted in two places"
    )
    assert second["watched"] == first["watched"]


def test_a_watched_directory_costs_little_memory(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"some-directory-{number}" / "src").mkdir(parents=True)
    watch = Watch(str(tmp_path), by_name, lambda hint: None)
    tracemalloc.start()
    try:
        watch.start()
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        watch.stop()
    assert size / 4_000 < 600, "bytes for a directory"


def test_watchdog_is_the_version_whose_private_names_are_used() -> None:
    from importlib.metadata import version

    from watchdog.observers import inotify_c

    import syncd.daemon.inotify as border

    assert version("watchdog").startswith("7.1.")
    assert issubclass(border.Reader, inotify_c.InotifyFD)
    for name in ("read_events", "should_keep_running", "stop", "run"):
        assert callable(getattr(inotify_c.InotifyFD, name))
    reader = border.Reader(lambda events: None, lambda: None)
    reader.start()
    try:
        assert isinstance(reader._inotify_fd, int)
        assert not os.get_inheritable(reader._inotify_fd)
    finally:
        reader.stop()
        reader.join()
    event = inotify_c.InotifyEvent(1, 2, 3, b"name")  # type: ignore[arg-type]
    assert (event.wd, event.mask, event.name) == (1, 2, b"name")


def test_a_broken_instance_is_noticed_instead_of_spinning(tmp_path: Path) -> None:
    with watched(tmp_path) as this:
        reader = this.watch._reader
        assert reader is not None
        # what a stray close elsewhere in the process would do
        spare = os.open("/dev/null", os.O_RDONLY)
        os.dup2(spare, reader._inotify_fd)
        os.close(spare)
        os.write(reader._kill_w, b"!")
        this.wait(Kind.LOST, tmp_path)
        assert not this.watch.alive
