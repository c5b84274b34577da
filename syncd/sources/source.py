"""What the sync room asks of every kind of source, so that one pass serves them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import NamedTuple, Protocol

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

    def scan(self, under: str = "", mark: str | None = None) -> Iterator[Seen]:
        """What is there at and below a path, in ascending order of path.

        `mark` is what `mark()` said after an earlier whole scan whose pass left nothing undone;
        what is still as it says may be one `Unchanged` instead of many sightings.
        """

    def mark(self) -> str | None:
        """What the last whole scan that ended stands for: an opaque text, the ledger's to keep.

        None when the source has no such thing, or nothing can be concluded from that scan.
        """

    def judge(self, sighting: Sighting) -> str | None:
        """Why a file is left out by its name or size, or None when it is to be read."""

    def read(self, path: str) -> Outcome | None:
        """What a path becomes, or None when it is not there any more."""

    def defers(self, path: str) -> bool:
        """Whether a path is better read together with others, by `read_many`, than alone."""

    def read_many(self, paths: Sequence[str]) -> Generator[tuple[str, Outcome | None], None, None]:
        """What each of several paths becomes: each once, in the order that the source likes.

        Closing the iterator early ends whatever it had running.
        """

    def busy(self) -> str | None:
        """What goes on in it now, so that what is there says little; None when it rests."""

    def accounted(self, paths: Collection[str]) -> set[str]:
        """Those of `paths`, which a scan did not show, whose absence the source itself explains."""

    def filter(self, path: str) -> MetaFilter | None:
        """The filter that admits the items at and below a path, and nothing of other sources.

        None when no filter can say so; the items below are then forgotten one by one.
        """

    def key_of(self, meta: MemoryMeta) -> str | None:
        """The path of an item listed back, or None when it has none in any source like this."""


class Ground(NamedTuple):
    """A directory whose changes tell of a source, and what in it is never looked into."""

    root: str
    is_pruned: Callable[[str], bool]


class WatchableSource(Source, Protocol):
    """A source whose changes show as events on disk. Called from the threads that watch, too."""

    def grounds(self) -> Sequence[Ground]:
        """What is to be watched; SourceUnavailable while it is not there."""

    def key(self, os_path: str) -> str | None:
        """The key to look at when something changed at an OS path; None when nothing did."""

    def rules_changed(self, os_dir: str) -> None:
        """Hear that a rule file in a directory changed, before `is_pruned` is asked again."""
