"""Starting: a configuration is written, checked, and nothing else is touched."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.cli.errors import UserError
from syncd.cli.folders import folder_source, survey
from syncd.cli.init import folders, write, written
from syncd.config import load, parse
from tests.cli.conftest import Cli
from tests.cli.running import syncd

CONFIG = Path(".config/syncd/config.yaml")


@pytest.fixture
def notes(home: Path) -> Path:
    folder = home / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("hello world")
    (folder / "sub" / "x.py").write_text("import os")
    (folder / "sub" / "README").write_text("prose")
    (folder / ".env").write_text("K=1")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "m.js").write_text("x")
    return folder


def test_init_writes_a_private_file_that_loads(cli: Cli, home: Path, notes: Path) -> None:
    result = cli("init", "notes")
    assert (result.code, result.err) == (0, "")
    file = home / CONFIG
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert os.listdir(file.parent) == ["config.yaml"]
    (source,) = load(file).folders()
    assert (source.id, source.folder) == ("notes", notes)
    assert "folder: ~/notes" in file.read_text()


def test_init_shows_what_would_be_synced(cli: Cli, notes: Path) -> None:
    out = cli("init", "notes").out
    assert f"notes: {notes}: 3 files, 25 B" in out
    for line in ("  markdown    1  11 B", "  python      1   9 B", "  other text  1   5 B"):
        assert line in out.splitlines()
    assert "1 secrets" in out
    assert "1 dependencies" in out
    assert "syncd sync" in out


def test_init_json(cli: Cli, home: Path, notes: Path) -> None:
    found = cli("init", "notes", "--json").json
    assert found["config"] == str(home / CONFIG)
    (source,) = found["sources"]
    assert (source["files"], source["bytes"]) == (3, 25)
    assert source["languages"]["python"] == {"files": 1, "bytes": 9}
    assert source["left_out"] == {"secrets": 1, "dependencies": 1}


def test_init_never_replaces_a_configuration_unasked(cli: Cli, home: Path, notes: Path) -> None:
    cli("init", "notes")
    (home / CONFIG).write_text("mine")
    result = cli("init", "notes")
    assert (result.code, "--force" in result.err) == (2, True)
    assert (home / CONFIG).read_text() == "mine"
    assert cli("init", "notes", "--force").code == 0
    assert load(home / CONFIG).folders()
    assert stat.S_IMODE((home / CONFIG).stat().st_mode) == 0o600


def test_init_of_the_same_folders_again_is_no_fault(cli: Cli, home: Path, notes: Path) -> None:
    (home / "papers").mkdir()
    (home / "alias").symlink_to(notes)
    cli("init", "notes", "papers")
    before = (home / CONFIG).stat()
    for paths in (["notes", "papers"], ["papers"], ["alias"]):
        result = cli("init", *paths)
        assert (result.code, result.err) == (0, "")
        assert "is there already" in result.out
        assert "notes: " in result.out
    assert (home / CONFIG).stat() == before
    assert [source["id"] for source in cli("init", "papers", "--json").json["sources"]] == [
        *("notes", "papers")
    ]


def test_init_of_another_folder_says_what_to_add(cli: Cli, home: Path, notes: Path) -> None:
    (home / "more" / "notes").mkdir(parents=True)
    cli("init", "notes")
    text = (home / CONFIG).read_text()
    result = cli("init", "notes", "more/notes")
    assert (result.code, result.out) == (2, "")
    first, *lines = result.err.splitlines()
    assert str(home / CONFIG) in first
    assert lines == ["  - id: notes-2", "    folder: ~/more/notes"]
    assert (home / CONFIG).read_text() == text
    (home / CONFIG).write_text(text + "\n".join(lines) + "\n")
    assert cli("init", "notes", "more/notes").code == 0


@pytest.mark.parametrize(("path", "how"), [("notes/sub", "lies inside"), (".", "contains")])
def test_init_of_a_folder_that_overlaps_a_watched_one_says_so(
    cli: Cli, notes: Path, path: str, how: str
) -> None:
    cli("init", "notes")
    result = cli("init", path)
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert how in result.err
    assert "source notes" in result.err


def test_init_writes_through_a_link_to_the_configuration(cli: Cli, home: Path, notes: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / CONFIG).parent.mkdir(parents=True)
    (home / CONFIG).symlink_to(home / "dotfiles" / "syncd.yaml")
    assert cli("init", "notes", "--force").code == 0
    assert (home / CONFIG).is_symlink()
    assert load(home / "dotfiles" / "syncd.yaml").folders()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone"], "gone: there is no such folder; to make it: mkdir -p gone"),
        (["no where"], "mkdir -p 'no where'"),
        (["notes/a.md"], "is a file: name the folder"),
        (["notes", "notes/sub"], "lies inside"),
        (["notes", "gone"], "gone"),
        ([], "PATH"),
    ],
)
def test_init_with_what_is_no_folder_writes_nothing(
    cli: Cli, home: Path, notes: Path, arguments: list[str], words: str
) -> None:
    result = cli("init", *arguments)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert not (home / CONFIG).exists()


def test_init_takes_a_folder_once_by_whichever_name(cli: Cli, home: Path, notes: Path) -> None:
    (home / "alias").symlink_to(notes)
    assert cli("init", "notes", "alias", "notes/").code == 0
    assert len(load(home / CONFIG).sources) == 1


def test_init_gives_every_folder_an_id_of_its_own(cli: Cli, home: Path) -> None:
    names = ["a/notes", "b/notes", "c/no tes", "c/false", "c/-x", "c/2024", "c/Ärger: #1", "c/.x"]
    for name in names:
        (home / name).mkdir(parents=True)
    assert cli("init", *[f"./{name}" for name in names]).code == 0
    config = load(home / CONFIG)
    assert [source.folder for source in config.folders()] == [home / name for name in names]
    assert [source.id for source in config.sources] == [
        *("notes", "notes-2", "no-tes", "false", "x", "2024", "rger-1", "x-2")
    ]


def test_init_of_a_folder_with_a_dollar_and_braces_says_why_not(cli: Cli, home: Path) -> None:
    (home / "${X}").mkdir()
    assert "cannot be written" in cli("init", "${X}").err


def test_check_finds_a_state_that_cannot_be_kept(cli: Cli, home: Path, notes: Path) -> None:
    cli("init", "notes")
    (home / ".local").write_text("a file")
    result = cli("check")
    assert result.code == 3
    assert f"the state cannot be kept: {home}/.local is not a folder" in result.err
    assert len(cli("check", "--json").json["state"]["warnings"]) == 1


def test_init_cannot_write_where_a_file_is_in_the_way(cli: Cli, home: Path, notes: Path) -> None:
    (home / ".config").write_text("")
    result = cli("init", "notes")
    assert (result.code, len(result.err.splitlines())) == (1, 1)
    assert ".config" in result.err


@settings(deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="/\0\uef80"), min_size=1), max_size=4))
def test_what_init_writes_is_read_back_as_the_same_folders(names: list[str]) -> None:
    ascii_or_text = [name.encode("utf-8", "ignore").decode() or "x" for name in names]
    paths = list(dict.fromkeys(f"/srv/{name}" for name in ascii_or_text))
    usable = [path for path in paths if "${" not in path and path not in ("/srv/.", "/srv/..")]
    if not usable or any("\uef80" <= character <= "\uefff" for character in "".join(usable)):
        return
    config = parse(Path("/c.yaml"), written(usable).encode(), {"HOME": "/h"})
    assert [str(source.folder) for source in config.folders()] == usable


def test_a_name_that_is_not_utf8_goes_from_the_command_line_to_the_scan(tmp_path: Path) -> None:
    name = b"caf\xe9"
    folder = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(folder)
    Path(os.fsdecode(folder), "a.md").write_text("coffee")
    done = syncd("init", folder, "--json", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["sources"][0]["files"] == 1
    checked = syncd("check", home=tmp_path)
    assert checked.returncode == 0
    assert b"caf\\xe9" in checked.stdout


def test_folders_are_resolved(home: Path, notes: Path) -> None:
    (home / "alias").symlink_to(notes)
    assert folders(["alias/sub"]) == [str(notes / "sub")]


def test_check_of_what_is_right(cli: Cli, home: Path, notes: Path) -> None:
    cli("init", "notes")
    result = cli("check")
    assert (result.code, result.err) == (0, "")
    assert [line.split()[:2] for line in result.out.splitlines()] == [
        ["configuration", str(home / CONFIG)],
        ["source", "notes"],
        ["engine", "local"],
    ]


def test_check_changes_nothing(cli: Cli, home: Path, notes: Path) -> None:
    cli("init", "notes")
    before = sorted(home.rglob("*"))
    cli("check")
    cli("search", "hello")
    assert sorted(home.rglob("*")) == before


def test_check_warns_of_a_folder_that_is_not_there(cli: Cli, home: Path, notes: Path) -> None:
    cli("init", "notes")
    notes.rename(home / "away")
    result = cli("check")
    assert result.code == 0
    assert "warning: source notes: unavailable: " in result.err
    found = cli("check", "--json").json
    assert found["valid"] is True
    assert len(found["sources"][0]["warnings"]) == 1


def test_check_json(cli: Cli, home: Path, notes: Path) -> None:
    cli("init", "notes")
    assert cli("check", "--json").json == {
        "config": str(home / CONFIG),
        "valid": True,
        "problems": [],
        "sources": [{"id": "notes", "kind": "folder", "at": str(notes), "warnings": []}],
        "state": {"at": str(home / ".local/state/syncd"), "warnings": []},
        "engine": {"id": "local", "health": {"state": "ok"}},
    }


def test_check_json_of_what_is_wrong(cli: Cli, home: Path) -> None:
    (home / "c.yaml").write_text("sources: []\nengien: x\n")
    result = cli("--config", "c.yaml", "check", "--json")
    assert (result.code, result.err) == (2, "")
    assert result.json["valid"] is False
    assert result.json["problems"] == [
        {
            "file": f"{home}/c.yaml",
            "line": 2,
            "column": 1,
            "path": "engien",
            "what": "unknown key",
            "meant": "engine",
        }
    ]


def test_check_says_that_an_address_was_never_fetched(cli: Cli, home: Path) -> None:
    address = "https://ada:hunter2@example.com/r.git"
    (home / "c.yaml").write_text(f"sources: [{{id: r, repository: '{address}'}}]\n")
    result = cli("--config", "c.yaml", "check")
    assert result.code == 0
    assert "warning: source r: unavailable: https://example.com/r.git: never fetched" in result.err
    assert "hunter2" not in result.out + result.err


def test_an_engine_that_does_not_serve_fails_the_check(cli: Cli, home: Path) -> None:
    file = home / "memory.db"
    file.write_bytes(b"this is no database " * 300)
    (home / "c.yaml").write_text(f"engines: {{local: {{path: {file}}}}}\nsources: []\n")
    result = cli("--config", "c.yaml", "check")
    assert result.code == 3
    assert str(file) in result.err
    for command in (["list"], ["search", "x"], ["forget", "--source", "a", "--yes"]):
        told = cli("--config", "c.yaml", *command)
        assert (told.code, told.out, len(told.err.splitlines())) == (3, "", 1), command
        assert str(file) in told.err


def test_a_memory_that_is_not_there_yet_reads_like_an_empty_one(
    cli: Cli, home: Path, notes: Path
) -> None:
    cli("init", "notes")
    for command in (["search", "x"], ["list"], ["recall", "x"]):
        result = cli(*command)
        assert (result.code, result.out) == (0, "")
        assert result.err.startswith("memory is empty: nothing has been synced yet")
        assert len(result.err.splitlines()) == 1
    assert cli("search", "x", "--json").json == {"hits": []}
    assert cli("explore", "kind", "--json").json["total"] == 0
    assert cli("get", "x", "--json").json == []
    assert cli("forget", "--source", "a", "--yes", "--json").json == {"forgotten": 0}
    assert not (home / ".local").exists()


def test_an_engine_that_lacks_its_key_is_named(cli: Cli, home: Path) -> None:
    (home / "c.yaml").write_text("engine: cortexdb\nsources: []\n")
    result = cli("--config", "c.yaml", "list")
    assert result.code in (2, 3)
    assert "cortexdb" in result.err


@pytest.mark.parametrize("linkable", [True, False])
def test_a_file_that_came_in_between_is_not_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch, linkable: bool
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not linkable:
        monkeypatch.setattr(os, "link", no_links)
    write(home / "c.yaml", b"one", force=False)
    with pytest.raises((UserError, PermissionError)):
        write(home / "c.yaml", b"two", force=False)
    assert (home / "c.yaml").read_bytes() == b"one"
    assert os.listdir(home) == ["c.yaml"]
    write(home / "c.yaml", b"three", force=True)
    assert (home / "c.yaml").read_bytes() == b"three"


def test_syncd_s_own_files_and_keys_are_in_no_source(home: Path, notes: Path) -> None:
    for name in ("state/ledger", "memory.db", "memory.db-wal", "key"):
        (notes / name).parent.mkdir(exist_ok=True)
        (notes / name).write_text("x")
    text = (
        f"state: {notes}/state\nsources: [{{id: notes, folder: {notes}}}]\nengines:\n"
        f"  local: {{path: {notes}/memory.db}}\n  cortexdb: {{key: {{file: {notes}/key}}}}\n"
    )
    config = parse(home / "c.yaml", text.encode())
    found = survey(folder_source(config, config.folders()[0]))
    assert found.files.total() == 3
    assert found.as_json()["left_out"]["secrets"] == 1
    assert found.left_out.total() >= 2 + 4


def test_a_memory_that_cannot_be_seen_is_not_taken_for_an_empty_one(cli: Cli, home: Path) -> None:
    (home / "file").touch()
    (home / "c.yaml").write_text(
        f"engines: {{local: {{path: {home}/file/memory.db}}}}\nsources: []\n"
    )
    result = cli("--config", "c.yaml", "list")
    assert (result.code, result.out) == (3, "")
    assert "memory is empty" not in result.err
    assert cli("--config", "c.yaml", "check").code == 3
