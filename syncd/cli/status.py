"""`syncd status`: whether the daemon runs, and how each source stands."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from syncd.cli.books import trouble
from syncd.cli.check import NO_SOURCE, engine_health
from syncd.cli.errors import Exit, UserError
from syncd.cli.names import printable
from syncd.cli.output import json_option, note, print_json, print_table
from syncd.cli.session import Session, is_new, open_engine
from syncd.cli.text import lasting, plural

if TYPE_CHECKING:
    from syncd.config import Config

# What only a running daemon can be doing.
_UNDER_WAY = ("scanning", "syncing", "polling")
_FINE = ("idle", *_UNDER_WAY)


@click.command(epilog="\b\nExample:\n  syncd status --json")
@json_option
@click.pass_obj
def command(session: Session, as_json: bool) -> int:
    """Show the daemon, the engine and each source: state, files, what is set aside and why."""
    config = session.config()
    status = report(config)
    if as_json:
        print_json(status)
    else:
        _print(status)
    if status["engine"]["health"]["state"] == "down":
        return Exit.NOT_SERVING
    fine = all(s["state"] in _FINE and not s["set_aside"] for s in status["sources"])
    return Exit.DONE if fine else Exit.BEHIND


def report(config: Config) -> dict[str, Any]:
    """The object of contract 6. Raises UserError where the state cannot be looked at."""
    from syncd.sync.ledger import Ledger
    from syncd.sync.lock import holder
    from syncd.sync.status import orphaned_sources, source_status

    unusable = trouble(config.state)
    if unusable:
        raise UserError(unusable, Exit.NOT_SERVING)
    held_by = holder(config.state)
    daemon: dict[str, Any] = {"running": held_by is not None}
    if held_by is not None and held_by.pid is not None:
        daemon["pid"] = held_by.pid
    if held_by is not None and held_by.since is not None:
        daemon["since"] = datetime.fromtimestamp(held_by.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ledger = Ledger.read(config.state)
    try:
        sources = [source_status(ledger, s.id, _kind(s)) for s in config.sources]
        orphans = orphaned_sources(ledger, [s.id for s in config.sources])
    finally:
        if ledger is not None:
            ledger.close()
    for source in sources:
        if held_by is None and source["state"] in _UNDER_WAY:
            source["state"] = "idle"
            source.pop("reason", None)
            source.pop("estimate", None)
    orphans = _remembered(config, orphans)
    engine = {"id": config.engine, "health": engine_health(config).as_json()}
    extra = {"orphaned": orphans} if orphans else {}
    return {"daemon": daemon, "engine": engine, "sources": sources, **extra}


def _remembered(config: Config, names: list[str]) -> list[str]:
    """Those of the sources that memory still holds something of; the ledger may not know."""
    from syncd.memory import ExploreRequest, Facet, MetaFilter
    from syncd.memory.errors import MemoryError

    if not names or is_new(config):
        return []
    try:
        with open_engine(config, read_only=True) as engine:
            found = {
                n: engine.explore(ExploreRequest(Facet.KIND, MetaFilter(source_id=n))).total
                for n in names
            }
    except MemoryError:
        return names
    return [name for name in names if found[name]]


def _kind(source: object) -> str:
    from syncd.config import FolderConfig

    return "folder" if isinstance(source, FolderConfig) else "repository"


def _print(status: dict[str, Any]) -> None:
    daemon, engine = status["daemon"], status["engine"]
    who = f"running, process {daemon.get('pid', '?')}" if daemon["running"] else "not running"
    since = f", since {daemon['since']}" if "since" in daemon else ""
    click.echo(f"daemon: {who}{since}")
    click.echo(f"engine: {engine['id']}, {engine['health']['state']}")
    rows = [("SOURCE", "STATE", "FILES", "PENDING", "SKIPPED", "LAST CHANGE", "LAST PASS")]
    rows += [
        (
            source["id"],
            source["state"],
            str(source["files"]),
            str(source["pending"]),
            str(sum(source["skipped"].values())),
            source.get("last_change", "-"),
            source.get("last_pass", "-"),
        )
        for source in status["sources"]
    ]
    print_table(rows, right=(2, 3, 4), whole=(1, 2, 3, 4))
    for source in status["sources"]:
        _print_reasons(source)
    if "reason" in engine["health"]:
        note(f"warning: engine {engine['id']}: {engine['health']['reason']}")
    if not status["sources"]:
        note(NO_SOURCE)
    for name in status.get("orphaned", ()):
        note(
            f"source {name} is not in the configuration any more, but memory holds items of it; "
            f"to remove them: syncd forget --source {name}"
        )


def _print_reasons(source: dict[str, Any]) -> None:
    name = source["id"]
    if "reason" in source:
        state = "" if source["state"] == "idle" else f"{source['state']}: "
        click.echo(f"{name}: {state}{printable(source['reason'])}")
    if "estimate" in source:
        left = plural(source["pending"], "file")
        click.echo(f"{name}: {left} to go, about {lasting(source['estimate'])}")
    for reason, count in source["skipped"].items():
        click.echo(f"{name}: left out: {count} {reason}")
    for entry in source["set_aside"]:
        click.echo(f"{name}: set aside: {printable(entry['path'])}: {printable(entry['reason'])}")
