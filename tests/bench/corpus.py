"""Made files, the same for the same count: Markdown of about 2.3 KB, twenty to a directory."""

from __future__ import annotations

import random
from pathlib import Path

_WORDS = (  # noqa: SIM905 - a list of forty lines says no more
    "memory folder daemon commit branch index query ledger source watch event batch receipt filter "
    "garden river window morning letter engine signal market bridge harbour kitchen lantern meadow "
    "northern paper quiet railway silver theory umbrella valley weather yellow archive"
).split()


def make(root: Path, count: int, seed: int = 7) -> int:
    """Write `count` files below `root`; returns their bytes."""
    chance = random.Random(seed)
    written = 0
    for number in range(count):
        directory = root / f"d{number // 20:05d}"
        if number % 20 == 0:
            directory.mkdir(parents=True)
        text = _text(chance, number)
        (directory / f"note-{number:06d}.md").write_text(text)
        written += len(text)
    return written


def _text(chance: random.Random, number: int) -> str:
    lines = [f"# Note {number} token{number:06d}", ""]
    for _ in range(30):
        lines.append(" ".join(chance.choices(_WORDS, k=11)))
    return "\n".join(lines) + "\n"
