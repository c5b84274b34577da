"""From the configuration to sources, and what a scan of one would bring into memory."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syncd.cli.errors import UserError

if TYPE_CHECKING:
    from syncd.config import Config, FolderConfig, RepositoryConfig
    from syncd.sources.folder import FolderSource
    from syncd.sources.repository import RepositorySource
    from syncd.sync.plan import Hold

    AnySource = FolderConfig | RepositoryConfig
    AnyBuilt = FolderSource | RepositorySource

_EVERY = 500
OTHER = "other text"


def source_of(config: Config, source: AnySource) -> AnyBuilt:
    """The source that an entry of the configuration means."""
    from syncd.config import FolderConfig

    if isinstance(source, FolderConfig):
        return folder_source(config, source)
    return repository_source(config, source)


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


def repository_source(config: Config, source: RepositoryConfig) -> RepositorySource:
    """The source that a configured repository means."""
    from syncd.sources.repository import CommitRules, RepositorySettings, RepositorySource

    rules = source.commits
    return RepositorySource(
        RepositorySettings(
            id=source.id,
            repository=source.repository,
            mirrors=config.state / "mirrors",
            branch=source.branch,
            files=source.files,
            commits=CommitRules(rules.max, rules.since, rules.paths) if rules else None,
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
    commits: int = 0

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
            **({"commits": self.commits} if self.commits else {}),
        }


def survey(source: AnyBuilt, seen: Callable[[int], None] = lambda count: None) -> Survey:
    """Look at every name in a source and read no file; `seen` hears the count now and then.

    Files that turn out to be binary or blank are left out later, when they are read.
    """
    from syncd.sources import Blind, LeftOut, Unchanged
    from syncd.sources.language import language_of

    result = Survey()
    for number, sight in enumerate(source.scan()):
        if number % _EVERY == 0:
            seen(number)
        if isinstance(sight, Unchanged):
            continue
        if isinstance(sight, Blind):
            result.unreadable.append(f"{sight.path or '.'}: {sight.reason}")
            continue
        reason = sight.reason if isinstance(sight, LeftOut) else source.judge(sight)
        if reason is not None or isinstance(sight, LeftOut):
            result.left_out[str(reason)] += 1
            continue
        if sight.path.startswith(".git/"):
            result.commits += 1
            continue
        language = language_of(sight.path.rpartition("/")[2], "") or OTHER
        result.files[language] += 1
        result.bytes[language] += sight.look.size
    return result


def hold_of(source: AnySource) -> Hold:
    """When inferred absence is held in this source."""
    from syncd.sync.plan import Hold

    return Hold(source.hold.more_than, source.hold.share)


def chosen(config: Config, names: Sequence[str]) -> list[AnySource]:
    """The sources that were named, all of them when none was. Raises UserError."""
    known = {source.id: source for source in config.sources}
    for name in names:
        if name not in known:
            raise UserError(_unknown(name, list(known)))
    return [known[name] for name in dict.fromkeys(names)] or list(known.values())


def _unknown(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    there = ", ".join(known) or "none, add one to `sources` in the configuration"
    return f"there is no source {name}; " + (
        f"did you mean {near[0]}?" if near else f"there are: {there}"
    )
