"""Commands in this process, on an engine that is obvious by inspection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from syncd.cli import run, session
from syncd.memory import Document, Instant, MemoryMeta, Namespace, SourceKind, SourceRef
from syncd.memory.reference import ReferenceEngine
from tests.end_to_end.harness import Machine


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stdout holds, which must be one JSON value and nothing else."""
        return json.loads(self.out)


Cli = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home directory that this process takes for its own."""
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    monkeypatch.chdir(directory)
    for name in (
        *("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"),
        *("SYNCD_CONFIG", "SYNCD_DEBUG", "NO_COLOR", "COLUMNS"),
    ):
        monkeypatch.delenv(name, raising=False)
    return directory


@pytest.fixture
def cli(home: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command line in this process."""

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        code = run(arguments)
        return Result(code, *capsys.readouterr())

    return call


def note(path: str, body: str, **meta: Any) -> Document:
    """A document as the folder source `notes` makes it."""
    folder, _, name = path.rpartition("/")
    known: dict[str, Any] = {
        "workspace": "/n",
        "folder": folder,
        "file_path": path,
        "language": "markdown",
        "source": SourceRef(SourceKind.FOLDER, "notes"),
        "observed_at": Instant.parse("2024-05-01T12:00:00Z"),
    }
    return Document(body=body, title=name, meta=MemoryMeta(**{**known, **meta}))


class Kept(ReferenceEngine):
    """A memory that outlives the commands that open and close it."""


@pytest.fixture
def memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> ReferenceEngine:
    """The memory that the commands read, with three notes in it."""
    engine = Kept()
    engine.store(note("/n/http.md", "# Notes\n\nfirst line\nparse the http header\nlast line\n"))
    engine.store(note("/n/sub/röad.md", "the road map", tags=("plan",)))
    team = Namespace.parse("team:a")
    engine.store(note("/n2/x.py", "import os", language="python", namespace=team))
    config = home / ".config" / "syncd" / "config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("engine: tinyhumans\nsources: []\n")
    monkeypatch.setattr(session, "open_engine", lambda config, read_only=False: engine)
    return engine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine whose daemon never outlives the test."""
    found = Machine(tmp_path)
    yield found
    found.close()
