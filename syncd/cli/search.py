"""`syncd search`: the contract's fetch, best hits first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.filters import cursor_option, filter_options, limit_option
from syncd.cli.items import location, shown
from syncd.cli.names import escape
from syncd.cli.output import json_option, note, print_json, terminal_width
from syncd.cli.session import Session
from syncd.cli.text import clip, one_line, words

if TYPE_CHECKING:
    from syncd.memory import FetchMode, FetchPage, Hit, MemoryEngine, MetaFilter


@click.command(epilog="\b\nExample:\n  syncd search parse http header --language python --since 7d")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--mode",
    metavar="MODE",
    type=click.Choice(["keyword", "vector", "hybrid"]),
    help="keyword, vector or hybrid; left out: hybrid where the engine has it, else its first.",
)
@click.option("--ids", is_flag=True, help="Show each item's id.")
@filter_options
@limit_option(10)
@cursor_option
@json_option
@click.pass_obj
def command(
    session: Session,
    query: tuple[str, ...],
    mode: str | None,
    ids: bool,
    selection: MetaFilter,
    limit: int,
    cursor: str | None,
    as_json: bool,
) -> None:
    """Find items by words."""
    from syncd.memory import FetchRequest

    text = escape(" ".join(query))
    with session.engine() as engine:
        chosen = _mode(engine, mode)
        page = engine.fetch(FetchRequest(text, chosen, selection, limit, cursor))
    if as_json:
        print_json(page.as_json())
    else:
        _print(session, page, words(text), ids)


def _mode(engine: MemoryEngine, asked: str | None) -> FetchMode:
    from syncd.memory import FetchMode
    from syncd.memory.errors import Unsupported

    served = engine.descriptor.fetch_modes
    if asked is not None:
        return FetchMode(asked)
    if not served:
        raise Unsupported("this engine does not offer search")
    return FetchMode.HYBRID if FetchMode.HYBRID in served else served[0]


def _print(session: Session, page: FetchPage, wanted: list[str], ids: bool) -> None:
    if not page.hits:
        return session.nothing("nothing found")
    for rank, hit in enumerate(page.hits, 1):
        _print_hit(rank, hit, wanted, ids)
    if page.next_cursor is not None:
        note(f"there is more: --cursor {page.next_cursor}")
    return None


def _print_hit(rank: int, hit: Hit, wanted: list[str], ids: bool) -> None:
    width = terminal_width()
    where, line = location(hit, wanted)
    head = f"{rank:>2}. {one_line(where)}"
    click.echo(click.style(head if width is None else clip(head, width), fg="cyan"))
    if line:
        click.echo("    " + shown(line, wanted, None if width is None else max(10, width - 4)))
    if ids:
        click.echo(f"    {one_line(hit.id)}")
