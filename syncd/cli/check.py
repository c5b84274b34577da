"""`syncd check`: whether the configuration is right, and what stands in the way of a sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from syncd.cli.books import trouble
from syncd.cli.errors import Exit
from syncd.cli.names import escape
from syncd.cli.output import json_option, note, print_json, print_table
from syncd.cli.session import Session, is_new, local_file, open_engine
from syncd.config import ConfigError

if TYPE_CHECKING:
    from syncd.config import Config, FolderConfig, RepositoryConfig
    from syncd.memory import EngineHealth
    from syncd.sources.source import Source

NO_SOURCE = "warning: there is no source in the configuration, so nothing is watched"


@click.command(epilog="\b\nExample:\n  syncd --config new.yaml check --json")
@json_option
@click.pass_obj
def command(session: Session, as_json: bool) -> int:
    """Check the configuration, the sources and the engine. Changes nothing."""
    path = session.path()
    try:
        config = session.config()
    except ConfigError as error:
        if not as_json:
            raise
        problems = [_problem(problem._asdict()) for problem in error.problems]
        print_json({"config": escape(str(path)), "valid": False, "problems": problems})
        return Exit.WRONG
    sources = [_source(config, source) for source in config.sources]
    health = engine_health(config)
    unusable = trouble(config.state)
    state = {"at": escape(str(config.state)), "warnings": [unusable] if unusable else []}
    engine = {"id": config.engine, "health": health.as_json()}
    if as_json:
        names = {"config": escape(str(path)), "valid": True, "problems": []}
        print_json({**names, "sources": sources, "state": state, "engine": engine})
    else:
        _print(str(path), config, sources, health)
        if unusable:
            note(f"warning: {unusable}")
    return Exit.NOT_SERVING if unusable or not health.is_serving() else Exit.DONE


def _problem(fields: dict[str, Any]) -> dict[str, Any]:
    shown = {**fields, "file": escape(str(fields["file"]))}
    return {name: value for name, value in shown.items() if value is not None}


def _source(config: Config, source: FolderConfig | RepositoryConfig) -> dict[str, Any]:
    from syncd.cli.folders import source_of
    from syncd.config import FolderConfig

    found = {"id": source.id, "warnings": _warnings(source_of(config, source))}
    if isinstance(source, FolderConfig):
        return {**found, "kind": "folder", "at": escape(str(source.folder))}
    from syncd.sources.repository import shown_address

    return {**found, "kind": "repository", "at": shown_address(source.repository)}


def _warnings(source: Source) -> list[str]:
    from syncd.sources import SourceUnavailable

    try:
        source.probe()
    except SourceUnavailable as error:
        return [f"unavailable: {error.reason}; what memory has of it stays"]
    return []


def engine_health(config: Config) -> EngineHealth:
    """Whether the engine serves. A memory that is yet to be made is no fault, and is not made."""
    from syncd.memory import EngineHealth
    from syncd.memory.errors import MemoryError

    if is_new(config):
        return EngineHealth.ok()
    try:
        with open_engine(config, read_only=True) as engine:
            return engine.health()
    except MemoryError as error:
        return EngineHealth.down(error.message)


def _print(path: str, config: Config, sources: list[dict[str, Any]], health: EngineHealth) -> None:
    rows = [("configuration", path, "ok")]
    for source in sources:
        state = "see below" if source["warnings"] else "ok"
        rows.append((f"source {source['id']}", source["at"], state))
    local = local_file(config)
    at = "" if local is None else str(local)
    new = " (made by the first sync)" if is_new(config) else ""
    rows.append((f"engine {config.engine}", at, health.state + new))
    print_table(rows, paths=(1,), whole=(2,))
    for source in sources:
        for warning in source["warnings"]:
            note(f"warning: source {source['id']}: {warning}")
    if health.reason:
        note(f"warning: engine {config.engine}: {health.reason}")
    if not sources:
        note(NO_SOURCE)
