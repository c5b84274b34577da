"""`syncd explore`: how many items there are for each value of one facet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from syncd.cli.filters import filter_options
from syncd.cli.output import json_option, note, print_json, print_table
from syncd.cli.session import Session
from syncd.cli.text import plural

if TYPE_CHECKING:
    from syncd.memory import ExplorePage, MetaFilter

FACETS = (
    "kind",
    "source",
    "source_id",
    "workspace",
    "folder",
    "file_path",
    "language",
    "repo",
    "url",
    "thread",
    "agent",
    "tool_call",
    "tag",
    "namespace",
)


@click.command(epilog="\b\nExample:\n  syncd explore language --source widgets")
@click.argument("facet", metavar="FACET", type=click.Choice(FACETS))
@filter_options
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1, 500),
    default=50,
    help="So many values at most; 50 unless told.",
)
@json_option
@click.pass_obj
def command(session: Session, facet: str, selection: MetaFilter, limit: int, as_json: bool) -> None:
    """Count what memory holds along one dimension.

    FACET is one of kind, source, source_id, workspace, folder, file_path, language, repo, url,
    thread, agent, tool_call, tag and namespace.
    """
    from syncd.memory import ExploreRequest, Facet

    with session.engine() as engine:
        page = engine.explore(ExploreRequest(Facet(facet), selection, limit))
    if as_json:
        print_json(page.as_json())
    else:
        _print(page)


def _print(page: ExplorePage) -> None:
    print_table(
        [(f"{bucket.count:,}", bucket.value) for bucket in page.buckets], right=(0,), whole=(0,)
    )
    said = [plural(page.total, "item") + (" read, there are more" if page.truncated else "")]
    if page.missing:
        said.append(f"{page.missing:,} without a {page.facet.value}")
    if page.more_buckets:
        said.append(f"{plural(page.more_buckets, 'more value')}: --limit")
    note(", ".join(said))
