"""The command as a person runs it, in a process of its own, with nothing of this machine in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment that knows an empty home and the program, and nothing else."""
    return {"HOME": str(home), "PATH": os.defpath, "PYTHONPATH": str(ROOT), **more}


def syncd(
    *arguments: str | bytes,
    home: Path,
    cwd: Path | None = None,
    given: bytes = b"",
    **more: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run one command line to its end; the child's warnings are errors, as in these tests."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "syncd", *arguments],
        env=environment(home, **more),
        cwd=cwd or home,
        input=given,
        capture_output=True,
        timeout=120,
        check=False,
    )
