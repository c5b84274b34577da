"""The short way to the memory file: it agrees with the full reading, or leaves it to that."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.config import ConfigError, parse
from syncd.config.glance import _KEYS, _SOURCE_KEYS, memory_file
from syncd.config.models import Config, FolderConfig, RepositoryConfig

FILE = Path("/etc/c.yaml")
AROUND = {"HOME": "/h", "PLACE": "/p"}


def glance(text: str, environ: dict[str, str] = AROUND) -> Path | None:
    return memory_file(FILE, text.encode(), environ)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("sources: []", "/h/.local/share/syncd/memory.db"),
        ("engine: local\nsources: []", "/h/.local/share/syncd/memory.db"),
        ("engines: {local: {}}\nsources: []", "/h/.local/share/syncd/memory.db"),
        ("engines: {local: {path: ~/m.db}}\nsources: []", "/h/m.db"),
        ("engines: {local: {path: '${PLACE}/m'}}\nsources: []", "/p/m"),
        ("engines: {local: {path: m.db}}\nsources: []", "/etc/m.db"),
        ("x-note: 1\nsources: [{id: a, folder: /a, x-y: 2, hold: {}}]", None),
    ],
)
def test_a_plain_configuration_is_read_at_a_glance(text: str, place: str | None) -> None:
    found = glance(text)
    assert found == parse(FILE, text.encode(), AROUND).engines.local.path
    assert place is None or found == Path(place)


def test_the_environment_counts() -> None:
    assert glance("sources: []", {"HOME": "/h", "XDG_DATA_HOME": "/d"}) == Path(
        "/d/syncd/memory.db"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sources:",
        "[]",
        "engine: local",
        "engien: local\nsources: []",
        "engine: cortexdb\nsources: []",
        "engine: [local]\nsources: []",
        "engines: {locl: {}}\nsources: []",
        "engines: {local: {paht: x}}\nsources: []",
        "engines: {local: {path: 7}}\nsources: []",
        "engines: {local: {path: '${GONE}'}}\nsources: []",
        "engines: {local: {path: ' '}}\nsources: []",
        "engines: {local: {path: }}\nsources: []",
        "engines: [local]\nsources: []",
        "sources: {}",
        "sources: [notes]",
        "sources: [{id: a, folder: /a, exlude: []}]",
        "sources: [{id: a, folder: /a}]\nsources: []",
    ],
)
def test_what_is_not_plain_is_left_to_the_full_reading(text: str) -> None:
    assert glance(text) is None


def test_what_is_no_yaml_is_told_at_once() -> None:
    with pytest.raises(ConfigError):
        glance("sources: [")


def test_a_wrong_value_in_a_source_does_not_keep_a_reader_from_its_memory() -> None:
    assert glance("sources: [{id: a, folder: /a, rescan: soon}]") is not None


def test_it_knows_the_keys_that_the_models_know() -> None:
    assert set(Config.model_fields) == _KEYS
    assert FolderConfig.model_fields.keys() | RepositoryConfig.model_fields.keys() == _SOURCE_KEYS


_PARTS = st.sampled_from(
    [
        "engine: local",
        "engine: Local",
        "engine: tinyhumans",
        "engines: {local: {path: ~/a}}",
        "engines: {local: {path: b/../c}}",
        "engines: {local: {path: '~nobody-here/x'}}",
        "engines: {cortexdb: {}}",
        "engines:",
        "state: ~/s",
        "sources: []",
        "sources: [{id: a, folder: /a}]",
        "x-mine: [1]",
    ]
)


@given(st.lists(_PARTS, max_size=5))
def test_it_never_contradicts_the_full_reading(parts: list[str]) -> None:
    text = "\n".join(parts)
    try:
        found = glance(text)
        full = parse(FILE, text.encode(), AROUND)
    except ConfigError:
        return
    assert found in (None, full.engines.local.path)
    assert found is None or full.engine == "local"
