"""What every command starts from: the configuration that was asked for, and its engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from syncd.cli.output import note
from syncd.config import contents, locate, parse

if TYPE_CHECKING:
    from syncd.config import Config
    from syncd.memory import MemoryEngine

EMPTY = "memory is empty: nothing has been synced yet (`syncd sync` does it)"


class Session:
    """One run of a command. `verbose` counts the -v."""

    def __init__(self, explicit: str | None = None, verbose: int = 0) -> None:
        self.explicit = explicit
        self.verbose = verbose
        self.empty = False

    def path(self) -> Path:
        """Where the configuration lies or would lie."""
        return locate(self.explicit)

    def config(self) -> Config:
        """The configuration. Raises ConfigError."""
        from syncd.config import load

        return load(self.path())

    def nothing(self, message: str) -> None:
        """Remark that there is nothing to show, unless memory's emptiness has said it already."""
        if not self.empty:
            note(message)

    def engine(self, *, write: bool = False) -> MemoryEngine:
        """The engine. A memory that is not there yet reads like an empty one."""
        from syncd.config.glance import memory_file

        path = self.path()
        written = contents(path)
        place = None if write else memory_file(path, written)
        if place is not None:
            return self._empty() if is_missing(place) else _reading(place)
        config = parse(path, written)
        return self._empty() if is_new(config) else open_engine(config, read_only=not write)

    def _empty(self) -> MemoryEngine:
        # opening it would create it, and reading must leave no trace
        from syncd.memory.reference import ReferenceEngine

        self.empty = True
        note(EMPTY)
        return ReferenceEngine()


def is_new(config: Config) -> bool:
    """Whether the memory is a file that is yet to be made."""
    local = local_file(config)
    return local is not None and is_missing(local)


def is_missing(file: Path) -> bool:
    """Whether there is no such file. One that cannot be seen may well be there."""
    try:
        os.stat(file)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def local_file(config: Config) -> Path | None:
    """The embedded engine's file; None when the memory lies elsewhere."""
    return config.engines.local.path if config.engine == "local" else None


def _reading(memory: Path) -> MemoryEngine:
    from syncd.engines import build_engine

    return build_engine("local", {"path": str(memory), "read_only": True})


def open_engine(config: Config, *, read_only: bool = False) -> MemoryEngine:
    """The configured engine. Raises `syncd.memory.errors.Config` when it cannot be built.

    `read_only` matters to the embedded engine alone: its file is then neither made nor changed.
    """
    from syncd.config import credential
    from syncd.engines import build_engine

    settings = config.engine_settings()
    if read_only and local_file(config) is not None:
        settings["read_only"] = True
    return build_engine(config.engine, settings, credential(config))
