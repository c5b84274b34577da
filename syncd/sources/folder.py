"""A folder as a source: what is in it now, and what each file becomes.

Invariant: one set of rules answers for a whole scan, for one path and for the watcher; and
nothing is ever concluded from a root that is not there.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from syncd.memory import (
    Document,
    Instant,
    MemoryMeta,
    MetaFilter,
    Namespace,
    SourceKind,
    SourceRef,
)
from syncd.sources import builtin, text
from syncd.sources.gitignore import byte_text
from syncd.sources.language import language_of, media_type_of
from syncd.sources.marks import MARK_FILES, MarkReader, look_of, present_marks
from syncd.sources.names import escape, printable, unescape
from syncd.sources.reading import TOO_LARGE, Content, load, reason_of
from syncd.sources.rules import OWN_FILES, Place, Rules
from syncd.sources.seen import (
    Blind,
    Found,
    LeftOut,
    Outcome,
    Reading,
    Root,
    Sighting,
    Skip,
    SourceUnavailable,
)
from syncd.sources.source import Ground
from syncd.sources.walk import NOT_REGULAR, SYMBOLIC_LINK, Walker

# Raised whenever the same bytes become another item: every recipe changes with it.
EXTRACTOR_VERSION = 1
MEBIBYTE = 1024 * 1024
_MAX_PLACES = 16_384
_UNNAMED = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """What the configuration says of a folder source. Patterns are gitignore's, sizes bytes.

    `private` are syncd's own directories and files, which no source ever reads.
    """

    id: str
    root: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    namespace: Namespace = field(default_factory=Namespace.root)
    tags: tuple[str, ...] = ()
    max_file_size: int = 10 * MEBIBYTE
    private: tuple[Path, ...] = ()


class FolderSource:
    """One folder. Keys are paths relative to it, as `syncd.sources.names` spells them."""

    kind = "folder"

    def __init__(self, settings: FolderSettings) -> None:
        self.id = settings.id
        self.root = os.path.realpath(settings.root)
        self._settings = settings
        self._prefix = self.root.rstrip("/") + "/"
        self._shown_root = escape(self.root)
        self._shown_prefix = escape(self._prefix)
        self._private = tuple(os.path.realpath(path) for path in settings.private)
        self._ref = SourceRef(SourceKind.FOLDER, settings.id)
        keys = [key for path in self._private if (key := self._key_below(path))]
        self._rules = Rules(
            settings.include,
            settings.exclude,
            keys,
            _recipe_base(settings, self._shown_root, keys),
            escape(os.path.basename(self.root)),
        )
        self._places: dict[str, Place | LeftOut] = {}
        self._walker = Walker(self.root, self._rules, MarkReader(), self._remember)

    def probe(self) -> Root:
        """The identity of the root; SourceUnavailable when it cannot be listed and entered."""
        if any(f"{self.root}/".startswith(f"{path}/") for path in self._private):
            raise SourceUnavailable(f"{printable(self._shown_root)} holds {OWN_FILES}")
        try:
            handle = os.open(self.root, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(handle)
                if not stat.S_ISDIR(status.st_mode):
                    raise NotADirectoryError(20, "not a directory")
                # Listing asks for "r"; entering, which nothing below works without, for "x".
                os.stat(".", dir_fd=handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise SourceUnavailable(self._complaint(error)) from error
        return Root(status.st_dev, status.st_ino)

    def is_empty(self) -> bool:
        """Whether the root holds nothing at all; SourceUnavailable when that cannot be known."""
        self.probe()
        try:
            with os.scandir(self.root) as entries:
                return next(entries, None) is None
        except OSError as error:
            raise SourceUnavailable(self._complaint(error)) from error

    def _complaint(self, error: OSError) -> str:
        shown = printable(self._shown_root)
        if isinstance(error, FileNotFoundError):
            return f"{shown} does not exist"
        if isinstance(error, NotADirectoryError):
            return f"{shown} is not a folder"
        return f"{shown} cannot be read: {reason_of(error)}"

    def scan(self, under: str = "", mark: str | None = None) -> Iterator[Found]:
        """All that is there, in ascending order of paths; or what is at and below one key.

        A folder has no mark: only its files say whether they changed.
        When something above `under` is left out or cannot be looked at, that is the one answer.
        Raises SourceUnavailable, at the end too: absence counts only after a scan that ended.
        """
        before = self.probe()
        private = self._private_directories()
        found = self._find(under.rstrip("/"), private)
        if isinstance(found, Place):
            yield from self._walker.walk(found, private)
        elif found is not None:
            yield from self._said(found)
        if self.probe() != before:
            raise SourceUnavailable(
                f"{printable(self._shown_root)} was replaced while it was looked at"
            )

    def _said(self, found: Sighting | LeftOut | Blind) -> Iterator[Found]:
        if found.path == "" and isinstance(found, Blind):
            raise SourceUnavailable(f"{printable(self._shown_root)}: {found.reason}")
        yield found
        if isinstance(found, Blind) and not found.path.endswith("/"):
            # Not even its kind is known: it may be a directory, with files below it.
            yield Blind(found.path + "/", found.reason)

    def judge(self, sighting: Sighting) -> str | None:
        """The reason to leave a file out by its name or size, or None to have it read."""
        head, slash, name = sighting.path.rpartition("/")
        place = self._places.get(head + slash)
        if not isinstance(place, Place) or place.recipe != sighting.recipe:
            found = self._furnished(head)
            if not isinstance(found, Place):
                return found.reason if found is not None else "not there any more"
            place = found
        reason = self._rules.refuse(place, name)
        if reason is None and sighting.look.size > self._settings.max_file_size:
            return TOO_LARGE
        return reason

    def read(self, path: str) -> Outcome | None:
        """What the file at a key became; None when there is no regular file any more."""
        content = load(self._walker.os_path(path), self._settings.max_file_size)
        if not isinstance(content, Content):
            return content
        decoded = text.decode(content.data)
        if isinstance(decoded, str):
            return Skip(decoded, content.look, content.settled)
        name = path.rpartition("/")[2]
        if builtin.is_private_key(decoded.text) and not self._rules.names(name, byte_text(path)):
            return Skip(builtin.SECRETS, content.look, content.settled)
        item = self._document(path, name, decoded.text, content.look.mtime_ns)
        return Reading((item,), content.look, content.settled, decoded.encoding)

    def mark(self) -> str | None:
        """None: nothing short of a scan says that a folder is as it was."""
        return None

    def defers(self, path: str) -> bool:
        """False: a file is as quickly read alone."""
        return False

    def read_many(self, paths: Sequence[str]) -> Generator[tuple[str, Outcome | None], None, None]:
        """Each path with what it becomes, in the given order."""
        for path in paths:
            yield path, self.read(path)

    def busy(self) -> str | None:
        """None: nobody tells whether more is to come."""
        return None

    def accounted(self, paths: Collection[str]) -> set[str]:
        """Nothing: a folder knows no more than that something is not there."""
        return set()

    def grounds(self) -> list[Ground]:
        """The folder itself."""
        return [Ground(self.root, self.is_pruned)]

    def is_pruned(self, os_dir: str) -> bool:
        """Whether nothing in a directory is looked at, so that it needs no watch."""
        key = self.key(os_dir)
        return bool(key) and isinstance(self._recalled(f"{key}/"), LeftOut)

    def rules_changed(self, os_dir: str) -> None:
        """Forget what is remembered of the rules in a directory and below, as they changed."""
        key = self.key(os_dir)
        if key is None:
            return
        top = f"{key}/" if key else ""
        # A copy of the keys: a scan on another thread may be adding to them.
        for known in [each for each in list(self._places) if each.startswith(top)]:
            self._places.pop(known, None)

    def key(self, os_path: str) -> str | None:
        """The key of an absolute path: "" for the root, None outside of it."""
        path = os.path.normpath(os_path)
        return "" if path == self.root else self._key_below(path)

    def filter(self, path: str) -> MetaFilter:
        """Selects what this source holds at and below a key (or an absolute `file_path`)."""
        absolute = path if path.startswith("/") else self._shown_prefix + path
        # A filter is a prefix on "/" boundaries, of which "/" alone would be an empty one.
        return MetaFilter(source_id=self.id, file_path=absolute.rstrip("/") or None)

    def key_of(self, meta: MemoryMeta) -> str | None:
        """The key of an item that was listed back; its absolute path when that lies elsewhere."""
        path = meta.file_path
        if path is not None and path.startswith(self._shown_prefix):
            return path[len(self._shown_prefix) :] or path
        return path

    def _key_below(self, os_path: str) -> str | None:
        if not os_path.startswith(self._prefix):
            return None
        return escape(os_path[len(self._prefix) :])

    def _document(self, path: str, name: str, body: str, mtime_ns: int) -> Document:
        language = language_of(name, body)
        absolute = self._shown_prefix + path
        meta = MemoryMeta(
            namespace=self._settings.namespace,
            workspace=self._shown_root,
            source=self._ref,
            tags=self._settings.tags,
            folder=absolute[: -len(name)].rstrip("/") or "/",
            file_path=absolute,
            language=language,
            observed_at=_instant(mtime_ns),
        )
        return Document(body=body, title=name, mime=media_type_of(language), meta=meta)

    def _private_directories(self) -> frozenset[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        for path in self._private:
            try:
                status = os.stat(path)
            except OSError:
                continue  # not made yet; its path is guarded all the same
            if stat.S_ISDIR(status.st_mode):
                found.add((status.st_dev, status.st_ino))
        return frozenset(found)

    def _remember(self, key: str, found: Place | LeftOut) -> None:
        if len(self._places) >= _MAX_PLACES:
            self._places.clear()
        self._places[key] = found

    def _find(
        self, key: str, private: frozenset[tuple[int, int]]
    ) -> Place | Sighting | LeftOut | Blind | None:
        """What is at a key now, asking each directory on the way; a Place is not furnished yet."""
        place = self._rules.root
        names = key.split("/") if key else []
        if not _UNNAMED.isdisjoint(names):
            return None  # no key of anything: ".." would lead out of the root
        for position, name in enumerate(names, 1):
            above = self._furnish(place)
            if not isinstance(above, Place):
                return above
            step = self._step(above, name, private)
            if not isinstance(step, Place):
                below_a_file = isinstance(step, Sighting) and position < len(names)
                return None if below_a_file else step
            place = step
        return place

    def _step(
        self, place: Place, name: str, private: frozenset[tuple[int, int]]
    ) -> Place | Sighting | LeftOut | Blind | None:
        key = place.key + name
        try:
            status = os.lstat(self._prefix + unescape(key))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return Blind(key, reason_of(error))
        if stat.S_ISREG(status.st_mode):
            return Sighting(key, look_of(status), place.recipe)
        if not stat.S_ISDIR(status.st_mode):
            return LeftOut(key, SYMBOLIC_LINK if stat.S_ISLNK(status.st_mode) else NOT_REGULAR)
        if (status.st_dev, status.st_ino) in private:
            return self._left_out(key + "/", OWN_FILES)
        below = self._rules.enter(place, name)
        return below if isinstance(below, Place) else self._left_out(key + "/", below)

    def _left_out(self, key: str, reason: str) -> LeftOut:
        left = LeftOut(key, reason)
        self._remember(key, left)
        return left

    def _furnish(self, place: Place) -> Place | LeftOut | Blind:
        return self._furnish_with(place, MARK_FILES)

    def _furnish_with(self, place: Place, present: frozenset[str]) -> Place | LeftOut | Blind:
        found = self._walker.furnish(place, present)
        if isinstance(found, Place):
            self._remember(found.key, found)
        return found

    def _furnished(self, key: str) -> Place | LeftOut | Blind | None:
        found = self._find(key, self._private_directories())
        if isinstance(found, Place):
            return self._furnish(found)
        return None if isinstance(found, Sighting) else found

    def _recalled(self, key: str) -> Place | LeftOut | Blind:
        """A directory's place, from what is remembered of those above it: no scan, few calls."""
        place = self._places.get("") or self._furnish(self._rules.root)
        names = key.rstrip("/").split("/")
        for position, name in enumerate(names, 1):
            if not isinstance(place, Place):
                break
            below = f"{place.key}{name}/"
            known = self._places.get(below) if position < len(names) else None
            place = known or self._recall(place, name)
        return place

    def _recall(self, place: Place, name: str) -> Place | LeftOut | Blind:
        below = self._rules.enter(place, name)
        if isinstance(below, str):
            return self._left_out(f"{place.key}{name}/", below)
        return self._furnish_with(below, present_marks(self._walker.os_path(below.key)))


def _recipe_base(settings: FolderSettings, root: str, private: list[str]) -> bytes:
    """A digest of all settings that decide what becomes of a file."""
    parts = (
        EXTRACTOR_VERSION,
        builtin.BUILTIN_VERSION,
        settings.id,
        root,
        settings.include,
        settings.exclude,
        str(settings.namespace),
        settings.tags,
        settings.max_file_size,
        sorted(private),
    )
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()


def _instant(ns: int) -> Instant | None:
    """A file's time, unless it lies outside the years that RFC 3339 can write."""
    return Instant(ns) if Instant.MIN.ns <= ns <= Instant.MAX.ns else None
