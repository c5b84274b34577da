"""Every fault in a configuration is named at once, with its line and what was meant."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from syncd.config import ConfigError, RepositoryConfig, load, parse
from syncd.memory import Namespace
from tests.config.reading import FILE, fault, faults, folder, read, source


def test_the_least_configuration_has_the_designed_defaults() -> None:
    config = read("sources:\n  - {id: notes, folder: ~/notes}\n")
    assert config.engine == "local"
    assert config.state == Path("/home/ada/.local/state/syncd")
    assert config.engine_settings() == {"path": "/home/ada/.local/share/syncd/memory.db"}
    assert config.engine_key() is None
    notes = folder(config)
    assert notes.folder == Path("/home/ada/notes")
    assert notes.namespace == Namespace.root()
    assert (notes.include, notes.exclude, notes.tags) == ((), (), ())
    assert (notes.rescan, notes.max_file_size) == (900.0, 10 << 20)
    assert (notes.hold.more_than, notes.hold.share) == (10, 0.25)


def test_a_repository_has_the_designed_defaults() -> None:
    (one, two) = read(
        "sources:\n- {id: a, repository: ~/code/a}\n- {id: b, repository: 'git@x.org:a/b.git'}\n"
    ).sources
    assert isinstance(one, RepositoryConfig)
    assert isinstance(two, RepositoryConfig)
    assert one.repository == "/home/ada/code/a"
    assert two.repository == "git@x.org:a/b.git"
    assert (one.branch, one.files, one.fetch) == (None, True, 300.0)
    assert one.commits is not None
    assert (one.commits.max, one.commits.paths, one.commits.since) == (1000, (), None)


def test_commits_take_a_mapping_or_a_truth_value() -> None:
    text = "sources:\n- {id: a, repository: /r, commits: %s}\n"
    for written, expected in (("false", None), ("true", 1000), ("{max: 5}", 5)):
        (only,) = read(text % written).sources
        assert isinstance(only, RepositoryConfig)
        assert (only.commits and only.commits.max) == expected
    (only,) = read(text % "{since: 2024-01-01, paths: [src/]}").sources
    assert isinstance(only, RepositoryConfig)
    assert only.commits is not None
    assert only.commits.since == datetime(2024, 1, 1, tzinfo=UTC)


def test_xdg_directories_are_honoured() -> None:
    config = read("sources: []\n", XDG_STATE_HOME="/s", XDG_DATA_HOME="/d")
    assert config.state == Path("/s/syncd")
    assert config.engine_settings() == {"path": "/d/syncd/memory.db"}


def test_problems_read_as_file_line_column_path_and_meaning() -> None:
    assert str(fault(source("exlude: [private/]"))) == (
        f"{FILE}:4:5: sources[0].exlude: unknown key (did you mean exclude?)"
    )


@pytest.mark.parametrize(
    ("text", "line", "path", "words", "meant"),
    [
        (source("exlude: []"), 4, "sources[0].exlude", "unknown key", "exclude"),
        (source("forgett_missing: false"), 4, "sources[0].forgett_missing", "unknown key", None),
        (source("interval: 5m"), 4, "sources[0].interval", "unknown key", "rescan"),
        (source("max-file-size: 1MiB"), 4, "sources[0].max-file-size", "unknown", "max_file_size"),
        (source("5: x"), 4, "sources[0].5", "unknown key", None),
        (source("branch: main"), 4, "sources[0].branch", "belongs to a repository", None),
        (source("repository: /r"), 4, "sources[0].repository", "not both", None),
        (source("hold: {more: 1}"), 4, "sources[0].hold.more", "unknown key", "more_than"),
        ("enigne: local\nsources: []", 1, "enigne", "unknown key", "engine"),
        ("engines: {locla: {}}\nsources: []", 1, "engines.locla", "unknown key", "local"),
        ("engine: cortex\nsources: []", 1, "engine", "local, cortexdb, tinyhumans", "cortexdb"),
        ("engine: {url: x}\nsources: []", 1, "engine", "got a mapping", None),
        ("state: 5\nsources: []", 1, "state", "expected a path, got the number 5", None),
        ("sources: /a", 1, "sources", "expected a list, got the text '/a'", '["/a"]'),
        ("sources:\n- folder: /a", 2, "sources[0]", "the key id is missing", None),
        ("sources:\n- id: a", 2, "sources[0]", "folder (or repository) is missing", None),
        ("sources:\n- 5", 2, "sources[0]", "expected a mapping, got the number 5", None),
        ("- a", 1, "", "expected a mapping, got a list", None),
        ("engine: local", 1, "", "the key sources is missing", None),
        ("", 1, "", "the key sources is missing", None),
    ],
)
def test_keys(text: str, line: int, path: str, words: str, meant: str | None) -> None:
    problem = fault(text)
    assert (problem.line, problem.path, problem.meant) == (line, path, meant)
    assert words in problem.what


@pytest.mark.parametrize(
    ("line", "words", "meant"),
    [
        ("rescan: 1:30", "got the text '1:30'", None),
        ("rescan: 0", "got the number 0", None),
        ("rescan: 0s", "from 100ms to 366d, got 0s", None),
        ("rescan: -5", "got the number -5", None),
        ("rescan: -5s", "got -5s", None),
        ("rescan: .inf", "got the number .inf", None),
        ("rescan: .nan", "got the number .nan", None),
        ("rescan: 1e3", "got the number 1e3", "1000.0s or 1000.0m"),
        ("rescan: 90", "with its unit, got the number 90", "90s or 90m"),
        ("rescan: 99999999999h", "from 100ms to 366d", None),
        ("rescan: true", "got true", None),
        ("rescan: [5m]", "got a list", None),
        ("rescan: 5 weeks", "got the text '5 weeks'", None),
        ("max_file_size: 10", "with its unit, got the number 10", "10B"),
        ("max_file_size: 10MB", "B, KiB, MiB and GiB", "10MiB"),
        ("max_file_size: 10M", "B, KiB, MiB and GiB", "10MiB"),
        ("max_file_size: 0B", "from 1B", None),
        ("max_file_size: -1KiB", "from 1B", None),
        ("max_file_size: much", "expected a size", None),
        ("hold: {share: 0.25}", "from 0% to 100%, got the number 0.25", "25%"),
        ("hold: {share: 120%}", "from 0% to 100%", None),
        ("hold: {more_than: -1}", "expected 0 or more, got -1", None),
        ("hold: {more_than: 010}", "a whole number, got the number 010", None),
        ("hold: {more_than: 1.5}", "a whole number, got the number 1.5", None),
        ("hold: {more_than: true}", "a whole number, got true", None),
        ("namespace: team", "namespace", None),
        ("namespace: 5", "got the number 5", None),
        ("exclude: md", "a list, got the text 'md'", '["md"]'),
        ("exclude: {a: b}", "a list, got a mapping", None),
        ("exclude: [md, no, on, 1]", "a text, got the number 1", '"1"'),
        ("tags: [true]", "a text, got true", '"true"'),
        ('tags: [" "]', "got a blank one", None),
        ('tags: ["\\ud800"]', "surrogate", None),
        ("tags: [0755]", "a text, got the number 0755", '"0755"'),
        ("tags:", "there is no value here", None),
        ("tags: ~", "there is no value here", None),
        ("exclude: [a, ~]", "there is no value here", None),
        ("exclude: !secret x", "the tag !secret is not allowed", None),
        ("exclude: !!python/object/apply:os.system [ls]", "the tag !!python/object", None),
        ("exclude: &a [*a]", "contains itself", None),
        ("tags: [a\n     b]", "runs over several lines", None),
    ],
)
def test_values(line: str, words: str, meant: str | None) -> None:
    problem = fault(source(line))
    assert problem.line == 4
    assert words in problem.what
    assert problem.meant == meant


@pytest.mark.parametrize("bad", ["-a", ".a", "a b", "/srv", "ä", "a\xa0", "x" * 101, "a/b"])
def test_source_ids(bad: str) -> None:
    problem = fault(f"sources:\n- folder: /a\n  id: '{bad}'\n")
    assert (problem.line, problem.path) == (3, "sources[0].id")
    assert problem.meant is None or read(f"sources: [{{id: {problem.meant}, folder: /a}}]")


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("sources:\n\t- id: a", 2, 1, "tabs are not allowed for indentation"),
        ("sources:\n  - id: a\n\tfolder: b", 3, 1, "tabs are not allowed for indentation"),
        ("exclude: *.log", 1, 10, "quote it"),
        ("exclude: [*.log, x]", 1, 11, "quote it"),
        ("exclude: %x", 1, 10, "quote it"),
        ("exclude: @x", 1, 10, "quote it"),
        ("exclude: [a,\nb", 1, 10, "never closed"),
        ('id: "a\nb', 1, 5, "never closed"),
        ("a: b: c", 1, 5, "colon"),
        ("- a\nb: c", 2, 1, "does not fit"),
        ("a: 1\n---\nb: 2", 2, 1, "one document"),
        ('a: "\\q"', 1, 6, "single quotes"),
        ("ok: 1\na: \x01", 2, 4, "control character"),
        (b"ok: 1\na: \xff", 2, 4, "0xff is not UTF-8"),
        ("{a: 1}}", 1, 7, "not YAML"),
        ("a: " + "[" * 5000, 0, 0, "nested too deeply"),
        ("#" * (2 << 20), 0, 0, "too large"),
    ],
)
def test_what_is_no_yaml(text: str | bytes, line: int, column: int, words: str) -> None:
    problem = fault(text)
    assert (problem.line, problem.column) == (line, column)
    assert words in problem.what


def test_the_quoting_hint_shows_the_value_in_quotes() -> None:
    assert fault("exclude: [*.log, x]").meant == '"*.log"'


def test_words_that_other_readers_take_for_truth_values_stay_texts() -> None:
    config = read(source("tags: [no, on, y, off, 1:30, 2026-01-01, 1e]"))
    assert folder(config).tags == ("no", "on", "y", "off", "1:30", "2026-01-01", "1e")
    assert read("sources: [{id: no, folder: /a}]").sources[0].id == "no"


def test_an_old_yaml_version_changes_nothing() -> None:
    config = read("%YAML 1.1\n---\n" + source("tags: [no, 1:30]"))
    assert folder(config).tags == ("no", "1:30")


def test_only_true_and_false_are_truth_values() -> None:
    text = "sources: [{id: a, repository: /r, files: %s}]"
    for word in ("no", "off", "0", "maybe", '"false"'):
        assert "expected true or false" in fault(text % word).what
    (only,) = read(text % "false").sources
    assert isinstance(only, RepositoryConfig)
    assert only.files is False


def test_everything_wrong_is_told_at_once_in_the_order_of_the_file() -> None:
    problems = faults(
        "sources:\n- id: a\n  folder: /a\n  exlude: []\n  rescan: 5\n"
        "- id: a\n  folder: /a/b\n  tags: x\nengien: local\nstate: ${GONE}/x\n"
    )
    assert [problem.line for problem in problems] == [4, 5, 6, 7, 8, 9, 10]


def test_notes_are_free_at_every_level_and_may_be_merged() -> None:
    config = read(
        "x-common: &common\n  tags: [shared]\n  exclude: [tmp/]\n"
        "x-anything: !secret {a: [1, {b: ~}]}\n"
        "engines: {x-n: 1, local: {x-n: 2, path: /m.db}}\n"
        "sources:\n- <<: *common\n  id: a\n  folder: /a\n  exclude: [own/]\n  x-why: because\n"
    )
    assert folder(config).tags == ("shared",)
    assert folder(config).exclude == ("own/",)


def test_a_fault_in_what_is_merged_in_is_found_where_it_stands() -> None:
    problem = fault("x-c: &c\n  tags: 5\nsources:\n- <<: *c\n  id: a\n  folder: /a\n")
    assert (problem.line, problem.path) == (2, "sources[0].tags")


def test_a_key_that_is_there_twice_names_both_lines() -> None:
    problem = fault(source("folder: /other"))
    assert (problem.line, problem.path) == (4, "sources[0].folder")
    assert problem.what == "this key is here twice: lines 3 and 4"


SECRET = "sk-very-secret"


@pytest.mark.parametrize(
    "settings",
    [
        f"key: {SECRET}",
        f"key: [{SECRET}]",
        f"key: {{env: {SECRET}}}",
        f"key: {{env: [{SECRET}]}}",
        f"key: {{credential: '{SECRET}!'}}",
        f"key: {{command: {SECRET}}}",
        f"key: {{token: {SECRET}}}",
        f"endpoint: 'https://ada:{SECRET}@example.com'",
        f"endpoint: 'ftp://ada:{SECRET}@example.com'",
        f"endpoint: ['https://ada:{SECRET}@example.com']",
    ],
)
def test_no_message_holds_a_key(settings: str) -> None:
    problems = faults(f"engines:\n  cortexdb:\n    {settings}\nsources: []\n")
    assert problems
    assert all(problem.line == 3 for problem in problems)
    assert SECRET not in "\n".join(map(str, problems))


def test_exactly_one_way_to_the_key() -> None:
    text = "engines: {cortexdb: {key: {%s}}}\nsources: []\n"
    assert "got none" in fault(text % "").what
    assert "got env and credential" in fault(text % "env: A, credential: b").what


def test_engine_settings_of_a_hosted_engine() -> None:
    config = read(
        "engine: cortexdb\nengines: {cortexdb: {endpoint: 'http://[::1]:8'}}\nsources: []"
    )
    assert config.engine_settings() == {"endpoint": "http://[::1]:8"}
    assert read("engine: tinyhumans\nsources: []").engine_settings() == {}


def test_an_authority_of_ones_own_is_a_path() -> None:
    text = "engine: tinyhumans\nengines: {tinyhumans: {ca_file: ~/ca.pem}}\nsources: []"
    assert read(text).engine_settings() == {"ca_file": "/home/ada/ca.pem"}
    absent = "engine: tinyhumans\nsources: []"
    assert read(absent).engine_settings() == {}


def test_an_endpoint_is_an_address() -> None:
    text = "engines: {cortexdb: {endpoint: '%s'}}\nsources: []\n"
    for bad in ("cortex.example.com", "https://", "file:///x", "http://h:99999", "http://[::1"):
        assert "expected an address" in fault(text % bad).what


def test_the_configuration_is_immutable() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read("sources: []").state = Path("/x")


def test_a_file_that_cannot_be_read_is_one_problem(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "none", "syncd init"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=words) as caught:
            load(path, {})
        assert caught.value.problems[0].line == 0


def test_a_byte_order_mark_and_windows_line_ends_are_no_problem() -> None:
    data = b"\xef\xbb\xbfsources:\r\n- id: a\r\n  folder: /a\r\n  tags: [b]\r\n"
    assert folder(parse(FILE, data, {"HOME": "/h"})).tags == ("b",)
