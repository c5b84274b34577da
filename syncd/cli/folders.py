"""From the configuration to folder sources, and what a scan of one would bring into memory."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncd.cli.errors import UserError
from syncd.cli.output import note

if TYPE_CHECKING:
    from syncd.config import Config, FolderConfig
    from syncd.sources.folder import FolderSource
    from syncd.sync.plan import Hold

_EVERY = 500
OTHER = "other text"


def folder_source(config: Config, source: FolderConfig) -> FolderSource:
    """The source that a configured folder means."""
    from syncd.sources.folder import FolderSettings, FolderSource

    return FolderSource(
        FolderSettings(
            id=source.id,
            root=source.folder,
            include=source.include,
            exclude=source.exclude,
            namespace=source.namespace,
            tags=source.tags,
            max_file_size=source.max_file_size,
            private=private_paths(config),
        )
    )


def private_paths(config: Config) -> tuple[Path, ...]:
    """What no source may read: the state, the memory with its companions, the key files."""
    engines = config.engines
    memory = str(engines.local.path)
    keys = (engines.cortexdb.key, engines.tinyhumans.key)
    return (
        config.state,
        *(Path(memory + ending) for ending in ("", "-wal", "-shm", "-journal")),
        *(key.file for key in keys if key is not None and key.file is not None),
    )


@dataclass(slots=True)
class Survey:
    """What a source would bring: files and bytes by language, and what is left out and why."""

    files: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        languages = {
            name: {"files": count, "bytes": self.bytes[name]}
            for name, count in self.files.most_common()
        }
        return {
            "files": self.files.total(),
            "bytes": self.bytes.total(),
            "languages": languages,
            "left_out": dict(self.left_out.most_common()),
            "unreadable": self.unreadable,
        }


def survey(source: FolderSource, seen: Callable[[int], None] = lambda count: None) -> Survey:
    """Look at every name in a source and read no file; `seen` hears the count now and then.

    Files that turn out to be binary or blank are left out later, when they are read.
    """
    from syncd.sources import Blind, LeftOut
    from syncd.sources.language import language_of

    result = Survey()
    for number, sight in enumerate(source.scan()):
        if number % _EVERY == 0:
            seen(number)
        if isinstance(sight, Blind):
            result.unreadable.append(f"{sight.path or '.'}: {sight.reason}")
            continue
        reason = sight.reason if isinstance(sight, LeftOut) else source.judge(sight)
        if reason is not None or isinstance(sight, LeftOut):
            result.left_out[str(reason)] += 1
            continue
        language = language_of(sight.path.rpartition("/")[2], "") or OTHER
        result.files[language] += 1
        result.bytes[language] += sight.look.size
    return result


def hold_of(source: FolderConfig) -> Hold:
    """When inferred absence is held in this source."""
    from syncd.sync.plan import Hold

    return Hold(source.hold.more_than, source.hold.share)


def chosen(config: Config, names: Sequence[str]) -> list[FolderConfig]:
    """The folder sources that were named, all of them when none was. Raises UserError."""
    known = {source.id: source for source in config.folders()}
    for name in names:
        if name not in known:
            raise UserError(_unknown(name, config, list(known)))
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def _unknown(name: str, config: Config, known: Sequence[str]) -> str:
    if any(source.id == name for source in config.sources):
        return f"source {name}: repositories are not synced by this version"
    near = difflib.get_close_matches(name, known, n=1)
    there = ", ".join(known) or "none, add one to `sources` in the configuration"
    return f"there is no source {name}; " + (
        f"did you mean {near[0]}?" if near else f"there are: {there}"
    )


def repositories_left(config: Config) -> int:
    """Say which configured repositories this version does not sync; their number."""
    left = [source.id for source in config.sources if source.id not in _ids(config)]
    for name in left:
        note(f"warning: source {name}: repositories are not synced by this version")
    return len(left)


def _ids(config: Config) -> set[str]:
    return {source.id for source in config.folders()}
