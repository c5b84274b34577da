"""A loop with its worker in this process, on an engine that notes what it is asked and can fail."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from syncd.daemon.desk import Pace, Watched
from syncd.daemon.loop import Loop
from syncd.daemon.tasks import Order
from syncd.memory import ForgetReport, ForgetTarget, ListRequest, MetaFilter
from syncd.memory.reference import ReferenceEngine
from syncd.memory.requests import ListPage, StoreReceipt
from syncd.sources import FolderSettings, FolderSource
from syncd.sync.ledger import Ledger
from syncd.sync.plan import Hold
from syncd.sync.tally import Tally
from tests.waiting import until

FAST = Pace(
    first=0.02, source=0.1, engine=0.1, refused=0.1, poll=0.1, review=0.05, back=0.02, glance=0.0
)


class Recorder(ReferenceEngine):
    """Notes each call; `before(name, argument)` may raise, or make the call wait."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []
        self.before: Callable[[str, Any], None] = lambda name, argument: None
        self._lock = threading.RLock()

    def _noted(self, name: str, argument: Any) -> None:
        self.calls.append((name, argument))
        self.before(name, argument)

    def store_many(self, items: Any) -> list[StoreReceipt]:
        self._noted("store_many", list(items))
        with self._lock:
            return super().store_many(items)

    def forget(self, target: ForgetTarget) -> ForgetReport:
        self._noted("forget", target)
        with self._lock:
            return super().forget(target)

    def list(self, request: ListRequest) -> ListPage:
        self._noted("list", request)
        with self._lock:
            return super().list(request)

    def stored(self) -> list[str]:
        """The names of all files that were sent, in order."""
        return [item.title for name, items in self.calls if name == "store_many" for item in items]

    def forgets(self) -> list[ForgetTarget]:
        return [argument for name, argument in self.calls if name == "forget"]

    def texts_all(self, root: Path) -> list[tuple[str, str]]:
        """Path and id of every item below a root."""
        with self._lock:
            hits = ReferenceEngine.list(self, ListRequest(MetaFilter(), 1000)).items
        return [(os.path.relpath(hit.meta.file_path or "", root), hit.id) for hit in hits]

    def texts(self, root: Path) -> dict[str, str]:
        """What memory holds below a root: path -> text, of one that is there twice both."""
        with self._lock:
            hits = ReferenceEngine.list(self, ListRequest(MetaFilter(), 1000)).items
        out: dict[str, str] = {}
        for hit in hits:
            path = Path(hit.meta.file_path or "")
            if path.is_relative_to(root):
                key, text = str(path.relative_to(root)), hit.text.removeprefix(f"# {path.name}\n\n")
                out[key] = f"{out[key]} AND {text}" if key in out else text
        return out


class Stage:
    """Sources, each a folder of its own name, and the loop that keeps them in memory."""

    def __init__(
        self,
        top: Path,
        *names: str,
        pace: Pace = FAST,
        open_ledger: Callable[[Path], Ledger] = Ledger.open,
        **settings: Any,
    ) -> None:
        self.open_ledger = partial(open_ledger, top / "state")
        self.top = top
        self.state = top / "state"
        self.state.mkdir()
        self.engine = Recorder()
        self.lines: list[str] = []
        self.roots = {name: top / name for name in names or ("notes",)}
        for root in self.roots.values():
            root.mkdir(exist_ok=True)
        self.root = next(iter(self.roots.values()))
        self.settings = settings
        self.pace = pace
        self.loop = self._loop()
        self.worker: threading.Thread | None = None

    def _loop(self) -> Loop:
        watched = [
            Watched(FolderSource(FolderSettings(name, root, **self.settings)), Hold(), 3600.0)
            for name, root in self.roots.items()
        ]
        return Loop(watched, self.open_ledger, self.engine, self.lines.append, self.pace)

    def start(self) -> None:
        self.loop.arm()
        self.worker = threading.Thread(target=self.loop.work, name="stage", daemon=True)
        self.worker.start()

    def stop(self) -> None:
        self.loop.stop()
        if self.worker is not None:
            self.worker.join(20)
            assert not self.worker.is_alive()
        self.loop.close()

    def restart(self) -> None:
        self.stop()
        self.loop = self._loop()
        self.start()

    def idle(self) -> None:
        until(self.loop.idle, what="nothing is pending")

    def sync(self, source: str = "notes", **options: bool) -> Tally:
        return self.loop.place(Order(source, **options)).result(30)

    def put(self, path: str, text: str = "", source: str | None = None) -> Path:
        target = (self.roots[source] if source else self.root) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text or f"text of {path}")
        return target

    def many(self, count: int, source: str | None = None) -> None:
        for number in range(count):
            self.put(f"n{number:04}.md", source=source)

    def remove(self, path: str) -> None:
        target = self.root / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()

    def disk(self, root: Path) -> dict[str, str]:
        files = (path for path in root.rglob("*") if path.is_file())
        return {str(path.relative_to(root)): path.read_text() for path in files}

    def equal(self) -> bool:
        """Whether memory equals the disk, every source of it."""
        return all(self.engine.texts(root) == self.disk(root) for root in self.roots.values())

    def await_equal(self) -> None:
        until(self.equal, what="memory equal to the disk")

    def record(self, source: str = "notes") -> Any:
        """What the ledger says of a source, read as another process would."""
        ledger = Ledger.read(self.state)
        if ledger is None:
            return None
        try:
            return next((each for each in ledger.sources() if each.id == source), None)
        finally:
            ledger.close()

    def await_state(self, state: str, source: str = "notes") -> str | None:
        """Wait for a state; its reason."""

        def found() -> Any:
            record = self.record(source)
            return record if record is not None and record.state == state else None

        return until(found, what=f"{source} to be {state}").reason  # type: ignore[no-any-return]
