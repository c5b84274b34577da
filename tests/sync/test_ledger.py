"""The ledger as a file: modes, damage, readers, a full disk, wide numbers, pages."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.sources import Look, Root
from syncd.sync.errors import LedgerDamaged, LedgerUnavailable
from syncd.sync.ledger import Doomed, Ledger
from syncd.sync.plan import at_or_below
from syncd.sync.rows import NO_LOOK, Claim, Entry, Row, State
from syncd.sync.status import orphaned_sources, source_status

LOOK = Look(10, 20, 30, 40)


def entry(path: str, *ids: str, state: State = State.HELD, reason: str | None = None) -> Entry:
    return Entry(path, LOOK, 7, True, state, reason, b"digest", ids)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger.open(tmp_path)
    yield opened
    opened.close()


def fill(ledger: Ledger, *paths: str) -> None:
    with ledger.transaction():
        ledger.write("notes", [entry(path, f"id of {path}") for path in paths])


def paths_of(ledger: Ledger, under: str = "") -> list[str]:
    return [row.path for row in ledger.rows("notes", under)]


# -- the file --------------------------------------------------------------------------------


def test_the_file_and_its_companions_are_for_the_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        ledger = Ledger.open(tmp_path)
        fill(ledger, "a")
    finally:
        os.umask(old)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == dict.fromkeys(["ledger.db", "ledger.db-wal", "ledger.db-shm"], 0o600)
    ledger.close()


def test_what_was_written_is_there_after_a_new_start(tmp_path: Path) -> None:
    first = Ledger.open(tmp_path)
    fill(first, "a", "b")
    first.close()
    second = Ledger.open(tmp_path)
    assert list(second.claims("notes")) == [("a", ("id of a",)), ("b", ("id of b",))]
    second.close()


def a_foreign_database(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE letters(text)")
    db.close()


def another_version(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def another_owner(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA application_id = 1")
    db.close()


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def one_page(path: Path) -> None:
    os.truncate(path, 4096)


def a_torn_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(random.Random(1).randbytes(8192))


DAMAGES: list[Callable[[Path], object]] = [
    lambda path: path.write_bytes(random.Random(2).randbytes(20_000)),
    lambda path: path.write_text("these are the notes of a person, not a ledger\n" * 50),
    lambda path: path.write_text("hi"),
    half,
    one_page,
    a_torn_page,
    another_version,
    another_owner,
    a_foreign_database,
]
NAMES = ["random", "text", "tiny", "half", "one page", "torn", "version", "owner", "foreign"]


@pytest.mark.parametrize("damage", DAMAGES, ids=NAMES)
def test_a_damaged_ledger_is_kept_aside_and_begun_anew(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    ledger = Ledger.open(tmp_path)
    fill(ledger, *(f"{n:05}" for n in range(2000)))
    ledger.close()
    path = tmp_path / "ledger.db"
    damage(path)
    evidence = path.read_bytes()
    ledger = Ledger.open(tmp_path)
    assert ledger.sources() == []
    fill(ledger, "a")
    ledger.close()
    kept = [f for f in tmp_path.iterdir() if ".damaged-" in f.name and f.name[-1].isdigit()]
    assert [f.read_bytes() for f in kept] == [evidence]
    again = Ledger.open(tmp_path)
    assert paths_of(again) == ["a"]
    again.close()


def test_an_empty_file_is_a_new_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    ledger = Ledger.open(tmp_path)
    assert ledger.sources() == []
    ledger.close()
    assert len(list(tmp_path.iterdir())) == 1


def test_an_emptied_file_does_not_come_back_from_its_old_companions(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    fill(ledger, "a")
    left = {f.name: f.read_bytes() for f in tmp_path.iterdir()}  # as after a power cut
    ledger.close()
    (tmp_path / "ledger.db-wal").write_bytes(left["ledger.db-wal"])
    (tmp_path / "ledger.db").write_bytes(b"")
    ledger = Ledger.open(tmp_path)
    assert ledger.sources() == []
    ledger.close()


def test_damage_met_later_is_told_as_damage(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    fill(ledger, *(f"{n:05}" for n in range(3000)))
    ledger.close()
    ledger = Ledger.open(tmp_path)
    with (tmp_path / "ledger.db").open("r+b") as file:
        file.seek(8192)
        file.write(random.Random(3).randbytes((tmp_path / "ledger.db").stat().st_size - 8192))
    ledger._db.execute("PRAGMA shrink_memory")  # what the check at the start had read
    with pytest.raises(LedgerDamaged):
        list(ledger.rows("notes"))
    ledger.close()


def test_a_directory_that_is_not_there_is_not_damage(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="No such file"):
        Ledger.open(tmp_path / "nowhere")


# -- readers ---------------------------------------------------------------------------------


def test_there_is_nothing_to_read_before_the_first_start(tmp_path: Path) -> None:
    assert Ledger.read(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_is_just_being_made_is_none_yet(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").touch()
    assert Ledger.read(tmp_path) is None


def test_a_reader_is_told_of_damage_and_moves_nothing(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("no ledger" * 1000)
    with pytest.raises(LedgerDamaged):
        Ledger.read(tmp_path)
    assert [f.name for f in tmp_path.iterdir()] == ["ledger.db"]


WRITER = """
import sys
from pathlib import Path
from syncd.sync.ledger import Ledger
from syncd.sync.rows import NO_LOOK, Entry, State
ledger = Ledger.open(Path(sys.argv[1]))
with ledger.transaction():
    ledger.write("notes", [Entry("before", NO_LOOK, 0, True, State.HELD, None, b"", ("1",))])
with ledger.transaction():
    ledger.write("notes", [Entry("during", NO_LOOK, 0, True, State.HELD, None, b"", ("2",))])
    print("writing", flush=True)
    sys.stdin.readline()
print("written", flush=True)
sys.stdin.readline()
"""


def test_another_process_reads_while_one_writes(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "writing\n"
        reader = Ledger.read(tmp_path)
        assert reader is not None
        assert reader.count("notes") == (1, 1)
        assert source_status(reader, "notes", "folder")["files"] == 1
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "written\n"
        assert reader.count("notes") == (2, 2)
        with pytest.raises(LedgerUnavailable):
            fill(reader, "by a reader")
        reader.close()
        child.stdin.write("\n")


def test_a_reader_of_a_closed_ledger_knows_all_that_status_asks(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    with ledger.transaction():
        ledger.write("notes", [entry("a", "1"), entry("b", "2", "3")])
        ledger.write("notes", [entry("bad", state=State.SET_ASIDE, reason="refused")])
        ledger.write("notes", [entry("x", state=State.LEFT_OUT, reason="blank")])
        ledger.write("notes", [entry("y", "4", state=State.UNREADABLE, reason="denied")])
    ledger.note("notes", last_pass=0.0, pending=3, state="held", reason="why")
    ledger.close()
    reader = Ledger.read(tmp_path)
    assert source_status(reader, "notes", "folder") == {
        "id": "notes",
        "kind": "folder",
        "state": "held",
        "reason": "why",
        "files": 3,
        "items": 4,
        "pending": 3,
        "set_aside": [{"path": "bad", "reason": "refused"}, {"path": "y", "reason": "denied"}],
        "skipped": {"blank": 1},
        "last_pass": "1970-01-01T00:00:00Z",
    }
    assert source_status(reader, "other", "folder")["reason"] == "never synced"
    assert orphaned_sources(reader, ["notes"]) == []
    assert orphaned_sources(reader, ["other"]) == ["notes"]
    assert reader is not None
    reader.close()


# -- a full disk ------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True
    )
    if os.geteuid() != 0 or mounted.returncode != 0:
        pytest.skip("mounting needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill_up(disk: Path) -> Path:
    """A file that takes all the room there is."""
    ballast = disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return ballast


def fill_for_ever(ledger: Ledger) -> None:
    for n in itertools.count():
        fill(ledger, *(f"{n}-{m}" for m in range(1000)))


def test_a_full_disk_passes_and_what_was_written_stays(small_disk: Path) -> None:
    ledger = Ledger.open(small_disk)
    fill(ledger, "kept")
    ballast = fill_up(small_disk)
    with pytest.raises(LedgerUnavailable):
        fill_for_ever(ledger)
    assert ledger.claim("notes", "kept") is not None
    whole = ledger.count("notes")[0]
    assert whole % 1000 == 1  # whole transactions only
    with pytest.raises(LedgerUnavailable):
        fill(ledger, *(f"again {m}" for m in range(5000)))
    ballast.unlink()
    fill(ledger, "later")
    assert ledger.count("notes")[0] == whole + 1
    ledger.close()
    assert not list(small_disk.glob("*.damaged-*"))


def test_a_disk_that_is_full_at_the_start_is_no_damage(small_disk: Path) -> None:
    ballast = fill_up(small_disk)
    with pytest.raises(LedgerUnavailable):
        Ledger.open(small_disk)
    ballast.unlink()
    ledger = Ledger.open(small_disk)
    fill(ledger, "a")
    ledger.close()


# -- rows ------------------------------------------------------------------------------------

wide = st.integers(-(2**63), 2**64 - 1)
# Whatever a source can name: any text but lone surrogates and NUL.
odd_names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(path=odd_names, look=st.builds(Look, wide, wide, wide, wide), ids=st.lists(odd_names))
@settings(max_examples=60, deadline=None)
def test_a_row_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, path: str, look: Look, ids: list[str]
) -> None:
    ledger = Ledger.open(tmp_path_factory.mktemp("ledger"))
    with ledger.transaction():
        ledger.write(
            "notes", [Entry(path, look, 2**63 - 1, True, State.HELD, None, b"\0", (*ids,))]
        )
    (row,) = ledger.rows("notes")
    assert (row.path, row.recipe, row.trusted, row.state) == (path, 2**63 - 1, 1, State.HELD)
    assert [n % 2**64 for n in row[1:5]] == [n % 2**64 for n in look]
    assert ledger.claim("notes", path) == Claim(b"\0", tuple(ids))
    assert ledger.occupied("notes", path) is bool(ids)
    ledger.close()


def test_a_name_that_is_no_text_is_a_mistake_of_the_source_not_of_the_file(ledger: Ledger) -> None:
    with pytest.raises(UnicodeEncodeError):
        fill(ledger, "a\udc80")
    fill(ledger, "fine")
    assert paths_of(ledger) == ["fine"]


@pytest.mark.parametrize("root", [Root(1, 2), Root(2**64 - 1, 2**63), Root(0, 0)])
def test_a_root_comes_back_as_it_was_noted(ledger: Ledger, root: Root) -> None:
    assert ledger.source("notes").root is None
    ledger.note_root("notes", "/home/u", root)
    assert ledger.source("notes").root == root


def test_rows_that_were_not_settled_or_not_read_are_not_trusted(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.write(
            "notes",
            [
                Entry("a", LOOK, 7, True, State.HELD, None, b"", ("1",)),
                Entry("b", LOOK, 7, False, State.HELD, None, b"", ("2",)),
                Entry("c", LOOK, 7, True, State.UNREADABLE, "denied", b"", ("3",)),
                Entry("d", LOOK, 7, True, State.SET_ASIDE, "refused"),
                Entry("e", LOOK, 7, True, State.HELD, None, b"", ("5",)),
            ],
        )
        ledger.distrust("notes", ["e"])
    rows = {row.path: (row.trusted, row.state) for row in ledger.rows("notes")}
    assert rows == {
        "a": (1, State.HELD),
        "b": (0, State.HELD),
        "c": (0, State.UNREADABLE),
        "d": (1, State.SET_ASIDE),
        "e": (0, State.LOST),
    }
    assert ledger.count("notes") == (3, 3)
    assert ledger.claim("notes", "e") == Claim(b"", ())


@pytest.mark.parametrize("count", [0, 1, 1999, 2000, 2001, 4000, 4321])
def test_rows_come_in_pages_without_a_gap(ledger: Ledger, count: int) -> None:
    expected = [f"{n:05}" for n in range(count)]
    fill(ledger, *expected)
    assert paths_of(ledger) == expected


def test_rows_written_behind_the_reader_do_not_come_again(ledger: Ledger) -> None:
    expected = [f"{n:05}" for n in range(4500)]
    fill(ledger, *expected)
    met = []
    for row in ledger.rows("notes"):
        met.append(row.path)
        if len(met) % 500 == 0:
            fill(ledger, row.path, row.path + "-new")
    # What lies between the reader and the end of its page is already read.
    assert [path for path in met if not path.endswith("-new")] == expected
    assert len(set(met)) == len(met)


def test_the_order_is_that_of_strings(ledger: Ledger) -> None:
    paths = ["a", "a-", "a.b", "a/", "a/b", "a0", "é", "e\u0301", "\uef80", "\U0001f600", "\uffff"]
    fill(ledger, *reversed(paths))
    assert paths_of(ledger) == sorted(paths)


LOOKALIKES = ["a", "a ", "a-", "a.b", "a/", "a/b", "a/b/c", "a/b-", "a0", "aa", "/a", "/a/b", "b"]


@pytest.mark.parametrize("under", ["", "a", "a/", "a/b", "a/b/", "/a", "a%", "a_", "zz"])
def test_below_a_path_means_whole_names(ledger: Ledger, under: str) -> None:
    fill(ledger, *LOOKALIKES)
    expected = sorted(path for path in LOOKALIKES if at_or_below(path, under))
    assert paths_of(ledger, under) == expected
    assert ledger.occupied("notes", under) is bool(expected)


@pytest.mark.parametrize("path", LOOKALIKES)
def test_a_place_is_occupied_by_what_is_at_or_below_it(ledger: Ledger, path: str) -> None:
    fill(ledger, path)
    for place in LOOKALIKES:
        assert ledger.occupied("notes", place) is at_or_below(path, place)
    assert not ledger.occupied("other", path)


def test_a_place_is_not_occupied_by_rows_that_hold_nothing(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.write("notes", [entry("d/x", state=State.LEFT_OUT), entry("d/y", "1")])
        ledger.condemn("notes", ["d/y"])
        assert not ledger.occupied("notes", "d")
        assert ledger.condemned("notes") == {"d/y": ("1",)}
        ledger.erase_condemned("notes")
    assert paths_of(ledger) == ["d/x"]


# -- transactions -----------------------------------------------------------------------------


def fail_halfway(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.write("notes", [entry("a", "other"), entry("b", "2")])
        ledger.doom_ids("notes", ["1"])
        ledger.doom_paths("notes", ["p"])
        raise KeyError


def test_a_transaction_that_fails_leaves_nothing(ledger: Ledger) -> None:
    fill(ledger, "a")
    with pytest.raises(KeyError):
        fail_halfway(ledger)
    assert list(ledger.claims("notes")) == [("a", ("id of a",))]
    assert ledger.doomed("notes") == []
    fill(ledger, "c")
    assert paths_of(ledger) == ["a", "c"]


def test_a_source_first_met_in_a_transaction_that_fails_is_met_again(ledger: Ledger) -> None:
    with pytest.raises(KeyError):
        fail_halfway(ledger)
    fill(ledger, "b")
    assert [record.id for record in ledger.sources()] == ["notes"]
    assert paths_of(ledger) == ["b"]


def test_what_is_doomed_stays_until_it_is_struck_out(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.doom_ids("notes", ["1", "2"])
        ledger.doom_paths("notes", ["", "d/x"])
        ledger.doom_ids("other", ["3"])
    doomed = ledger.doomed("notes")
    assert [d[1:] for d in doomed] == [("1", None), ("2", None), (None, ""), (None, "d/x")]
    ledger.absolve([doomed[0].number, doomed[2].number])
    assert [d[1:] for d in ledger.doomed("notes")] == [("2", None), (None, "d/x")]
    assert ledger.doomed("other") == [Doomed(5, "3", None)]


def test_noting_what_is_known_writes_nothing(ledger: Ledger) -> None:
    ledger.note("notes", state="held", reason=None, pending=3)
    before = ledger._db.total_changes
    ledger.note("notes", state="held", reason=None, pending=3)
    ledger.note_root("notes", "", Root(1, 2))
    assert ledger._db.total_changes == before + 1
    ledger.note_root("notes", "", Root(1, 2))
    assert ledger.number("notes") == 1
    assert ledger._db.total_changes == before + 1


def test_counts_by_reason(ledger: Ledger) -> None:
    with ledger.transaction():
        for n, reason in enumerate(["blank", "binary", "blank"]):
            ledger.write("notes", [entry(f"{n}", state=State.LEFT_OUT, reason=reason)])
    assert list(ledger.reasons("notes", State.LEFT_OUT).items()) == [("blank", 2), ("binary", 1)]
    assert ledger.explained("notes", State.SET_ASIDE) == []


def test_a_writer_waits_for_another_and_then_says_so(ledger: Ledger) -> None:
    ledger._db.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerUnavailable, match="locked"):
        fill(ledger, "a")
    other.execute("ROLLBACK")
    other.close()
    fill(ledger, "a")


def test_it_can_be_handed_to_another_thread(ledger: Ledger) -> None:
    worker = threading.Thread(target=fill, args=(ledger, "a"))
    worker.start()
    worker.join()
    assert list(ledger.rows("notes")) == [Row("a", *LOOK, 7, 1, 0)]
    assert NO_LOOK == (0, 0, 0, 0)
