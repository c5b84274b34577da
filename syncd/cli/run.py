"""`syncd run`: the daemon, in the foreground, as systemd starts it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from syncd.cli.books import holding
from syncd.cli.check import NO_SOURCE
from syncd.cli.errors import Exit
from syncd.cli.folders import folder_source, hold_of, repository_source
from syncd.cli.output import note
from syncd.cli.session import Session, open_engine

if TYPE_CHECKING:
    from syncd.cli.folders import AnySource
    from syncd.config import Config
    from syncd.daemon.desk import Watched


@click.command(epilog="\b\nExample:\n  syncd --config ~/notes.yaml run")
@click.pass_obj
def command(session: Session) -> int:
    """Watch the sources and keep memory equal to them, until it is told to stop.

    `syncd service install` lets systemd do this. A second daemon on the same state is refused.
    """
    from syncd.config.keys import stamp
    from syncd.daemon.journal import setup_logging
    from syncd.daemon.process import serve
    from syncd.sync.ledger import Ledger

    config = session.config()
    setup_logging("DEBUG" if session.verbose else "INFO")
    with holding(config) as lock, open_engine(config) as engine:

        def open_ledger() -> Ledger:
            lock.renew()  # the directory may have been deleted while the daemon ran
            return Ledger.open(config.state)

        if not config.sources:
            note(NO_SOURCE)
        key = partial(stamp, config.engine_key())
        serve(watched(config), open_ledger, engine, config.state, key)
    return Exit.DONE


def watched(config: Config) -> list[Watched]:
    """The sources of a configuration as the daemon takes them."""
    return [_watched(config, source) for source in config.sources]


def _watched(config: Config, source: AnySource) -> Watched:
    from syncd.config import FolderConfig
    from syncd.daemon.desk import Watched

    if isinstance(source, FolderConfig):
        return Watched(folder_source(config, source), hold_of(source), source.rescan)
    built = repository_source(config, source)
    fetch = built.fetch if built.is_remote else None
    return Watched(built, hold_of(source), source.rescan, fetch, source.fetch)
