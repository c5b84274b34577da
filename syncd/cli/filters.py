"""The options that select items, the same for every command that selects."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from syncd.cli.names import escape
from syncd.config.problems import Wrong
from syncd.config.values import duration

if TYPE_CHECKING:
    from syncd.memory import Instant, MetaFilter

Function = TypeVar("Function", bound=Callable[..., Any])

_KINDS = click.Choice(["document", "conversation", "learning"])
_KIND_HELP = "Only this kind: document, conversation or learning."
_TIME = "a date, an RFC 3339 time, or how long ago (2h, 7d)"
_OPTIONS = (
    click.option("--source", metavar="ID", help="Only items of this source."),
    click.option("--folder", metavar="PATH", help="Only items in this folder or below it."),
    click.option("--path", metavar="PATH", help="Only this file, or the files below it."),
    click.option("--repo", metavar="NAME", help="Only items of this repository (owner/name)."),
    click.option("--language", metavar="NAME", help="Only this language (python, markdown)."),
    click.option("--commit", metavar="HASH", help="Only this commit (its full hash)."),
    click.option("--tag", metavar="TAG", multiple=True, help="Only items with one of these tags."),
    click.option("--kind", metavar="KIND", type=_KINDS, multiple=True, help=_KIND_HELP),
    click.option("--namespace", metavar="NS", help="Only items at exactly this namespace."),
    click.option("--since", metavar="TIME", help=f"Only items observed since: {_TIME}."),
    click.option("--until", metavar="TIME", help=f"Only items observed before: {_TIME}."),
)


def filter_options(function: Function) -> Function:
    """Give a command the filter options; it receives one `selection`, a MetaFilter."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        names = [option for option in options if option in _NAMES]
        selection = selected(**{name: options.pop(name) for name in names})
        return function(*args, selection=selection, **options)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[return-value]


def limit_option(default: int) -> Callable[[Function], Function]:
    """`--limit`, at least 1."""
    most = click.IntRange(min=1, max=1_000_000)
    said = f"So many at most; {default} unless told."
    return click.option("--limit", metavar="N", type=most, default=default, help=said)


cursor_option = click.option("--cursor", metavar="TOKEN", help="Go on where a page ended.")

_NAMES = frozenset(
    "source folder path repo language commit tag kind namespace since until".split()  # noqa: SIM905
)


def selected(
    source: str | None = None,
    folder: str | None = None,
    path: str | None = None,
    repo: str | None = None,
    language: str | None = None,
    commit: str | None = None,
    tag: tuple[str, ...] = (),
    kind: tuple[str, ...] = (),
    namespace: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> MetaFilter:
    """The filter that the options mean. Raises InvalidRequest or click.BadParameter."""
    from syncd.memory import ItemKind, MetaFilter, Namespace, Reach

    return MetaFilter(
        reach=None if namespace is None else Reach.exact(Namespace.parse(namespace)),
        folder=None if folder is None else stored_path(folder),
        file_path=None if path is None else stored_path(path),
        language=None if language is None else language.lower(),
        repo=_text(repo),
        commit=None if commit is None else commit.lower(),
        source_id=_text(source),
        kinds=tuple(ItemKind(name) for name in kind),
        tags_any=tuple(map(escape, tag)),
        observed_after=None if since is None else instant(since, "--since"),
        observed_before=None if until is None else instant(until, "--until"),
    )


def _text(value: str | None) -> str | None:
    return None if value is None else escape(value)


def stored_path(given: str) -> str:
    """A path as items carry it: absolute where it is on disk, else as given (in a repository).

    Directories are resolved as a source's root is; a link at the end is not followed.
    """
    explicit = given.startswith(("./", "../")) or given in (".", "..")
    if not (explicit or os.path.lexists(given)):
        return escape(given)
    parent, name = os.path.split(os.path.abspath(given))
    return escape(os.path.join(os.path.realpath(parent), name))


def instant(text: str, option: str) -> Instant:
    """The moment that a date (local midnight), an RFC 3339 time, or `2h` (ago) means."""
    from syncd.memory import Instant
    from syncd.memory.errors import InvalidRequest

    try:
        return Instant(time.time_ns() - round(duration(text.removesuffix("ago").strip()) * 1e9))
    except Wrong:
        pass
    try:
        return Instant.parse(text)
    except InvalidRequest:
        pass
    try:
        return Instant.of(datetime.fromisoformat(text).astimezone())
    except (ValueError, OverflowError, InvalidRequest) as error:
        raise click.BadParameter(f"{text!r} is not {_TIME}", param_hint=option) from error
