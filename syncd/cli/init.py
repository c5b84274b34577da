"""`syncd init`: a configuration for some folders, and what it would bring into memory."""

from __future__ import annotations

import json
import os
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import click

from syncd.cli.errors import UserError
from syncd.cli.names import escape
from syncd.cli.output import Progress, json_option, note, print_json, print_table
from syncd.cli.session import Session
from syncd.cli.text import amount, one_line, plural
from syncd.config.values import sanitised_id
from syncd.config.where import home

if TYPE_CHECKING:
    from syncd.cli.folders import Survey
    from syncd.config import Config

_TOP = """\
# What syncd keeps in memory. `syncd check` says whether this file is right.

engine: local                 # memory lies in a file on this machine

sources:
"""
_REMARKS = (
    '    # include: ["*.md"]       # gitignore patterns; by default every text file is taken',
    '    # exclude: ["archive/"]   # besides .gitignore, .syncdignore and the built-in list',
    "    # tags: [personal]",
)
_PLAIN = re.compile(r"[~/A-Za-z0-9_][A-Za-z0-9_./-]*")
_UNPRINTABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_LANGUAGES_SHOWN = 12


@click.command(epilog="\b\nExample:\n  syncd init ~/notes ~/papers")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Replace a configuration that is there already.")
@json_option
@click.pass_obj
def command(session: Session, paths: tuple[str, ...], force: bool, as_json: bool) -> None:
    """Write a configuration for folders and show what would be synced.

    Where there is one already that names these folders, nothing is written.
    """
    from syncd.config import parse

    target = Path(os.path.realpath(session.path()))
    wanted = folders(paths)
    if not force and os.path.lexists(target):
        config, new = _present(target, wanted), False
    else:
        text = written(wanted)
        # what is written must be what `load` takes, whatever the folders are called
        config, new = parse(target, text.encode()), True
        write(target, text.encode(), force=force)
    if not as_json:
        there = f"{target} is there already and names this: nothing to write"
        click.echo(one_line(f"wrote {target}" if new else there))
    _show(target, config, as_json)


def _present(target: Path, wanted: Sequence[str]) -> Config:
    """The configuration that is there, when it names the wanted folders. Raises UserError."""
    from syncd.config import ConfigError, load

    try:
        config = load(target)
    except ConfigError as error:
        raise UserError(
            f"{target} is there already, but is not right: mend it (`syncd check` tells how), "
            "or replace it with --force"
        ) from error
    known = {os.path.realpath(source.folder): source.id for source in config.folders()}
    new = [path for path in wanted if path not in known]
    for path in new:
        _refuse_overlap(path, known)
    if new:
        ids = [source.id for source in config.sources]
        raise UserError(
            f"{target} is there already; to watch more, add this under `sources:` in it "
            "(or replace it with --force)",
            lines=_entries(new, ids, bare=True),
        )
    return config


def _refuse_overlap(path: str, known: Mapping[str, str]) -> None:
    for folder, id in known.items():
        for inner, outer in ((path, folder), (folder, path)):
            if inner.startswith(outer.rstrip("/") + "/"):
                what = "lies inside" if inner == path else "contains"
                raise UserError(
                    f"{path} {what} {folder}, which is watched already as source {id}: "
                    "a file can have only one source"
                )


def folders(given: Sequence[str]) -> list[str]:
    """The folders as absolute paths, each once. Raises UserError for what is no folder."""
    paths = [os.path.realpath(path) for path in given]
    for name, path in zip(given, paths, strict=True):
        if not os.path.lexists(path):
            raise UserError(
                f"{name}: there is no such folder; to make it: mkdir -p {shlex.quote(name)}"
            )
        if not os.path.isdir(path):
            raise UserError(f"{name} is a file: name the folder that it lies in")
    unique = list(dict.fromkeys(paths))
    for one, other in combinations(sorted(unique), 2):
        if other.startswith(one.rstrip("/") + "/"):
            raise UserError(f"{other} lies inside {one}: name only one of them")
    return unique


def written(paths: Sequence[str]) -> str:
    """The configuration for these folders, as the text of its file."""
    return _TOP + "\n".join(_entries(paths)) + "\n"


def _entries(paths: Sequence[str], taken: Sequence[str] = (), bare: bool = False) -> list[str]:
    """The lines under `sources:` for these folders; `bare` without the remarks."""
    ids = list(taken)
    lines = []
    for path in paths:
        ids.append(_fresh_id(path, ids))
        lines += [f"  - id: {_scalar(ids[-1])}", f"    folder: {_scalar(_short(path))}"]
        lines += () if bare else _REMARKS
    return lines


def _fresh_id(path: str, taken: Sequence[str]) -> str:
    base = sanitised_id(os.path.basename(path) or "root")[:90]
    names = (base if number == 1 else f"{base}-{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _short(path: str) -> str:
    """The path as it stands in the file, with `~` for the home directory."""
    if "${" in path:
        raise UserError(f"{path}: a folder with ${{ in its name cannot be written in the file")
    root = home(os.environ)
    below = root is not None and root != "/" and path.startswith(root.rstrip("/") + "/")
    return escape("~" + path[len(root.rstrip("/")) :] if below and root else path)


def _scalar(text: str) -> str:
    """Text as YAML: plain where no reader could take it for anything else, else quoted."""
    plain = _PLAIN.fullmatch(text) and not re.fullmatch(r"[\d._-].*|true|false|null|~", text, re.I)
    if plain:
        return text
    # YAML is JSON but for these, and it takes no pair of escapes for one character
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


def write(target: Path, data: bytes, *, force: bool) -> None:
    """Put a file of mode 0600 in place whole or not at all; without `force` only where none is."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".syncd-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if force:
            os.replace(temporary, target)
        else:
            # unlike a rename, a link never replaces a file that came in between
            _link(temporary, target)
    except FileExistsError as error:
        raise UserError(f"{target} is there already: replace it with --force") from error
    finally:
        Path(temporary).unlink(missing_ok=True)


def _link(temporary: str, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        # FAT and some network file systems know no hard links
        if os.path.lexists(target):
            raise
        os.rename(temporary, target)


def _show(target: Path, config: Config, as_json: bool) -> None:
    from syncd.cli.folders import folder_source, survey

    shown = []
    for source in config.folders():
        with Progress(f"looking at {source.id}") as progress:
            found = survey(folder_source(config, source), progress.update)
        shown.append({"id": source.id, "folder": escape(str(source.folder)), **found.as_json()})
        if not as_json:
            _print(source.id, str(source.folder), found)
    if as_json:
        print_json({"config": escape(str(target)), "sources": shown})
    else:
        click.echo("\nnext:\n  syncd sync               bring this into memory once")
        click.echo("  syncd run                keep it there, equal to the disk, while this runs")
        click.echo("  syncd service install    the same from now on, started at login")
        click.echo("  syncd search WORDS       find it again")


def _print(id: str, folder: str, found: Survey) -> None:
    total = f"{plural(found.files.total(), 'file')}, {amount(found.bytes.total())}"
    click.echo(f"\n{id}: {one_line(folder)}: {total}")
    common = found.files.most_common(_LANGUAGES_SHOWN)
    rows = [(name, f"{count:,}", amount(found.bytes[name])) for name, count in common]
    more = len(found.files) - len(common)
    if more:
        rest = found.files.total() - sum(count for _, count in common)
        rows.append((plural(more, "more language"), f"{rest:,}", ""))
    print_table(rows, right=(1, 2), indent="  ")
    if found.left_out:
        reasons = ", ".join(f"{count:,} {why}" for why, count in found.left_out.most_common())
        click.echo(f"  left out: {one_line(reasons)}")
    for blind in found.unreadable[:5]:
        note(f"cannot look at {blind}")
    if len(found.unreadable) > 5:
        note(f"and {plural(len(found.unreadable) - 5, 'more place')} that cannot be looked at")
