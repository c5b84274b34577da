"""A daemon in a process of its own, on a machine that knows nothing else, and what it did.

Memory is read through the engine, the disk by a plain walk; nothing here asks the daemon's code.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from syncd.daemon.control import ask, socket_path
from syncd.engines import build_engine
from syncd.memory import Hit, ListRequest, MetaFilter
from syncd.memory.errors import Unavailable
from syncd.sync.ledger import Ledger
from syncd.sync.status import source_status
from tests.waiting import until

REPOSITORY = Path(__file__).parents[2]
Texts = dict[str, list[str]]


class Machine:
    """An empty home, a configuration, one folder `root` to be watched, and the daemon."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.home = top / "home"
        self.root = top / "root"
        self.run = top / "run"
        for directory in (self.home, self.root, self.run):
            directory.mkdir()
        self.run.chmod(0o700)
        self.config = self.home / ".config/syncd/config.yaml"
        self.state = self.home / ".local/state/syncd"
        self.memory_file = self.home / ".local/share/syncd/memory.db"
        self.log = top / "log"
        self.log.touch()
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.defpath,
            "PYTHONPATH": str(REPOSITORY),
            "XDG_RUNTIME_DIR": str(self.run),
        }
        self.prefix: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None
        self._said: list[str] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._listener.bind(os.fspath(self.run / "notify"))
        self._listener.settimeout(0.1)
        self._closed = threading.Event()
        self._hearing = threading.Thread(target=self._hear)
        self._hearing.start()
        self.configure()

    def configure(self, *sources: dict[str, Any], **top: Any) -> None:
        """Write the configuration (JSON is YAML); by default `notes` is `root`."""
        entries = list(sources) or [{"id": "notes", "folder": str(self.root)}]
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(json.dumps({"sources": entries, **top}), encoding="utf-8")

    # -- the daemon ----------------------------------------------------------------------------

    def command(self, *arguments: str) -> list[str]:
        return [*self.prefix, sys.executable, "-W", "error", "-m", "syncd", *arguments]

    def spawn(self, *options: str) -> subprocess.Popen[bytes]:
        """Start a daemon and do not wait for it."""
        notify = {"NOTIFY_SOCKET": str(self.run / "notify")}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command(*options, "run"),
                env={**self.environment, **notify},
                cwd=self.home,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def start(self, *options: str) -> None:
        """Start the daemon and wait until it says that it is ready."""
        self._said.clear()
        self.process = self.spawn(*options)
        until(lambda: self.heard("READY=1") or self.process.poll() is not None, what="READY=1")  # type: ignore[union-attr]
        assert self.process.poll() is None, self.lines()

    def heard(self, text: str) -> bool:
        """Whether the daemon told systemd something that contains `text`."""
        return any(text in line for line in list(self._said))

    def _hear(self) -> None:
        """Take what is told to systemd as soon as it comes, like systemd does."""
        while not self._closed.is_set():
            with contextlib.suppress(TimeoutError):
                self._said.append(self._listener.recv(65536).decode())

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def stop(self, number: int = signal.SIGTERM, timeout: float = 20.0) -> int:
        """End the daemon with a signal; its exit status."""
        process = self.process
        assert process is not None
        if process.poll() is None:
            process.send_signal(number)
        self.process = None
        return process.wait(timeout)

    def kill(self) -> None:
        assert self.stop(signal.SIGKILL) == -signal.SIGKILL

    def close(self) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._closed.set()
        self._hearing.join()
        self._listener.close()

    def lines(self) -> list[str]:
        """The daemon's log."""
        return self.log.read_text(encoding="utf-8").splitlines()

    def said(self, *texts: str) -> list[str]:
        """The log lines that contain all of these."""
        return [line for line in self.lines() if all(text in line for text in texts)]

    def syncd(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run another command to its end."""
        return subprocess.run(
            self.command(*arguments),
            env={**self.environment, **more},
            cwd=self.home,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    def status(self, source: str = "notes") -> dict[str, Any]:
        """What `syncd status` says of one source (without the second that a new process costs)."""
        ledger = Ledger.read(self.state)
        try:
            return source_status(ledger, source, "folder")
        finally:
            if ledger is not None:
                ledger.close()

    def settled(self) -> dict[str, Any]:
        """Have everything that was saved before this call looked at, as `syncd sync` does."""
        reply = ask(socket_path(self.state, self.environment), {"ask": "sync"})
        first: dict[str, Any] = reply["sources"][0]
        return first

    # -- the disk ------------------------------------------------------------------------------

    def put(self, path: str, text: str = "") -> Path:
        """Write a file below the root, by default with words of its own."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text or f"text of {path}\n", encoding="utf-8")
        return target

    def put_many(self, count: int, where: str = "n") -> None:
        for number in range(1, count + 1):
            self.put(f"{where}{number}.md", f"note {number}\n")

    def disk(self) -> Texts:
        return on_disk(self.root)

    # -- memory --------------------------------------------------------------------------------

    def hits(self) -> list[Hit]:
        """Everything that memory holds."""
        settings = {"path": str(self.memory_file), "read_only": True}
        with build_engine("local", settings) as engine:
            try:
                return list(listed(engine))
            except Unavailable:
                return []

    def memory(self, root: Path | None = None) -> Texts:
        """The texts that memory holds of each path below a root (by default the one)."""
        prefix = f"{root or self.root}/"
        out: Texts = defaultdict(list)
        for hit in self.hits():
            path = hit.meta.file_path or ""
            if path.startswith(prefix):
                out[path.removeprefix(prefix)].append(_body(hit))
        return dict(out)

    def ids(self) -> dict[str, str]:
        """The id of each path; every path has one."""
        hits = self.hits()
        out = {str(hit.meta.file_path): hit.id for hit in hits}
        assert len(out) == len(hits), "a path has more than one item"
        return out

    def await_memory(self, wanted: Texts | Callable[[], Texts], timeout: float = 30.0) -> None:
        """Wait until memory holds exactly this of the root."""
        what = wanted if callable(wanted) else lambda: wanted
        with contextlib.suppress(AssertionError):
            until(lambda: self.memory() == what(), timeout)
        memory, right = self.memory(), what()
        wrong = {path for path in memory | right if memory.get(path) != right.get(path)}
        some = {path: (memory.get(path), right.get(path)) for path in sorted(wrong)[:5]}
        assert not wrong, f"{len(wrong)} paths differ (memory, disk): {some}; {self.lines()[-10:]}"

    def assert_equal_to_disk(self, timeout: float = 30.0) -> None:
        """Memory comes to equal the disk, path by path and text by text, each once."""
        self.await_memory(self.disk, timeout)


def on_disk(root: Path) -> Texts:
    """Every regular file below a folder that is not blank, by path; links are not followed."""
    out: Texts = {}
    for at, _, names in os.walk(root):
        for name in names:
            path = Path(at, name)
            if not stat.S_ISREG(path.lstat().st_mode):
                continue
            text = path.read_text(encoding="utf-8")
            if text.strip():
                out[str(path.relative_to(root))] = [text]
    return out


def listed(engine: Any) -> Iterator[Hit]:
    cursor = None
    while True:
        page = engine.list(ListRequest(MetaFilter(), 500, cursor))
        yield from page.items
        cursor = page.next_cursor
        if cursor is None:
            return


def _body(hit: Hit) -> str:
    """A document's own text, without the heading that its title makes."""
    name = (hit.meta.file_path or "").rpartition("/")[2]
    return hit.text.removeprefix(f"# {name}\n\n")
