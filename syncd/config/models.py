"""The configuration as values: every key, its default and what it is for.

Keys and defaults are declared here once; the example file and the README are tested against it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationInfo,
    model_validator,
)

from syncd.config import values
from syncd.config.problems import Wrong
from syncd.config.where import MEMORY, Surroundings, absolute, expand
from syncd.memory import Namespace
from syncd.memory.errors import InvalidRequest


def _surroundings(info: ValidationInfo) -> Surroundings:
    return info.context if isinstance(info.context, Surroundings) else Surroundings()


def is_url(written: str) -> bool:
    """Whether a repository is named by address (`https://…`, `git@host:path`), not by path."""
    return "://" in written or re.match(r"[\w.-]+@[\w.-]+:", written) is not None


def _path(value: object, info: ValidationInfo) -> Path:
    if isinstance(value, Path):
        return value
    if not isinstance(value, str):
        raise Wrong(f"expected a path, got {values.describe(value)}")
    return absolute(value, _surroundings(info))


def _folder(value: object, info: ValidationInfo) -> Path:
    path = _path(value, info)
    # what is not there, or not to be looked at, may be mounted later: `check` warns of it
    if os.path.exists(path) and not os.path.isdir(path):
        raise Wrong(f"expected a folder, but {path} is a file")
    return path


def _repository(value: object, info: ValidationInfo) -> str:
    if isinstance(value, str) and is_url(value):
        return expand(value, _surroundings(info).environ)
    return str(_folder(value, info))


def _list(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(value)
    meant = f'["{value}"]' if isinstance(value, str) else None
    raise Wrong(f"expected a list, got {values.describe(value)}", meant)


def _namespace(value: object) -> Namespace:
    if isinstance(value, Namespace):
        return value
    if not isinstance(value, str):
        raise Wrong(f"expected a namespace such as team:a/agent:b, got {values.describe(value)}")
    try:
        return Namespace.parse(value)
    except InvalidRequest as error:
        raise Wrong(str(error)) from error


def _commits(value: object) -> object:
    if isinstance(value, bool):
        return {} if value else None
    if isinstance(value, Mapping | CommitsConfig):
        return value
    raise Wrong(f"expected a mapping or false, got {values.describe(value)}")


def _at_least(least: int) -> AfterValidator:
    def check(value: int) -> int:
        if value < least:
            raise Wrong(f"expected {least} or more, got {value}")
        return value

    return AfterValidator(check)


def _variable(value: str) -> str:
    # what was read is not shown: people write the key itself here by mistake
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
        raise Wrong("expected the name of an environment variable, not its value")
    return value


def _credential(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._@-]{0,254}", value):
        raise Wrong("expected the name of a credential in the systemd unit, not its value")
    return value


def _command(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        raise Wrong("expected a command and its arguments, got an empty list")
    return value


Text = Annotated[str, AfterValidator(values.text)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_list)]
FilePath = Annotated[Path, PlainValidator(_path)]
FolderPath = Annotated[Path, PlainValidator(_folder)]
Duration = Annotated[float, PlainValidator(values.duration)]
Size = Annotated[int, PlainValidator(values.size)]
Share = Annotated[float, PlainValidator(values.share)]
Moment = Annotated[datetime, PlainValidator(values.moment)]


def _default(written: Any) -> Any:
    """A default that is written as in the file, and read as if it stood there."""
    return written


class Model(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        strict=True,
        arbitrary_types_allowed=True,
        validate_default=True,
    )


class KeyConfig(Model):
    """Where a key is found; exactly one of these. The key itself never stands in the file."""

    env: Annotated[Text, AfterValidator(_variable)] | None = Field(
        None, description="the name of the environment variable that holds the key"
    )
    file: FilePath | None = Field(None, description="a file that holds nothing but the key")
    command: Annotated[Texts, AfterValidator(_command)] | None = Field(
        None, description="a program and its arguments; its first line of output is the key"
    )
    credential: Annotated[Text, AfterValidator(_credential)] | None = Field(
        None, description="the name of a credential that systemd hands to the service"
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> KeyConfig:
        named = [name for name, value in self if value is not None]
        if len(named) != 1:
            found = " and ".join(named) or "none"
            raise Wrong(f"expected one of env, file, command and credential, got {found}")
        return self


class LocalConfig(Model):
    """The embedded engine."""

    path: FilePath = Field(
        _default(MEMORY),
        description="the file that holds the memory",
    )


class HostedConfig(Model):
    """A CortexDB, reached over the network."""

    endpoint: Annotated[Text, AfterValidator(values.endpoint)] | None = Field(
        None, description="the address of the service; by default the public one"
    )
    key: KeyConfig | None = Field(None, description="where the key is found")
    ca_file: FilePath | None = Field(
        None, description="the only authorities that are trusted; default: the system's"
    )


class EnginesConfig(Model):
    """What each engine needs to know; only the chosen one's settings are used."""

    local: LocalConfig = Field(_default({}), description="the embedded engine")
    cortexdb: HostedConfig = Field(_default({}), description="a CortexDB of your own")
    tinyhumans: HostedConfig = Field(_default({}), description="the hosted service")


class HoldConfig(Model):
    """When a scan's finding that files are gone waits for a person: both bounds exceeded."""

    more_than: Annotated[int, _at_least(0)] = Field(10, description="so many items")
    share: Share = Field(_default("25%"), description="such a share of the source's items")


class CommitsConfig(Model):
    """Which commits become items."""

    max: Annotated[int, _at_least(1)] = Field(1000, description="the newest so many")
    paths: Texts = Field((), description="only commits that touch one of these paths")
    since: Moment | None = Field(None, description="only commits of this date or later")


class SourceConfig(Model):
    """What folders and repositories have in common."""

    id: Annotated[Text, AfterValidator(values.source_id)] = Field(
        description="letters, digits, . _ -; unique; the source_id of its items"
    )
    include: Texts = Field(
        (), description="gitignore patterns of what to take; default: every text and document file"
    )
    exclude: Texts = Field(
        (), description="gitignore patterns of what to leave out, besides the ignore files"
    )
    namespace: Annotated[Namespace, PlainValidator(_namespace)] = Field(
        _default("root"), description="where the items land"
    )
    tags: Texts = Field((), description="put on every item")
    max_file_size: Size = Field(_default("10MiB"), description="larger files are left out")
    rescan: Duration = Field(_default("15m"), description="how often everything is looked at again")
    hold: HoldConfig = Field(_default({}), description="when a mass removal waits for a person")


class FolderConfig(SourceConfig):
    """A folder whose files become items."""

    folder: FolderPath = Field(description="the folder")


class RepositoryConfig(SourceConfig):
    """A repository whose files and commits become items."""

    repository: Annotated[str, PlainValidator(_repository)] = Field(
        description="a working copy, or a URL that is cloned and fetched"
    )
    branch: Text | None = Field(None, description="the branch to follow; default: what HEAD names")
    files: bool = Field(True, description="whether files become items")
    commits: Annotated[CommitsConfig | None, BeforeValidator(_commits)] = Field(
        _default({}), description="which commits become items, or false"
    )
    fetch: Duration = Field(_default("5m"), description="how often a URL is fetched")


def source_kind(value: object) -> str:
    """Which of the two kinds an entry under `sources` means: "folder" or "repository"."""
    if isinstance(value, RepositoryConfig):
        return "repository"
    written = value if isinstance(value, Mapping) else {}
    own = RepositoryConfig.model_fields.keys() - FolderConfig.model_fields.keys()
    return "repository" if "folder" not in written and own & written.keys() else "folder"


AnySource = Annotated[
    Annotated[FolderConfig, Tag("folder")] | Annotated[RepositoryConfig, Tag("repository")],
    Discriminator(source_kind),
]


class Config(Model):
    """One configuration file, checked."""

    engine: Literal["local", "cortexdb", "tinyhumans"] = Field(
        "local", description="the engine that holds the memory"
    )
    engines: EnginesConfig = Field(_default({}), description="the settings of each engine")
    state: FilePath = Field(
        _default("${XDG_STATE_HOME:-~/.local/state}/syncd"),
        description="the directory of the ledger, the lock and the clones",
    )
    sources: Annotated[tuple[AnySource, ...], BeforeValidator(_list)] = Field(
        description="what is watched"
    )

    def engine_settings(self) -> dict[str, object]:
        """The chosen engine's settings, for `syncd.engines.build_engine`; never a key."""
        chosen = getattr(self.engines, self.engine)
        if isinstance(chosen, LocalConfig):
            return {"path": str(chosen.path)}
        found = {"endpoint": chosen.endpoint, "ca_file": chosen.ca_file and str(chosen.ca_file)}
        return {name: value for name, value in found.items() if value is not None}

    def engine_key(self) -> KeyConfig | None:
        """Where the chosen engine's key is found; None when it has none."""
        return getattr(getattr(self.engines, self.engine), "key", None)

    def folders(self) -> tuple[FolderConfig, ...]:
        return tuple(source for source in self.sources if isinstance(source, FolderConfig))
