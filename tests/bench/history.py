"""Reading a long history, held against `git log --name-status`: `python -m tests.bench.history`.

Prints the ratio of the fastest of some runs of each, and what was taken in memory meanwhile.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

from syncd.sources import Sighting
from syncd.sources.repository import CommitRules, RepositorySettings, RepositorySource

_ROUNDS = 3


def stream(commits: int) -> Iterator[bytes]:
    """A history for `git fast-import`: a few files each, some renames, every tenth a merge."""
    for number in range(1, commits + 1):
        merge = number % 10 == 0 and number > 20
        message = f"change {number}\n\nwhat was done, and why it had to be done\n".encode()
        yield b"commit refs/heads/main\nmark :%d\n" % number
        yield b"committer Case <case@example.invalid> %d +0100\n" % (1_500_000_000 + 60 * number)
        yield b"data %d\n%s" % (len(message), message)
        if number > 1:
            yield b"from :%d\n" % (number - 1)
        if merge:
            yield b"merge :%d\n" % (number - 15)
        for turn in range(3):
            place = number * 7 + turn * 13
            content = f"{number} {turn}\n".encode() * 5
            yield b"M 644 inline d%d/f%d.md\n" % (place % 40, place % 900)
            yield b"data %d\n%s\n" % (len(content), content)
        yield b"\n"


def history(root: Path, commits: int) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    importing = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=root, stdin=subprocess.PIPE)
    assert importing.stdin is not None
    importing.stdin.writelines(stream(commits))
    importing.stdin.close()
    assert importing.wait() == 0


def floor(root: Path) -> None:
    command = ["git", "log", "--name-status", "-z", "main"]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)


def ours(root: Path, commits: int) -> None:
    settings = RepositorySettings(
        "bench", str(root), root / "none", files=False, commits=CommitRules(max=commits)
    )
    source = RepositorySource(settings)
    paths = [seen.path for seen in source.scan() if isinstance(seen, Sighting)]
    assert sum(1 for _ in source.read_many(paths)) == commits


def fastest(work: Callable[[], None]) -> float:
    taken = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=8000)
    commits = parser.parse_args().commits
    with tempfile.TemporaryDirectory(prefix="syncd-bench-") as scratch:
        root = Path(scratch) / "history"
        history(root, commits)
        log = fastest(lambda: floor(root))
        read = fastest(lambda: ours(root, commits))
        tracemalloc.start()
        ours(root, commits)
        peak = tracemalloc.get_traced_memory()[1]
    print(f"{commits} commits: git log --name-status {log:.2f} s, scan and read {read:.2f} s")
    print(f"ratio {read / log:.2f}; peak {peak / commits:.0f} bytes a commit")


if __name__ == "__main__":
    main()
