"""`syncd verify`: memory against the disk, item by item."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from syncd.cli.books import holding, opened
from syncd.cli.errors import Exit
from syncd.cli.folders import chosen, source_of
from syncd.cli.names import printable
from syncd.cli.output import json_option, note, print_json
from syncd.cli.session import Session, open_engine
from syncd.cli.sync import pass_of
from syncd.cli.text import plural

if TYPE_CHECKING:
    from syncd.cli.folders import AnySource
    from syncd.config import Config
    from syncd.sync.passes import Pass
    from syncd.sync.verify import Findings

    Results = list[Findings | "Away"]

_SHOWN = 20


@click.command(epilog="\b\nExample:\n  syncd verify notes --repair")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--repair", is_flag=True, help="Mend what is found; what is held stays held.")
@json_option
@click.pass_obj
def command(session: Session, sources: tuple[str, ...], repair: bool, as_json: bool) -> int:
    """Compare memory with the disk: missing, stale, orphaned and duplicate items.

    Reads every file, whatever the ledger says. Exits with 0 only when all is equal.
    """
    config = session.config()
    picked = chosen(config, sources)
    results = _repaired(config, picked) if repair else _compared(session, config, picked)
    if as_json:
        print_json({"repaired": repair, "sources": [result.as_json() for result in results]})
    else:
        for result in results:
            _print(result)
        if not repair and any(_mendable(result) for result in results):
            note("`syncd verify --repair` mends it")
    return Exit.DONE if all(result.in_step for result in results) else Exit.BEHIND


class Away(NamedTuple):
    """A source that could not be looked at, so that nothing is known."""

    source: str
    reason: str
    in_step: bool = False

    def as_json(self) -> dict[str, Any]:
        return {"source": self.source, "unavailable": self.reason, "in_step": self.in_step}


def _mendable(result: Findings | Away) -> bool:
    return not (result.in_step or isinstance(result, Away))


def _compared(session: Session, config: Config, picked: list[AnySource]) -> Results:
    from syncd.sync.verify import verify

    with session.engine() as engine:
        return [
            _or_away(source.id, partial(verify, source_of(config, source), engine))
            for source in picked
        ]


def _repaired(config: Config, picked: list[AnySource]) -> Results:
    with holding(config), open_engine(config) as engine, opened(config) as ledger:
        return [
            _or_away(source.id, partial(_mend, pass_of(config, source, ledger, engine)))
            for source in picked
        ]


def _mend(order: Pass) -> Findings:
    from syncd.sync.verify import repair, verify

    found = verify(order.source, order.engine)
    if found.in_step:
        return found
    repair(order, found)
    return verify(order.source, order.engine)


def _or_away(source: str, compare: Callable[[], Findings]) -> Findings | Away:
    from syncd.sources import SourceUnavailable

    try:
        return compare()
    except SourceUnavailable as error:
        return Away(source, error.reason)


def _print(found: Findings | Away) -> None:
    if isinstance(found, Away):
        note(f"{found.source}: unavailable, so not compared: {found.reason}")
        return
    if found.in_step:
        click.echo(f"{found.source}: {plural(found.files, 'file')}, all in memory as on the disk")
    for what in ("missing", "stale", "orphaned", "duplicate"):
        paths = getattr(found, what)
        for path in paths[:_SHOWN]:
            click.echo(f"{found.source}: {what}: {printable(path)}")
        if len(paths) > _SHOWN:
            click.echo(f"{found.source}: {what}: and {len(paths) - _SHOWN} more")
    for path in found.unread:
        click.echo(f"{found.source}: could not be read: {printable(path or '.')}")
    if found.strangers:
        click.echo(f"{found.source}: {plural(len(found.strangers), 'item')} without a path")
