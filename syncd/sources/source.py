"""What the sync room asks of every kind of source, so that one pass serves them all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from syncd.memory import MemoryMeta, MetaFilter
from syncd.sources.seen import Outcome, Root, Seen, Sighting


class Source(Protocol):
    """Something whose parts have paths. Paths are keys: relative, `/`-separated, valid UTF-8."""

    @property
    def id(self) -> str:
        """The name in the configuration; `meta.source.id` of its items."""

    @property
    def kind(self) -> str:
        """`folder` or `repository`."""

    @property
    def root(self) -> str:
        """Where it lies, absolute, links resolved."""

    def probe(self) -> Root:
        """The identity of the root; raises SourceUnavailable when it cannot be trusted now."""

    def is_empty(self) -> bool:
        """Whether nothing at all lies in it."""

    def scan(self, under: str = "") -> Iterator[Seen]:
        """What is there at and below a path, in ascending order of path."""

    def judge(self, sighting: Sighting) -> str | None:
        """Why a file is left out by its name or size, or None when it is to be read."""

    def read(self, path: str) -> Outcome | None:
        """What a file becomes, or None when it is not there any more."""

    def filter(self, path: str) -> MetaFilter:
        """The filter that admits the items at and below a path, and nothing of other sources."""

    def key_of(self, meta: MemoryMeta) -> str | None:
        """The path of an item listed back, or None when it has none in any source like this."""
