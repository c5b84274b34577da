"""What reaches the terminal. With `--json`, stdout holds the contract's JSON and nothing else."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import click

from syncd.cli.text import clip, columns, one_line, spans, table

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON and nothing else on standard output."
)


def print_json(value: Any) -> None:
    """One line of JSON in UTF-8, whatever the locale."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    click.echo(text.encode("utf-8", "replace"))


def terminal_width() -> int | None:
    """Columns of the terminal (or COLUMNS); None when the output goes elsewhere and is not cut."""
    return shutil.get_terminal_size((0, 0)).columns or None


def print_table(
    rows: Sequence[Sequence[str]], *, indent: str = "", **layout: Sequence[int]
) -> None:
    """Rows under each other, cut to the terminal; see `text.table` for the layout."""
    for line in table(rows, terminal_width(), indent=indent, **layout):
        click.echo(line)


def note(message: str) -> None:
    """A remark for a person, on stderr so that it never mixes with data."""
    click.echo(one_line(message), err=True)


def emphasised(line: str, wanted: Sequence[str]) -> str:
    """`line` with the wanted words in bold (click drops that where there is no terminal)."""
    parts, end = [], 0
    for start, stop in spans(line, wanted):
        parts += [line[end:start], click.style(line[start:stop], bold=True)]
        end = stop
    return "".join(parts) + line[end:]


_PAUSE_SECONDS = 0.1


class Progress:
    """One line on a terminal's stderr that is rewritten in place, and nothing anywhere else."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._shown = 0
        self._next = 0.0
        self._active = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._write("")

    def update(self, done: int, total: int | None = None, detail: str = "") -> None:
        """Show `done` (of `total`, when it is known) and a few words, such as a path."""
        now = time.monotonic()
        if not self._active or now < self._next:
            return
        # a terminal that is written to for every file costs more than reading the file
        self._next = now + _PAUSE_SECONDS
        share = f"{done:,} of {total:,}" if total else f"{done:,}"
        bar = f" {_bar(done, total)}" if total else ""
        width = (terminal_width() or 80) - 1
        self._write(clip(one_line(f"{self._label}{bar} {share} {detail}"), width))

    def _write(self, line: str) -> None:
        if not self._active or (not line and not self._shown):
            return
        width = columns(line)
        blank = " " * max(0, self._shown - width)
        end = "\r" if not line else ""
        click.echo(f"\r{line}{blank}{end}", nl=False, err=True)
        self._shown = width


def _bar(done: int, total: int, width: int = 20) -> str:
    full = min(width, done * width // total)
    return "[" + "#" * full + "-" * (width - full) + "]"
