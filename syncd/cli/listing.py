"""`syncd list`: what memory holds, a page at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.filters import cursor_option, filter_options, limit_option
from syncd.cli.items import name_of
from syncd.cli.output import json_option, note, print_json, print_table
from syncd.cli.session import Session

if TYPE_CHECKING:
    from syncd.memory import Hit, MetaFilter


@click.command("list", epilog="\b\nExample:\n  syncd list --source notes --since 2h --limit 20")
@filter_options
@limit_option(100)
@cursor_option
@json_option
@click.pass_obj
def command(
    session: Session, selection: MetaFilter, limit: int, cursor: str | None, as_json: bool
) -> None:
    """List what memory holds."""
    from syncd.memory import ListRequest

    with session.engine() as engine:
        page = engine.list(ListRequest(selection, limit, cursor))
    if as_json:
        return print_json(page.as_json())
    if not page.items:
        return session.nothing("nothing to list")
    print_table([_row(hit) for hit in page.items], whole=(0, 1), paths=(2,))
    if page.next_cursor is not None:
        note(f"there is more: --cursor {page.next_cursor}")
    return None


def _row(hit: Hit) -> tuple[str, str, str]:
    observed = hit.meta.observed_at
    return hit.id, "" if observed is None else str(observed)[:10], name_of(hit.meta, hit.text)
