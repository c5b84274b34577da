"""`syncd forget`: remove items, after saying how many and asking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.errors import Exit, UserError
from syncd.cli.filters import filter_options
from syncd.cli.names import escape
from syncd.cli.output import json_option, note, print_json
from syncd.cli.session import Session
from syncd.cli.text import plural

if TYPE_CHECKING:
    from syncd.memory import ForgetTarget, MemoryEngine, MetaFilter

_EVERYTHING = (
    "forget needs an id or a filter option: without one it would mean everything"
    " (see `syncd forget --help`)"
)


@click.command(epilog="\b\nExample:\n  syncd forget --source old-notes")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@filter_options
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@click.pass_obj
def command(
    session: Session, ids: tuple[str, ...], selection: MetaFilter, yes: bool, as_json: bool
) -> int:
    """Remove items from memory.

    Those named by id, or all that the options select; it says how many and asks.

    Files that are still watched come back when they change, or with `syncd verify --repair`.
    """
    target = _target(ids, selection)
    with session.engine(write=True) as engine:
        if not yes and not _agreed(engine, target):
            return Exit.BEHIND
        report = engine.forget(target)
    if as_json:
        print_json(report.as_json())
    else:
        click.echo(f"forgot {plural(report.forgotten, 'item')}")
    return Exit.DONE


def _target(ids: tuple[str, ...], selection: MetaFilter) -> ForgetTarget:
    from syncd.memory import ForgetTarget

    if ids and not selection.is_empty():
        raise UserError("forget takes ids or filter options, not both")
    if ids:
        return ForgetTarget(ids=tuple(dict.fromkeys(map(escape, ids))))
    if selection.is_empty():
        raise UserError(_EVERYTHING)
    return ForgetTarget(filter=selection)


def _agreed(engine: MemoryEngine, target: ForgetTarget) -> bool:
    """Whether a person wants what this would remove to be removed."""
    count, more = _count(engine, target)
    if count == 0:
        return True
    what = ("at least " if more else "") + plural(count, "item")
    if click.confirm(f"forget {what}?", err=True):
        return True
    note("nothing was forgotten")
    return False


def _count(engine: MemoryEngine, target: ForgetTarget) -> tuple[int, bool]:
    """How many items a target names, and whether there may be more."""
    from syncd.memory import MAX_GET_IDS, ExploreRequest, Facet, GetRequest
    from syncd.memory.requests import MAX_SCAN_LIMIT

    if target.filter is not None:
        request = ExploreRequest(Facet.KIND, target.filter, scan_limit=MAX_SCAN_LIMIT)
        page = engine.explore(request)
        return page.total, page.truncated
    ids = target.ids or ()
    parts = [ids[start : start + MAX_GET_IDS] for start in range(0, len(ids), MAX_GET_IDS)]
    return sum(len(engine.get(GetRequest(part))) for part in parts), False
