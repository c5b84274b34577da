"""`syncd verify`: every way in which memory can differ from the disk, found and mended."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from syncd.memory import Document, ForgetTarget, Hit, MemoryMeta, SourceKind, SourceRef
from tests.cli.conftest import Cli
from tests.cli.scene import MEMORY, configure, engine, everything, hits, texts

KINDS = ("missing", "stale", "orphaned", "duplicate")


@pytest.fixture
def notes(cli: Cli, home: Path) -> Path:
    configure(home, "notes")
    for name in ("a.md", "b.md", "c.md"):
        (home / "notes" / name).write_text(f"text of {name}\n")
    assert cli("sync").code == 0
    return home / "notes"


def hit_of(home: Path, name: str) -> Hit:
    return next(hit for hit in hits(home) if str(hit.meta.file_path).endswith(f"/{name}"))


def document(hit: Hit, name: str, text: str) -> Document:
    """An item as a source would make it of a file of this name and text."""
    path = f"{hit.meta.folder}/{name}"
    return Document(body=text, title=name, mime=None, meta=replace(hit.meta, file_path=path))


def forget(home: Path, name: str) -> None:
    hit = hit_of(home, name)
    with engine(home) as memory:
        assert memory.forget(ForgetTarget(ids=(hit.id,))).forgotten == 1


def make_missing(home: Path) -> None:
    forget(home, "a.md")


def make_stale(home: Path) -> None:
    other = document(hit_of(home, "a.md"), "a.md", "what it never said\n")
    forget(home, "a.md")
    with engine(home) as memory:
        memory.store(other)


def make_orphaned(home: Path) -> None:
    with engine(home) as memory:
        memory.store(document(hit_of(home, "a.md"), "gone.md", "of no file\n"))


def make_duplicate(home: Path) -> None:
    with engine(home) as memory:
        memory.store(document(hit_of(home, "a.md"), "a.md", "a second item of one file\n"))


TAMPER = {
    "missing": (make_missing, "a.md"),
    "stale": (make_stale, "a.md"),
    "orphaned": (make_orphaned, "gone.md"),
    "duplicate": (make_duplicate, "a.md"),
}


def test_all_is_equal(cli: Cli, home: Path, notes: Path) -> None:
    before = everything(home)
    result = cli("verify")
    assert (result.code, result.err) == (0, "")
    assert result.out == "notes: 3 files, all in memory as on the disk\n"
    (found,) = cli("verify", "--json").json["sources"]
    assert (found["source"], found["files"], found["items"]) == ("notes", 3, 3)
    assert found["in_step"] is True
    assert all(found[kind] == [] for kind in KINDS)
    assert everything(home) == before


@pytest.mark.parametrize("kind", KINDS)
def test_what_differs_is_named_and_left(cli: Cli, home: Path, notes: Path, kind: str) -> None:
    tamper, path = TAMPER[kind]
    tamper(home)
    before = {hit.id for hit in hits(home)}
    result = cli("verify")
    assert (result.code, result.out) == (1, f"notes: {kind}: {path}\n")
    assert result.err == "`syncd verify --repair` mends it\n"
    document = cli("verify", "--json").json
    assert document["repaired"] is False
    assert {name: document["sources"][0][name] for name in KINDS} == {
        name: [path] if name == kind else [] for name in KINDS
    }
    assert {hit.id for hit in hits(home)} == before


@pytest.mark.parametrize("kind", KINDS)
def test_what_differs_is_mended(cli: Cli, home: Path, notes: Path, kind: str) -> None:
    right = {hit.id: hit.text for hit in hits(home)}
    TAMPER[kind][0](home)
    result = cli("verify", "--repair")
    assert (result.code, result.err) == (0, "")
    assert result.out == "notes: 3 files, all in memory as on the disk\n"
    assert {hit.id: hit.text for hit in hits(home)} == right
    assert cli("sync").out == "notes: nothing to do\n"


def test_all_at_once(cli: Cli, home: Path, notes: Path) -> None:
    right = texts(home)
    forget(home, "b.md")
    for tamper in (make_stale, make_orphaned, make_duplicate):
        tamper(home)
    assert cli("verify").code == 1
    assert cli("verify", "--repair", "--json").json["repaired"] is True
    assert texts(home) == right


def test_the_ledger_is_not_believed(cli: Cli, home: Path, notes: Path) -> None:
    status = (notes / "a.md").stat()
    (notes / "a.md").write_text("text of x.md\n")
    os.utime(notes / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cli("verify").out == "notes: stale: a.md\n"


def test_an_item_without_a_path_is_a_stranger_and_goes(cli: Cli, home: Path, notes: Path) -> None:
    meta = MemoryMeta(source=SourceRef(SourceKind.FOLDER, "notes"))
    with engine(home) as memory:
        memory.store(Document(body="from nowhere", meta=meta))
    assert cli("verify").out == "notes: 1 item without a path\n"
    assert cli("verify", "--repair").code == 0
    assert len(hits(home)) == 3


def test_items_of_others_are_not_touched(cli: Cli, home: Path, notes: Path) -> None:
    with engine(home) as memory:
        memory.store(Document(body="told by an agent", meta=MemoryMeta()))
    make_missing(home)
    assert cli("verify", "--repair").code == 0
    assert any(hit.text == "told by an agent" for hit in hits(home))
    assert len(hits(home)) == 4


def test_what_is_held_stays_held(cli: Cli, home: Path, notes: Path) -> None:
    for number in range(20):
        (notes / f"n{number}.md").write_text(f"note {number}\n")
    cli("sync")
    for number in range(15):
        (notes / f"n{number}.md").unlink()
    result = cli("verify", "--repair")
    assert result.code == 1
    assert result.out.count("notes: orphaned: ") == 15
    assert len(hits(home)) == 23


def test_a_source_is_chosen_by_name(cli: Cli, home: Path, notes: Path) -> None:
    configure(home, "notes", "papers")
    assert cli("verify", "papers").out == "papers: 0 files, all in memory as on the disk\n"
    assert "did you mean notes?" in cli("verify", "nots").err


def test_long_lists_are_cut_for_people_only(cli: Cli, home: Path, notes: Path) -> None:
    for number in range(30):
        (notes / f"n{number}.md").write_text(f"note {number}\n")
    out = cli("verify").out
    assert (out.count("missing: n"), "missing: and 10 more" in out) == (20, True)
    assert len(cli("verify", "--json").json["sources"][0]["missing"]) == 30


def test_a_source_that_is_away_is_said_and_the_others_are_compared(
    cli: Cli, home: Path, notes: Path
) -> None:
    configure(home, "notes", "papers")
    notes.rename(home / "away")
    for options in ([], ["--repair"]):
        result = cli("verify", *options)
        assert result.code == 1
        assert result.out == "papers: 0 files, all in memory as on the disk\n"
        assert result.err.startswith("notes: unavailable, so not compared: ")
        assert len(result.err.splitlines()) == 1
    first, second = cli("verify", "--json").json["sources"]
    assert (first["source"], first["in_step"], second["in_step"]) == ("notes", False, True)
    assert first["unavailable"]
    assert len(hits(home)) == 3


def test_before_the_first_sync_everything_is_missing(cli: Cli, home: Path) -> None:
    configure(home, "notes")
    (home / "notes" / "a.md").write_text("text\n")
    assert cli("verify").code == 1
    assert not (home / MEMORY).exists()
    assert cli("verify", "--repair").code == 0
    assert list(texts(home)) == ["notes/a.md"]
