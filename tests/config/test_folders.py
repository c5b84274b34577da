"""Folders and paths: expanded, compared as they really are, and never owned twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from syncd.config import load
from tests.config.reading import fault, folder, read


def test_two_sources_with_one_id_name_both_lines() -> None:
    problem = fault("sources:\n- id: a\n  folder: /a\n- id: a\n  folder: /b\n")
    assert problem.what == "two sources have this id: lines 2 and 4"


def test_the_same_folder_by_another_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    problem = fault(
        f"sources:\n- id: a\n  folder: {tmp_path}/real\n- id: b\n  folder: {tmp_path}/alias\n"
    )
    assert problem.line == 5
    assert f"{tmp_path}/alias is the same folder as {tmp_path}/real (line 3)" in problem.what


def test_a_folder_inside_another_is_refused_whichever_comes_first(tmp_path: Path) -> None:
    outer, inner = tmp_path, tmp_path / "sub" / "repo"
    inner.mkdir(parents=True)
    text = "sources:\n- {id: a, folder: %s}\n- {id: b, repository: %s}\n"
    assert f"{inner} lies inside {outer} (line 2)" in fault(text % (outer, inner)).what
    assert f"{outer} contains {inner} (line 2)" in fault(text % (inner, outer)).what


def test_folders_whose_names_merely_begin_alike_do_not_overlap() -> None:
    assert len(read("sources: [{id: a, folder: /n}, {id: b, folder: /n2}]").sources) == 2


def test_everything_overlaps_the_root() -> None:
    assert "contains" in fault("sources: [{id: a, folder: /n}, {id: b, folder: /}]").what


def test_paths_expand_and_relative_ones_start_at_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "sources:\n- {id: a, folder: one}\n- {id: b, folder: '${R}/two'}\n"
        "- {id: c, folder: '${GONE:-/fall}/back'}\n- {id: d, folder: ../up}\n"
        "- {id: e, folder: ~root}\n"
    )
    sources = load(file, {"HOME": "/home/ada", "R": "/r"}).folders()
    assert [str(one.folder) for one in sources] == [
        f"{tmp_path}/one",
        "/r/two",
        "/fall/back",
        f"{tmp_path.parent}/up",
        os.path.expanduser("~root"),
    ]


def test_a_variable_that_is_not_set_is_named() -> None:
    problem = fault("sources: [{id: a, folder: '${GONE}/x'}]")
    assert problem.what == "the environment variable GONE is not set"


def test_an_unknown_user_has_no_home() -> None:
    assert "'nobody-here' has no home" in fault("sources: [{id: a, folder: ~nobody-here/x}]").what


def test_a_folder_that_is_a_file_is_refused_and_a_missing_one_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "is a file" in fault(f"sources: [{{id: a, folder: {tmp_path}/file}}]").what
    assert read(f"sources: [{{id: a, folder: {tmp_path}/missing}}]").sources


def test_a_name_that_is_not_utf8_can_be_written_with_the_escape_of_items() -> None:
    config = read("sources: [{id: a, folder: '/srv/caf\uefe9'}]")
    assert os.fsencode(folder(config).folder) == b"/srv/caf\xe9"


def test_a_nul_in_a_path_is_refused() -> None:
    assert "NUL" in fault('sources: [{id: a, folder: "/a\\0b"}]').what


def test_the_same_folder_mounted_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "samefile", lambda one, other: True)
    problem = fault("sources: [{id: a, folder: /n}, {id: b, folder: /mounted}]")
    assert "/mounted is the same folder as /n" in problem.what


def test_a_folder_that_cannot_even_be_looked_for_is_left_to_the_source() -> None:
    assert read(f"sources: [{{id: a, folder: /srv/{'x' * 300}}}]").sources
