"""`python -m tests.bench [FILES]`: what syncd costs, as ratios to floors taken in the same run.

Each figure is the median of three runs in this process, floor and syncd in turn, because the
machine may be shared and a single reading says little.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from syncd.engines import build_engine
from syncd.sources import FolderSettings, FolderSource
from syncd.sync.ledger import Ledger
from syncd.sync.passes import Pass
from tests.bench import corpus, floors

RUNS = 3


def seconds(job: Callable[[], object]) -> float:
    started = time.perf_counter()
    job()
    return time.perf_counter() - started


class Bench:
    """One corpus and what is measured on it."""

    def __init__(self, place: Path, files: int) -> None:
        self.place = place
        self.root = place / "corpus"
        self.bytes = corpus.make(self.root, files)
        self.source = FolderSource(FolderSettings("bench", self.root))
        self.number = 0

    def fresh(self) -> Path:
        self.number += 1
        directory = self.place / f"run{self.number}"
        directory.mkdir()
        return directory

    def first_pass(self) -> tuple[float, float]:
        """Floor and syncd, in seconds, from nothing to everything in memory."""
        floor = seconds(lambda: floors.insert(self.root, self.fresh() / "floor.db"))
        state = self.fresh()
        ledger = Ledger.open(state)
        with build_engine("local", {"path": state / "memory.db"}) as engine:
            work = Pass(self.source, ledger, engine)
            ours = seconds(work.run)
        ledger.close()
        self.size = (state / "memory.db").stat().st_size
        return floor, ours

    def unchanged_pass(self) -> tuple[float, float]:
        """Floor and syncd, in seconds, for a tree in which nothing has changed."""
        state = self.fresh()
        ledger = Ledger.open(state)
        with build_engine("local", {"path": state / "memory.db"}) as engine:
            work = Pass(self.source, ledger, engine)
            work.run()
            # What was written moments ago is read once more; from then on it is settled.
            work.run()
            pairs = [(seconds(lambda: floors.walk(self.root)), seconds(work.run)) for _ in range(9)]
        ledger.close()
        return _medians(pairs)


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    floor, ours = zip(*pairs, strict=True)
    return statistics.median(floor), statistics.median(ours)


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory(dir=os.environ.get("SYNCD_BENCH_DIR")) as place:
        bench = Bench(Path(place), files)
        first = _medians([bench.first_pass() for _ in range(RUNS)])
        unchanged = bench.unchanged_pass()
    print(f"{files} files, {bench.bytes / 1e6:.1f} MB; {os.cpu_count()} cores, ", end="")
    print(f"Python {platform.python_version()}, {platform.machine()}")
    print(f"{'':16}{'floor':>10}{'syncd':>10}{'ratio':>8}{'bound':>8}")
    for name, (floor, ours), bound in (
        ("first pass", first, 3.0),
        ("unchanged pass", unchanged, 5.0),
    ):
        print(f"{name:16}{floor:9.3f}s{ours:9.3f}s{ours / floor:8.2f}{bound:8.1f}")
    print(f"memory file      {bench.size / 1e6:.1f} MB, {bench.size / bench.bytes:.2f} x the text")


if __name__ == "__main__":
    main()
