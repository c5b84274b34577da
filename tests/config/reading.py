"""A configuration from a text, or what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncd.config import Config, ConfigError, FolderConfig, Problem, parse

FILE = Path("/etc/none/config.yaml")


def read(text: str, tmp: Path | None = None, **environ: str) -> Config:
    return parse(FILE, text.encode(), {"HOME": str(tmp or "/home/ada"), **environ})


def faults(text: str | bytes, **environ: str) -> list[Problem]:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(ConfigError) as caught:
        parse(FILE, data, {"HOME": "/home/ada", **environ})
    return list(caught.value.problems)


def fault(text: str | bytes, **environ: str) -> Problem:
    found = faults(text, **environ)
    assert len(found) == 1, found
    return found[0]


def source(line: str) -> str:
    """A folder source with one more line, which is line 4, column 5."""
    return f"sources:\n  - id: a\n    folder: /srv/notes\n    {line}\n"


def folder(config: Config) -> FolderConfig:
    (only,) = config.sources
    assert isinstance(only, FolderConfig)
    return only
