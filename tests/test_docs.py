"""README, CHANGELOG and the example file say what the code does; each claim is held against it."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

from syncd import __version__
from syncd.cli import COMMANDS, cli
from syncd.cli.errors import Exit
from syncd.config.explain import models_in
from syncd.config.models import Config, FolderConfig, RepositoryConfig, SourceConfig

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = (ROOT / "config" / "syncd.example.yaml").read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text under a heading of the README."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", README, re.M | re.S)
    assert found, f"the README has no section {title!r}"
    return found[1]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells[2:] if not set(row[0]) <= set("- ")]


def words(text: str) -> set[str]:
    """What stands in code spans."""
    return {word for span in re.findall(r"`([^`]+)`", text) for word in re.split(r"[^\w-]+", span)}


# --- commands


def test_every_command_is_in_the_table_and_nothing_else() -> None:
    named = [word for row in rows(section("Commands")) for word in _named(row[0])]
    assert sorted(named) == sorted(COMMANDS)


def _named(cell: str) -> Iterator[str]:
    for span in re.findall(r"`([^`]+)`", cell):
        yield span.removeprefix("syncd ").split()[0]


def command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_its_own_parser_takes(name: str) -> None:
    found = command(name)
    example = (found.epilog or "").rpartition("\n")[2].split("|")[0].split("&&")[0]
    arguments = shlex.split(example)
    assert arguments[0] == "syncd"
    at = arguments.index(name)
    cli.make_context("syncd", arguments[1 : at + 1], resilient_parsing=True)
    found.make_context(name, arguments[at + 1 :])


def test_the_options_that_the_readme_names_exist() -> None:
    text = section("Commands") + section("What you can rely on")
    known = {
        option
        for name in COMMANDS
        for parameter in command(name).params
        for option in parameter.opts
    }
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text):
        assert option in known, option


def test_the_filter_options_are_all_told() -> None:
    told = set(re.findall(r"--[a-z]+", section("Commands")))
    options = {opt for parameter in command("list").params for opt in parameter.opts}
    assert options - {"-h", "--help"} <= told


def test_the_exit_codes_are_the_code_s() -> None:
    text = " ".join(section("Commands").partition("Exit codes:")[2].split())
    told = {int(code) for code in re.findall(r"(?:^|, )(\d) ", " " + text)}
    told |= {0} if text.startswith("0 done") else set()
    assert told == set(Exit) - {Exit.INTERRUPTED}
    help_text = " ".join((cli.epilog or "").split())
    for code in sorted(told):
        assert f"{int(code)} " in help_text


# --- configuration


def models() -> Iterator[type[BaseModel]]:
    yield from (Config, FolderConfig, RepositoryConfig)


def test_every_key_of_the_models_is_in_the_table() -> None:
    told = words("".join(row[0] for row in rows(section("Configuration"))))
    keys = {name for model in models() for name in model.model_fields}
    assert told == keys


def test_the_defaults_in_the_table_are_the_models_own() -> None:
    told = {row[0].strip("`"): row[2].strip("`") for row in rows(section("Configuration"))}
    checked = 0
    for model in (Config, SourceConfig):
        for name, field in model.model_fields.items():
            if isinstance(field.default, str) and name in told:
                shown = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", field.default)
                assert told[name] == shown, name
                checked += 1
    assert checked >= 4


def every_key(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        for inner in models_in(field.annotation):
            yield from every_key(inner)


def test_every_key_is_in_the_example() -> None:
    for model in models():
        for key in set(every_key(model)):
            assert re.search(rf"^[\s#-]*{key}:", EXAMPLE, re.M), key


# --- the README's own claims


def test_the_two_lines_are_one_line_each() -> None:
    lines = blocks("sh")
    assert len(lines) == 2
    for block in lines:
        assert len(block.splitlines()) == 1
        assert block.startswith("python3 -m venv .venv && ")
    assert lines[0].rstrip().endswith("syncd run")
    assert "pytest" in lines[1]


def test_the_commands_of_the_first_line_are_taken() -> None:
    for part in blocks("sh")[0].split("&&"):
        arguments = shlex.split(part)
        if arguments[0] == ".venv/bin/syncd":
            command(arguments[1]).make_context(arguments[1], arguments[2:])


def test_the_packages_are_those_in_the_tree() -> None:
    listed = set(re.findall(r"^syncd/(\w+)/", section("Where things are"), re.M))
    there = {path.parent.name for path in (ROOT / "syncd").glob("*/__init__.py")}
    assert listed == there


def test_every_file_that_is_linked_is_there() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("block", blocks("python"))
def test_what_the_python_examples_import_exists(block: str) -> None:
    compile(block, "README.md", "exec")
    for module, names in re.findall(r"^from ([\w.]+) import (.+)$", block, re.M):
        found = importlib.import_module(module)
        assert all(hasattr(found, name.strip()) for name in names.split(","))


def test_the_changelog_begins_with_this_version_or_what_comes_after_it() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+)", text, re.M)
    assert __version__ in versions
    assert versions.index(__version__) <= 1


def test_the_changelog_names_every_command() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert set(COMMANDS) <= words(text)
