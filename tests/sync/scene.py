"""A folder, a ledger and an engine on a small stage, and what each of them holds."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from syncd.engines import build_engine
from syncd.memory import (
    EngineDescriptor,
    EngineHealth,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    MemoryEngine,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
)
from syncd.memory.engine import ExplorePage, ExploreRequest
from syncd.memory.items import Item
from syncd.memory.reference import ReferenceEngine
from syncd.memory.requests import ListPage, ListRequest, StoreReceipt
from syncd.sources import FolderSettings, FolderSource, escape
from syncd.sync.ledger import Ledger
from syncd.sync.passes import Pass
from syncd.sync.plan import Hold
from syncd.sync.reconcile import listed
from syncd.sync.scope import WHOLE, Scope
from syncd.sync.tally import Tally
from tests.waiting import until

SOURCE = "notes"
EVERYTHING = MetaFilter(source_id=SOURCE)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


class Killed(BaseException):
    """What a test raises in the place of SIGKILL: nobody may catch it."""


@contextmanager
def swift_directory() -> Iterator[Path]:
    """A directory in memory if that is possible: hundreds of ledgers need not wait for a disk."""
    top = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    try:
        yield Path(top)
    finally:
        shutil.rmtree(top)


class Fuse:
    """Counts the steps of a pass and, when told to, kills it at the n-th."""

    def __init__(self, at: int | None = None) -> None:
        self.steps = 0
        self.at = at
        self.blown = False

    def step(self) -> None:
        self.steps += 1
        if self.at is not None and self.steps >= self.at:
            self.blown = True
            raise Killed


class FragileLedger:
    """A ledger that steps on the fuse before and after every call, and around each commit."""

    def __init__(self, ledger: Ledger, fuse: Fuse) -> None:
        self._ledger = ledger
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ledger, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._fuse.step()
            out = found(*args, **kwargs)
            self._fuse.step()
            return out

        return call

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._fuse.step()
        with self._ledger.transaction():
            yield
            self._fuse.step()
        self._fuse.step()


class Watched(MemoryEngine):
    """Another engine, with its calls written down; `before` may raise in the engine's place.

    With a fuse it can die before the call reached the engine and after, unheard.
    """

    def __init__(self, engine: MemoryEngine, fuse: Fuse | None = None) -> None:
        self.inner = engine
        self.fuse = fuse or Fuse()
        self.calls: list[tuple[str, Any]] = []
        self.before: Callable[[str, Any], None] = lambda name, argument: None

    def _call(self, name: str, argument: Any) -> Any:
        self.fuse.step()
        self.before(name, argument)
        self.calls.append((name, argument))
        out = getattr(self.inner, name)(argument)
        self.fuse.step()
        return out

    def named(self, *names: str) -> list[Any]:
        """The arguments of all calls of these names, in order."""
        return [argument for name, argument in self.calls if name in names]

    @property
    def descriptor(self) -> EngineDescriptor:
        return self.inner.descriptor

    def health(self) -> EngineHealth:
        return self.inner.health()

    def store(self, item: Item) -> StoreReceipt:
        return self._call("store", item)

    def store_many(self, items: Any) -> list[StoreReceipt]:
        return self._call("store_many", items)

    def fetch(self, request: FetchRequest) -> FetchPage:
        return self._call("fetch", request)

    def recall(self, request: RecallRequest) -> RecallAnswer:
        return self._call("recall", request)

    def list(self, request: ListRequest) -> ListPage:
        return self._call("list", request)

    def explore(self, request: ExploreRequest) -> ExplorePage:
        return self._call("explore", request)

    def forget(self, target: ForgetTarget) -> ForgetReport:
        return self._call("forget", target)


class Scene:
    """One source with its ledger and engine. `settings` are those of the folder."""

    def __init__(self, top: Path, engine: str = "reference", **settings: Any) -> None:
        self.top = top
        self.root = top / "root"
        self.state = top / "state"
        self.root.mkdir(parents=True)
        self.state.mkdir()
        self.settings = settings
        self.kind = engine
        self._made = 0
        self.inner = self._build()
        self.engine = Watched(self.inner)
        self._ledger: Ledger | None = None

    def _build(self) -> MemoryEngine:
        self._made += 1
        if self.kind == "local":
            return build_engine("local", {"path": str(self.top / f"memory{self._made}.db")})
        return ReferenceEngine()

    def close(self) -> None:
        self.inner.close()
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    # -- the disk ----------------------------------------------------------------------------

    def put(self, path: str, text: str | bytes = "") -> Path:
        """Write a file (by default with its own name as text), making what lies above it."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(
            (text or f"text of {path}\n").encode() if isinstance(text, str) else text
        )
        return target

    def many(self, count: int, where: str = "n") -> list[str]:
        """`count` files directly below the directory `where`."""
        return [self.put(f"{where}/{n:04}.md") and f"{where}/{n:04}.md" for n in range(count)]

    def remove(self, path: str) -> None:
        target = self.root / path
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink()

    def settle(self) -> None:
        """Wait until the clock has moved on far enough for every look to be relied on."""
        stats = [(Path(at) / f).lstat() for at, _, files in os.walk(self.root) for f in files]
        newest = max([max(s.st_mtime_ns, s.st_ctime_ns) for s in stats], default=0)
        until(lambda: time.time_ns() - newest > 60_000_000, what="a settled tree")

    def disk(self) -> dict[str, list[str]]:
        """What memory should hold, by a plain walk: every text file that is not blank."""
        out = {}
        for at, _, files in os.walk(os.fsencode(self.root)):
            for name in files:
                path = os.path.join(at, name)
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    continue
                key = escape(os.fsdecode(os.path.relpath(path, os.fsencode(self.root))))
                with open(path, "rb") as file:
                    text = file.read().decode()
                if text.strip():
                    out[key] = [f"# {escape(os.fsdecode(name))}\n\n{text}"]
        return out

    # -- memory ------------------------------------------------------------------------------

    def memory(self) -> dict[str, list[str]]:
        """The texts that memory holds of each path, absolute where it is not below the root."""
        out: dict[str, list[str]] = {}
        for hit in listed(self.inner, EVERYTHING):
            out.setdefault(self.source.key_of(hit.meta) or "", []).append(hit.text)
        return {path: sorted(texts) for path, texts in out.items()}

    def ids(self) -> dict[str, str]:
        """The id of each path's one item."""
        hits = list(listed(self.inner, EVERYTHING))
        out = {str(self.source.key_of(hit.meta)): hit.id for hit in hits}
        assert len(out) == len(hits)
        return out

    def fresh_ids(self) -> dict[str, str]:
        """The ids that a sync into an empty engine, with an empty ledger, would give."""
        out = {}
        source = self.source
        for seen in source.scan():
            became = source.read(seen.path)
            for item in getattr(became, "items", ()):
                out[seen.path] = item.fingerprint()
        return out

    def lose_memory(self) -> None:
        """Begin with an empty engine behind the ledger's back."""
        self.inner.close()
        self.inner = self.engine.inner = self._build()

    # -- the ledger ---------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            self._ledger = Ledger.open(self.state)
        return self._ledger

    def lose_ledger(self) -> None:
        """Delete the state directory's content."""
        self.reopen()
        for file in self.state.iterdir():
            file.unlink()

    def reopen(self) -> None:
        """Let the next pass open the ledger anew, as a new process would."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None

    def table(self) -> list[tuple[Any, ...]]:
        """All rows of the ledger, for comparison."""
        return self.ledger._db.execute("SELECT * FROM rows ORDER BY source, path").fetchall()

    # -- passes -------------------------------------------------------------------------------

    @property
    def source(self) -> FolderSource:
        return FolderSource(FolderSettings(SOURCE, self.root, **self.settings))

    def order(self, **options: Any) -> Pass:
        return Pass(self.source, self.ledger, self.engine, **options)

    def sync(
        self, scope: Scope = WHOLE, *, accept: bool = False, hold: Hold | None = None
    ) -> Tally:
        """One pass, after which the calls that it made are in `engine.calls`."""
        self.engine.calls.clear()
        return self.order(accept_deletions=accept, hold=hold or Hold()).run(scope)

    def sync_killed(
        self,
        at: int | None,
        scope: Scope = WHOLE,
        before: Callable[[str, Any], None] | None = None,
        **options: Any,
    ) -> Fuse:
        """A pass that dies at its step number `at`; the ledger is opened anew afterwards."""
        fuse = Fuse(at)
        ledger = FragileLedger(self.ledger, fuse)
        engine = Watched(self.inner, fuse)
        engine.before = before or engine.before
        try:
            Pass(self.source, ledger, engine, **options).run(scope)  # type: ignore[arg-type]
        except Killed:
            self.reopen()
        return fuse

    def hint(self, *paths: str, removed: tuple[str, ...] = ()) -> Tally:
        """A pass of some paths only, of which `removed` were seen to go."""
        return self.sync(Scope(paths + removed, frozenset(removed)))

    def writes(self) -> list[str]:
        """The names of the calls of the last pass that wrote to memory, in order."""
        return [n for n, _ in self.engine.calls if n in ("store", "store_many", "forget")]

    def assert_equal(self) -> None:
        """Memory equals the disk, path by path and text by text, each path once."""
        assert self.memory() == self.disk()
