"""`syncd verify`: memory against the disk, item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.books import holding, opened
from syncd.cli.errors import Exit
from syncd.cli.folders import chosen, folder_source
from syncd.cli.names import printable
from syncd.cli.output import json_option, note, print_json
from syncd.cli.session import Session, open_engine
from syncd.cli.sync import pass_of
from syncd.cli.text import plural

if TYPE_CHECKING:
    from syncd.config import Config, FolderConfig
    from syncd.sync.verify import Findings

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
    findings = _repaired(config, picked) if repair else _compared(session, config, picked)
    if as_json:
        print_json({"repaired": repair, "sources": [found.as_json() for found in findings]})
    else:
        for found in findings:
            _print(found)
        if not repair and not all(found.in_step for found in findings):
            note("`syncd verify --repair` mends it")
    return Exit.DONE if all(found.in_step for found in findings) else Exit.BEHIND


def _compared(session: Session, config: Config, picked: list[FolderConfig]) -> list[Findings]:
    from syncd.sync.verify import verify

    with session.engine() as engine:
        return [verify(folder_source(config, source), engine) for source in picked]


def _repaired(config: Config, picked: list[FolderConfig]) -> list[Findings]:
    from syncd.sync.verify import repair, verify

    out = []
    with holding(config), open_engine(config) as engine, opened(config) as ledger:
        for source in picked:
            order = pass_of(config, source, ledger, engine)
            found = verify(order.source, engine)
            if not found.in_step:
                repair(order, found)
                found = verify(order.source, engine)
            out.append(found)
    return out


def _print(found: Findings) -> None:
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
