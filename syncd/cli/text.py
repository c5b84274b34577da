"""Text measured and cut for a terminal. Pure: nothing here prints or knows a terminal's size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from syncd.cli.names import printable

ELLIPSIS = "…"


def columns(text: str) -> int:
    """How many columns a terminal uses for `text`, which holds no control characters."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def one_line(text: str) -> str:
    r"""`text` without line breaks and tabs; other controls shown as `\x1b`, never sent."""
    return printable(re.sub(r"[ \t\r\n\v\f\x85\u2028\u2029]+", " ", text).strip())


def harmless(text: str) -> str:
    r"""`text` with its lines and tabs kept; other controls shown as `\x1b`, never sent."""
    return "".join(
        part if part in "\n\t" else printable(part) for part in re.split(r"([\n\t])", text)
    )


def clip(text: str, width: int) -> str:
    """The beginning of `text` in at most `width` columns, with … where something was cut."""
    if columns(text) <= width:
        return text
    kept, used = [], 0
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        kept.append(character)
    return "".join(kept) + ELLIPSIS if width > 0 else ""


def clip_left(text: str, width: int) -> str:
    """The end of `text` in at most `width` columns: what tells one path from another."""
    if columns(text) <= width:
        return text
    # cut the mirror image, but keep combining marks behind their letters
    clusters = re.findall(r"(?s).[\u0300-\u036f\u200d\ufe0f]*", text)
    kept: list[str] = []
    used = 1
    for cluster in reversed(clusters):
        used += columns(cluster)
        if used > width:
            break
        kept.append(cluster)
    return ELLIPSIS + "".join(reversed(kept)) if width > 0 else ""


_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


def words(query: str) -> list[str]:
    """The words of a query as they are looked for in a line, longest first.

    An identifier counts with its parts, so that parseHTTPHeader is seen in parse_http_header.
    """
    whole = re.findall(r"\w+", query)
    parts = [part for word in whole for part in _PART.findall(word)]
    found = {word.casefold() for word in (*whole, *parts)}
    return sorted(found, key=lambda word: (-len(word), word))


def spans(line: str, wanted: Sequence[str]) -> list[tuple[int, int]]:
    """Where the wanted words stand in `line`, as ascending (start, end) that do not overlap."""
    if not wanted:
        return []
    pattern = "|".join(re.escape(word) for word in wanted)
    return [match.span() for match in re.finditer(pattern, line, re.IGNORECASE)]


def best_line(passage: str, wanted: Sequence[str]) -> tuple[int, str]:
    """The line of `passage` that holds most of the wanted words, and how many lines precede it."""
    best, most = (0, ""), -1
    for number, line in enumerate(passage.split("\n")):
        held = line.casefold()
        count = sum(word in held for word in wanted)
        if line.strip() and count > most:
            best, most = (number, line), count
    return best


def window(line: str, wanted: Sequence[str], width: int) -> str:
    """The part of `line` around its first wanted word, in at most `width` columns."""
    found = spans(line, wanted)
    if columns(line) <= width or not found:
        return clip(line, width)
    start = max(0, found[0][0] - width // 3)
    return clip(ELLIPSIS + line[start + 1 :] if start else line, width)


def table(
    rows: Sequence[Sequence[str]],
    width: int | None,
    right: Sequence[int] = (),
    whole: Sequence[int] = (),
    paths: Sequence[int] = (),
    indent: str = "",
) -> list[str]:
    """Rows as aligned lines of at most `width` columns (None: as wide as they are).

    `right` names columns that align to the right, `whole` those that are never cut, `paths` those
    that lose their beginning rather than their end. Cells are made harmless first.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not cells:
        return []
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    if width is not None:
        _fit(widths, width - len(indent), whole)
    return [indent + _row(row, widths, right, paths).rstrip() for row in cells]


def _fit(widths: list[int], width: int, whole: Sequence[int]) -> None:
    """Take columns from the widest cell that may be cut until the row fits, or nothing is left."""
    flexible = [index for index in range(len(widths)) if index not in whole]
    while flexible and sum(widths) + 2 * (len(widths) - 1) > width:
        widest = max(flexible, key=lambda index: widths[index])
        if widths[widest] <= 4:
            return
        excess = sum(widths) + 2 * (len(widths) - 1) - width
        others = [widths[index] for index in flexible if index != widest]
        floor = max([4, *(size for size in others if size < widths[widest])])
        widths[widest] = max(widths[widest] - excess, min(floor, widths[widest] - 1))


def _row(
    row: Sequence[str], widths: Sequence[int], right: Sequence[int], paths: Sequence[int]
) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
        cut = clip_left(cell, width) if index in paths else clip(cell, width)
        gap = " " * (width - columns(cut))
        parts.append(gap + cut if index in right else cut + gap)
    return "  ".join(parts)


def amount(count: int) -> str:
    """A number of bytes as people read it: `12.3 MiB`."""
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def lasting(seconds: float) -> str:
    """A length of time as people say it: `40 s`, `12 min`, `3 h 20 min`."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 item`, `12,345 items`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
