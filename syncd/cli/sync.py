"""`syncd sync`: one pass, and a summary of what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from syncd.cli.books import copied, holding, opened
from syncd.cli.check import NO_SOURCE, engine_health
from syncd.cli.errors import Exit, UserError
from syncd.cli.folders import chosen, hold_of, source_of
from syncd.cli.names import printable
from syncd.cli.output import Progress, json_option, note, print_json
from syncd.cli.session import Session, is_new, open_engine
from syncd.cli.text import plural

if TYPE_CHECKING:
    from syncd.cli.folders import AnySource
    from syncd.config import Config
    from syncd.memory import MemoryEngine
    from syncd.sources.source import Source
    from syncd.sync.ledger import Ledger
    from syncd.sync.passes import Pass

Results = list[dict[str, Any]]
# A first fetch of a large history takes minutes; a server that says nothing is given up sooner.
_FETCH_SECONDS = 3600.0


@click.command(epilog="\b\nExample:\n  syncd sync notes --dry-run")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--dry-run", is_flag=True, help="Tell what would be done, and change nothing.")
@click.option(
    "--accept-deletions",
    is_flag=True,
    help="Forget what is gone from the SOURCE, even where that waits for you.",
)
@json_option
@click.pass_obj
def command(
    session: Session, sources: tuple[str, ...], dry_run: bool, accept_deletions: bool, as_json: bool
) -> int:
    """Make memory equal to the disk once. Exits with 0 only when it is.

    While the daemon runs, it is asked to do this, and everything saved before is then in memory.
    """
    if accept_deletions and not sources:
        raise UserError("name the source whose deletions you accept: sync --accept-deletions notes")
    config = session.config()
    picked = chosen(config, sources)
    results = _results(config, picked, dry_run, accept_deletions)
    if as_json:
        print_json({"dry_run": dry_run, "sources": results})
    else:
        for result in results:
            _print(result, dry_run)
    if not config.sources:
        note(NO_SOURCE)
    in_step = all(result["in_step"] for result in results)
    return Exit.DONE if in_step or dry_run else Exit.BEHIND


def _results(
    config: Config, picked: list[AnySource], dry_run: bool, accept_deletions: bool
) -> Results:
    from syncd.sync.lock import StateLocked, holder

    if dry_run:
        held_by = holder(config.state)
        if held_by is None:
            return _foreseen(config, picked, accept_deletions)
        return _asked(config, picked, True, accept_deletions, StateLocked(*held_by))
    try:
        with holding(config), open_engine(config) as engine, opened(config) as ledger:
            orders = [pass_of(config, source, ledger, engine) for source in picked]
            return [_one(order, accept_deletions) for order in orders]
    except StateLocked as locked:
        return _asked(config, picked, False, accept_deletions, locked)


def _asked(
    config: Config,
    picked: list[AnySource],
    dry_run: bool,
    accept_deletions: bool,
    locked: Exception,
) -> Results:
    """Let the running daemon do it. Raises `locked` when whoever holds the state is no daemon."""
    from syncd.daemon.control import NoAnswer, Refused, ask, socket_path

    request = {
        "ask": "sync",
        "sources": [source.id for source in picked],
        "accept_deletions": accept_deletions,
        "dry_run": dry_run,
    }
    try:
        results: Results = ask(socket_path(config.state), request)["sources"]
    except NoAnswer:
        raise locked from None
    except Refused as error:
        serving = engine_health(config).is_serving()
        raise UserError(str(error), Exit.BEHIND if serving else Exit.NOT_SERVING) from error
    return results


def _foreseen(config: Config, picked: list[AnySource], accept_deletions: bool) -> Results:
    """What a sync would do, worked out on a copy of the ledger, so that nothing is written."""
    from syncd.memory.reference import ReferenceEngine
    from syncd.sync.reconcile import agrees, reconcile

    memory = ReferenceEngine() if is_new(config) else open_engine(config, read_only=True)
    results = []
    with memory as engine, copied(config) as ledger:
        for source in picked:
            order = pass_of(config, source, ledger, engine)
            if not agrees(source.id, ledger, engine):
                reconcile(order.source, ledger, engine)
            results.append(_one(order, accept_deletions, dry_run=True))
    return results


def _one(order: Pass, accept_deletions: bool, dry_run: bool = False) -> dict[str, Any]:
    from syncd.sources import SourceUnavailable

    source = order.source.id
    with Progress(f"{source}: files read") as progress:
        order.accept_deletions = accept_deletions
        order.progress = lambda tally: progress.update(tally.examined)
        try:
            if dry_run:
                return order.outlook().as_json()
            _fetch(order.source)
            return order.run().as_json()
        except SourceUnavailable as error:
            order.ledger.note(source, state="unavailable", reason=error.reason)
            return {"source": source, "unavailable": error.reason, "in_step": False}


def _fetch(source: Source) -> None:
    """Bring the copy of what lies elsewhere up to date. Raises SourceUnavailable."""
    from syncd.sources.repository import RepositorySource

    if isinstance(source, RepositorySource) and source.is_remote:
        source.fetch(_FETCH_SECONDS)


def pass_of(config: Config, source: AnySource, ledger: Ledger, engine: MemoryEngine) -> Pass:
    """A pass of a configured source."""
    from syncd.sync.passes import Pass

    return Pass(source_of(config, source), ledger, engine, hold=hold_of(source))


def _print(result: dict[str, Any], dry_run: bool) -> None:
    source = result["source"]
    if "unavailable" in result:
        note(f"{source}: unavailable, nothing was forgotten: {result['unavailable']}")
        return
    click.echo(f"{source}: {_planned(result) if dry_run else _done(result)}")
    if result["skipped"]:
        reasons = ", ".join(f"{count} {reason}" for reason, count in result["skipped"].items())
        click.echo(f"  left out: {reasons}")
    for entry in (*result["set_aside"], *result["unread"]):
        path = printable(entry["path"] or ".")
        click.echo(f"  not in memory: {path}: {printable(entry['reason'])}")
    if result["held"]:
        from syncd.sync.passes import held_reason

        click.echo(f"  held: {held_reason(result['held'], source)}")


def _planned(result: dict[str, Any]) -> str:
    return f"{plural(result['examined'], 'file')} to read, {result['forgotten']} to forget"


def _done(result: dict[str, Any]) -> str:
    if not (result["stored"] or result["replayed"] or result["forgotten"]):
        return "nothing to do" if result["in_step"] else "nothing more could be done"
    parts = [f"{result['stored']} stored", f"{result['forgotten']} forgotten"]
    if result["replayed"]:
        parts.insert(1, f"{result['replayed']} replayed")
    return ", ".join(parts)
