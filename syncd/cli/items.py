"""How an item that was read back is named and shown to a person."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING

from syncd.cli.output import emphasised
from syncd.cli.text import best_line, one_line, window

if TYPE_CHECKING:
    from syncd.memory import Citation, Hit, MemoryMeta

_SHORT_HASH = 10


def name_of(meta: MemoryMeta, text: str) -> str:
    """Where an item comes from: its path, its commit and subject, or its first line."""
    if meta.file_path:
        inside = meta.repo and not meta.file_path.startswith("/")
        return f"{meta.repo}:{meta.file_path}" if inside else meta.file_path
    title = next((line for line in text.split("\n", 20) if line.strip()), "").lstrip("# ")
    if meta.commit:
        return f"{meta.repo or 'commit'}@{meta.commit[:_SHORT_HASH]} {title}"
    return title[:200]


def location(hit: Hit, wanted: Sequence[str]) -> tuple[str, str]:
    """An item's name with the line of its file that matched, and that line."""
    passage = hit.passage or hit.text
    before, line = best_line(passage, wanted)
    number = _line_number(hit, passage, before)
    return name_of(hit.meta, hit.text) + (f":{number}" if number else ""), line


def _line_number(hit: Hit, passage: str, before: int) -> int | None:
    """The line in the file, from 1; None when the text is not the file's from its beginning on."""
    if not hit.meta.file_path:
        return None
    heading = f"# {posixpath.basename(hit.meta.file_path)}\n\n"
    at = hit.text.find(passage)
    if at < 0 or not hit.text.startswith(heading):
        return None
    number = hit.text.count("\n", 0, at) + before - heading.count("\n") + 1
    return number if number > 0 else None


def shown(line: str, wanted: Sequence[str], width: int | None) -> str:
    """One line of a passage, harmless, cut around the wanted words, which stand out."""
    plain = one_line(line)
    return emphasised(plain if width is None else window(plain, wanted, width), wanted)


def cited(citation: Citation, number: int) -> str:
    """A citation's line under an answer."""
    return f"[{number}] {one_line(name_of(citation.meta, citation.snippet))}"
