"""A home with two folders in the configuration, and what memory and the disk hold of them."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from syncd.engines import build_engine
from syncd.memory import Hit, ListRequest, MemoryEngine
from syncd.sources.marks import is_settled, look_of
from tests.waiting import until

CONFIG = Path(".config/syncd/config.yaml")
STATE = Path(".local/state/syncd")
MEMORY = Path(".local/share/syncd/memory.db")
LEDGER = STATE / "ledger.db"


def configure(home: Path, *names: str, **more: object) -> None:
    """Folders of these names in the home, watched under the same names (JSON is YAML)."""
    for name in names:
        (home / name).mkdir(exist_ok=True)
    sources = [{"id": name, "folder": str(home / name)} for name in names]
    (home / CONFIG).parent.mkdir(parents=True, exist_ok=True)
    (home / CONFIG).write_text(json.dumps({"sources": sources, **more}), encoding="utf-8")


def engine(home: Path) -> MemoryEngine:
    """The memory itself, to look at or to tamper with."""
    return build_engine("local", {"path": str(home / MEMORY)})


def hits(home: Path) -> list[Hit]:
    """Everything that memory holds."""
    with engine(home) as memory:
        return list(memory.list(ListRequest(limit=10_000)).items)


def texts(home: Path) -> dict[str, str]:
    """The text of each path below the home; every path once."""
    found = hits(home)
    out = {str(hit.meta.file_path).removeprefix(f"{home}/"): hit.text for hit in found}
    assert len(out) == len(found)
    return out


def settle(folder: Path) -> None:
    """Wait until no file is so young that a pass would read it again to be sure."""
    looks = [look_of(path.lstat()) for path in folder.rglob("*")]
    until(lambda: all(is_settled(look, time.time_ns()) for look in looks), what="settled files")


def everything(top: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a directory with its bytes and times, SQLite's scratch files apart."""
    found = {}
    for at, directories, names in os.walk(top):
        for name in (*directories, *names):
            path = Path(at, name)
            if not name.endswith(("-wal", "-shm")):
                data = path.read_bytes() if path.is_file() else b""
                found[str(path)] = (data, path.stat().st_mtime_ns if path.is_file() else 0)
    return found
