"""The command line. Each command is a module that is imported when it is called, not before."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from syncd import __version__


class Entry(NamedTuple):
    """A command's module in this package, and its line in `syncd --help`."""

    module: str
    summary: str


COMMANDS = {
    "init": Entry("init", "Write a configuration for folders and show what would be synced."),
    "check": Entry("check", "Check the configuration, the sources and the engine."),
    "sync": Entry("sync", "Make memory equal to the disk once."),
    "run": Entry("run", "Watch the sources and keep memory equal to them."),
    "status": Entry("status", "Show the daemon, the engine and each source."),
    "search": Entry("search", "Find items by words."),
    "recall": Entry("recall", "Answer a question from memory, with citations."),
    "list": Entry("listing", "List what memory holds."),
    "get": Entry("get", "Print whole items by id."),
    "explore": Entry("explore", "Count what memory holds along one dimension."),
    "forget": Entry("forget", "Remove items from memory."),
    "verify": Entry("verify", "Compare memory with the disk."),
    "service": Entry("service", "Run syncd with systemd, as a service of yours."),
}
_EPILOG = """\b
Exit status: 0 done, 1 something is not in memory, 2 wrong use or configuration,
3 the engine does not serve, 4 another syncd holds the state.

\b
Example:
  syncd init ~/notes && syncd sync && syncd search 'road map'"""


class LazyGroup(click.Group):
    """Knows its commands by name; their help lines are in the table above."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # what people type first: `syncd help` and `syncd help search`
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = importlib.import_module(f"{__name__}.{entry.module}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EPILOG,
)
@click.option(
    "--config", metavar="PATH", help="The configuration; default: ~/.config/syncd/config.yaml."
)
@click.option("-v", "--verbose", count=True, help="Let `run` tell every step.")
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, config: str | None, verbose: int) -> None:
    """Keep an agent's memory equal to folders and repositories, and read it back."""
    from syncd.cli.session import Session

    ctx.obj = Session(config, verbose)
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line and return its exit code; what goes wrong becomes a sentence."""
    from syncd.cli.errors import report

    try:
        code = cli.main(list(arguments), prog_name="syncd", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except Exception as error:  # noqa: BLE001 - the one place where errors become sentences
        return report(error)
    return code if isinstance(code, int) else 0


def main() -> None:
    """The program `syncd`."""
    for stream in (sys.stdout, sys.stderr):
        # a terminal that cannot show a character gets a question mark, never a traceback
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))
