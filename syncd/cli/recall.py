"""`syncd recall`: an answer from memory, with the items that it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.filters import filter_options, limit_option
from syncd.cli.items import cited
from syncd.cli.names import escape
from syncd.cli.output import json_option, print_json, terminal_width
from syncd.cli.session import Session
from syncd.cli.text import clip, harmless

if TYPE_CHECKING:
    from syncd.memory import MetaFilter, RecallAnswer


@click.command(epilog="\b\nExample:\n  syncd recall 'what did we decide about retries?' --tag work")
@click.argument("question", nargs=-1, required=True)
@click.option("--instructions", metavar="TEXT", help="How to answer, where the engine heeds it.")
@filter_options
@limit_option(10)
@json_option
@click.pass_obj
def command(
    session: Session,
    question: tuple[str, ...],
    instructions: str | None,
    selection: MetaFilter,
    limit: int,
    as_json: bool,
) -> None:
    """Answer a question from memory, with citations."""
    from syncd.memory import RecallRequest

    request = RecallRequest(escape(" ".join(question)), selection, limit, instructions)
    with session.engine() as engine:
        answer = engine.recall(request)
    if as_json:
        print_json(answer.as_json())
    else:
        _print(session, answer)


def _print(session: Session, answer: RecallAnswer) -> None:
    if answer.answer.strip() and (answer.citations or not session.empty):
        click.echo(harmless(answer.answer.strip("\n")))
    if not answer.citations:
        return None if answer.answer.strip() else session.nothing("memory holds nothing on this")
    lines = [cited(citation, number) for number, citation in enumerate(answer.citations, 1)]
    # an answer that quotes has named its sources already
    unnamed = [line for line in lines if line not in answer.answer]
    width = terminal_width()
    for index, line in enumerate(unnamed):
        click.echo(("" if index else "\n") + (line if width is None else clip(line, width)))
    return None
