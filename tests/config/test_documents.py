"""The example file, the README and the models say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from syncd.config import load
from syncd.config.explain import models_in
from syncd.config.models import Config, FolderConfig, RepositoryConfig

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "syncd.example.yaml"
README = ROOT / "README.md"
SECTION = "## Configuration"


def declared(model: type[BaseModel], place: str = "") -> Iterator[str]:
    """Every key of a model and of what it holds, as `sources.id`."""
    for name, field in model.model_fields.items():
        here = f"{place}.{name}".strip(".")
        yield here
        for inner in models_in(field.annotation):
            yield from declared(inner, here)


def written(value: object, place: str = "") -> Iterator[str]:
    """Every key of the example, as `sources.id`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            here = f"{place}.{name}".strip(".")
            yield here
            yield from written(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from written(inner, place)


def commented(text: str) -> set[str]:
    """Keys that the example shows in a comment, because another one stands in their place."""
    return set(re.findall(r"^ *# ([a-z_]+): ", text, re.MULTILINE))


def test_the_example_loads() -> None:
    config = load(EXAMPLE, {"HOME": "/home/ada"})
    assert [source.id for source in config.sources] == ["notes", "widgets"]


def test_the_example_holds_every_key_and_no_other() -> None:
    text = EXAMPLE.read_text()
    keys = set(written(YAML(typ="safe", pure=True).load(text)))
    known = set(declared(Config))
    assert keys <= known
    shown = {name.rpartition(".")[2] for name in keys} | commented(text)
    assert {name.rpartition(".")[2] for name in known} <= shown
    # tinyhumans takes what cortexdb takes, and its entry says so
    missing = {name for name in known - keys if not name.startswith("engines.tinyhumans")}
    assert {name.rpartition(".")[0] for name in missing} <= {"engines.cortexdb.key"}


def test_every_key_of_the_example_is_explained_where_it_stands() -> None:
    lines = EXAMPLE.read_text().splitlines()
    for before, line in pairwise(lines):
        if re.match(r" *(- )?[a-z_]+:( |$)", line) and not line.strip().endswith(":"):
            assert before.lstrip().startswith("#"), line


def test_the_defaults_that_the_example_shows_are_the_defaults() -> None:
    example = load(EXAMPLE, {"HOME": "/home/ada"})
    least = Config.model_validate({"sources": [{"id": "a", "folder": "/a"}]})
    assert example.engine == least.engine
    shown, default = example.folders()[0], least.folders()[0]
    for name in ("namespace", "max_file_size", "rescan", "hold"):
        assert getattr(shown, name) == getattr(default, name)


def test_every_field_has_a_description() -> None:
    models: list[type[BaseModel]] = [Config, FolderConfig, RepositoryConfig]
    for model in models:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"
            for inner in models_in(field.annotation):
                assert all(part.description for part in inner.model_fields.values())


@pytest.mark.skipif(
    not README.exists() or SECTION not in README.read_text(),
    reason="the README has no section on the configuration yet",
)
def test_the_readme_names_every_key_of_the_top_and_of_a_source() -> None:
    text = README.read_text()
    names = {*Config.model_fields, *FolderConfig.model_fields, *RepositoryConfig.model_fields}
    assert {name for name in names if f"`{name}" not in text and f"{name}:" not in text} == set()
