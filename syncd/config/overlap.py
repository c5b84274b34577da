"""Sources that claim the same name or the same files: two owners of a file undo each other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from syncd.config.document import Document, Place
from syncd.config.models import is_url
from syncd.config.problems import Wrong
from syncd.config.where import Surroundings, absolute


class Claim(NamedTuple):
    """A directory that a source owns: its absolute path, and that path without symbolic links."""

    place: Place
    path: str
    real: str


def clashes(document: Document, around: Surroundings) -> None:
    """Add a problem for each pair of sources with the same id, or with overlapping directories.

    Reads what is written rather than the models, so that other faults do not hide these.
    """
    seen: dict[str, Place] = {}
    for place, written in _texts(document, "id"):
        first = seen.setdefault(written, place)
        if first != place:
            lines = f"lines {document.mark(first).line} and {document.mark(place).line}"
            document.problem(document.mark(place), place, f"two sources have this id: {lines}")
    for one, other in combinations(_claims(document, around), 2):
        how = _overlap(one, other)
        if how:
            line = document.mark(one.place).line
            what = f"{other.path} {how} {one.path} (line {line}): a file can have only one source"
            document.problem(document.mark(other.place), other.place, what)


def _texts(document: Document, *keys: str) -> Iterator[tuple[Place, str]]:
    root = document.value
    sources = root.get("sources") if isinstance(root, dict) else None
    for index, source in enumerate(sources if isinstance(sources, list) else ()):
        for key in keys:
            written = source.get(key) if isinstance(source, dict) else None
            if isinstance(written, str):
                yield ("sources", index, key), written


def _claims(document: Document, around: Surroundings) -> Iterator[Claim]:
    for place, written in _texts(document, "folder", "repository"):
        if place[-1] == "repository" and is_url(written):
            continue
        try:
            path = str(absolute(written, around))
        except Wrong:
            continue
        yield Claim(place, path, os.path.realpath(path))


def _overlap(one: Claim, other: Claim) -> str | None:
    if other.real == one.real or _same(one.real, other.real):
        return "is the same folder as"
    if other.real.startswith(one.real.rstrip("/") + "/"):
        return "lies inside"
    return "contains" if one.real.startswith(other.real.rstrip("/") + "/") else None


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
