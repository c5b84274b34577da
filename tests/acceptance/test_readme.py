"""The README's first line, tried as a new user would: a fresh clone, an empty home, one line."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until

ROOT = Path(__file__).parents[2]
# What a person calls "within a second", on a machine that may be doing many other things.
PATIENCE = 60.0
_UNREACHABLE = ("No matching distribution", "Could not fetch", "ConnectionError", "NewConnection")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no clone, so none is made"),
]


def first_line() -> str:
    block = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
    assert block
    return block[1].strip()


class NewUser:
    """Someone with an empty home who has just cloned the project and typed the line."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home"
        self.home.mkdir()
        self.clone = top / "syncd"
        git = ["git", "-c", "safe.directory=*", "clone", "--quiet"]
        subprocess.run([*git, str(ROOT), str(self.clone)], check=True)
        # what the package index needs to be found is all that is taken from here
        kept = ("PATH", "PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")
        self.environment = {k: v for k, v in os.environ.items() if k.startswith(kept)}
        self.environment |= {"HOME": str(self.home), "LANG": "C.UTF-8"}
        self.log = top / "log"
        with self.log.open("wb") as log:
            self.daemon = subprocess.Popen(
                ["sh", "-c", first_line()],
                cwd=self.clone,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.log.read_text("utf-8", "replace")

    def search(self, *words: str) -> str:
        done = subprocess.run(
            [str(self.clone / ".venv/bin/syncd"), "search", *words],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        if self.daemon.poll() is None:
            os.killpg(self.daemon.pid, signal.SIGKILL)
            self.daemon.wait()


@pytest.fixture
def user(tmp_path: Path) -> Iterator[NewUser]:
    user = NewUser(tmp_path)
    yield user
    user.close()


def test_the_first_line_of_the_readme(user: NewUser) -> None:
    until(lambda: "watching 1 source: notes" in user.said() or user.daemon.poll(), 500, "the line")
    if user.daemon.poll() and any(words in user.said() for words in _UNREACHABLE):
        pytest.skip(f"the package index is not reachable: {user.said()[-200:]}")
    assert user.daemon.poll() is None, user.said()
    assert (user.home / ".config/syncd/config.yaml").is_file()
    notes = user.home / "notes"

    saved = time.monotonic()
    (notes / "plan.md").write_text("# Plan\n\nThe aardvark moves in spring.\n")
    until(lambda: "plan.md:3" in user.search("aardvark"), PATIENCE, "the note to be found")
    found = time.monotonic() - saved
    # judged beside what a search alone costs here, because a busy machine slows both
    began = time.monotonic()
    user.search("aardvark")
    assert found < 5 + 10 * (time.monotonic() - began)

    (notes / "plan.md").write_text("# Plan\n\nThe wombat moves in autumn.\n")
    until(lambda: "wombat moves" in user.search("wombat"), PATIENCE, "the new words")
    until(lambda: user.search("aardvark") == "", PATIENCE, "the old words to be gone")

    (notes / "plan.md").unlink()
    until(lambda: user.search("wombat") == "", PATIENCE, "the deleted note to be gone")

    # a terminal's Ctrl-C and a service's stop reach the daemon itself, not only the shell
    os.killpg(user.daemon.pid, signal.SIGTERM)
    user.daemon.wait(30)
    until(lambda: "stopped" in user.said(), 30, "the daemon's last word")
    assert "Traceback" not in user.said()
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=user.clone, capture_output=True, check=True
    )
    assert status.stdout == b""
