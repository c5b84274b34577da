"""`syncd get`: whole items by id."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from syncd.cli.errors import Exit
from syncd.cli.items import name_of
from syncd.cli.names import escape
from syncd.cli.output import json_option, note, print_json
from syncd.cli.session import Session
from syncd.cli.text import harmless, one_line

if TYPE_CHECKING:
    from syncd.memory import Hit


@click.command(epilog="\b\nExample:\n  syncd get 5c1b3f… --json | jq -r '.[0].text'")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@json_option
@click.pass_obj
def command(session: Session, ids: tuple[str, ...], as_json: bool) -> int:
    """Print whole items by id. Exit status 1 when memory lacks one of them."""
    from syncd.memory import GetRequest

    asked = tuple(dict.fromkeys(map(escape, ids)))
    with session.engine() as engine:
        hits = engine.get(GetRequest(asked))
    if as_json:
        print_json([hit.as_json() for hit in hits])
    else:
        _print(hits)
    missing = set(asked) - {hit.id for hit in hits}
    for id in asked:
        if id in missing:
            note(f"memory holds no item {id}")
    return Exit.BEHIND if missing else Exit.DONE


def _print(hits: list[Hit]) -> None:
    for index, hit in enumerate(hits):
        if len(hits) > 1:
            head = f"{'' if index == 0 else chr(10)}==> {one_line(name_of(hit.meta, hit.text))}"
            click.echo(click.style(head, bold=True))
        # a file keeps its bytes when the output is piped; a terminal must not obey them
        on_terminal = sys.stdout is not None and sys.stdout.isatty()
        click.echo(harmless(hit.text) if on_terminal else hit.text)
