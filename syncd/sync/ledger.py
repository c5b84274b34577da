"""The ledger: what memory holds for every path, as far as syncd knows (design, rule 1).

It is an opinion that makes a pass cheap. Losing it costs a listing and a reading, never truth, so
a damaged file is moved aside and begun anew. What is to be forgotten is written down here first.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from syncd.sources import Root
from syncd.sync.errors import LedgerDamaged, LedgerUnavailable
from syncd.sync.rows import Claim, Entry, Row, State, signed
from syncd.sync.schema import APPLICATION_ID, SCHEMA, VERSION

_ROW = "path, size, mtime_ns, ctime_ns, inode, recipe, settled AND state <> 3, state"
_HOLDING = "ids <> '[]' AND state <> 4"


class SourceRecord(NamedTuple):
    """What is remembered of a source between passes. Times are seconds since the epoch."""

    id: str
    kind: str
    place: str
    root: Root | None
    complete: bool
    strangers: int
    state: str
    reason: str | None
    pending: int
    finish: float | None
    held: int
    last_pass: float | None
    last_change: float | None
    mark: str | None


class Doomed(NamedTuple):
    """Something to be forgotten: one item by id, or everything at and below a path."""

    number: int
    id: str | None
    path: str | None


class Ledger:
    """The ledger of one state directory; used by one thread of the process that holds the lock."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._numbers: dict[str, int] = {}

    # -- opening ---------------------------------------------------------------------------

    @classmethod
    def open(cls, directory: Path) -> Ledger:
        """The ledger in `directory`, made when there is none, moved aside when it is damaged."""
        path = directory / "ledger.db"
        try:
            return cls._connect(path)
        except LedgerDamaged:
            move_aside(path)
            return cls._connect(path)

    @classmethod
    def read(cls, directory: Path) -> Ledger | None:
        """The ledger for looking only, or None when there is none yet."""
        path = directory / "ledger.db"
        with _translated(path):
            if not path.exists():
                return None
            db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)
            try:
                made = _is_made(db, path)
            except BaseException:
                db.close()
                raise
        if made:
            return cls(path, db)
        db.close()
        return None

    @classmethod
    def _connect(cls, path: Path) -> Ledger:
        with _translated(path):
            # Made here so that SQLite's companions (-wal, -shm) inherit the private mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            db = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            try:
                _prepare(db, path)
            except BaseException:
                db.close()
                raise
        return cls(path, db)

    def close(self) -> None:
        self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is written, or nothing is."""
        with _translated(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                self._numbers.clear()  # one may have been given out just now
                if self._db.in_transaction:  # SQLite ends it by itself when the disk is full
                    self._db.execute("ROLLBACK")
                raise

    # -- sources ---------------------------------------------------------------------------

    def number(self, source: str) -> int:
        """The row number of a source, given to it when it is first met."""
        if source not in self._numbers:
            query = "SELECT number FROM sources WHERE id = ?"
            with _translated(self.path):
                row = self._db.execute(query, (source,)).fetchone()
                if row is None:
                    self._db.execute("INSERT INTO sources(id) VALUES (?)", (source,))
                    row = self._db.execute(query, (source,)).fetchone()
                self._numbers[source] = row[0]
        return self._numbers[source]

    def sources(self) -> list[SourceRecord]:
        with _translated(self.path):
            rows = self._db.execute(
                "SELECT id, kind, place, device, inode, complete, strangers, state, reason,"
                " pending, finish, held, last_pass, last_change, mark FROM sources ORDER BY id"
            ).fetchall()
        return [
            SourceRecord(id, kind, place, _root(dev, ino), *rest)
            for id, kind, place, dev, ino, *rest in rows
        ]

    def source(self, source: str) -> SourceRecord:
        self.number(source)
        return next(record for record in self.sources() if record.id == source)

    def note(self, source: str, **fields: object) -> None:
        """Write fields of a source's record, nothing when they are what they were."""
        names = list(fields)
        changes = " OR ".join(f"{name} IS NOT ?" for name in names)
        values = [fields[name] for name in names]
        with _translated(self.path):
            self._db.execute(
                f"UPDATE sources SET {', '.join(f'{name} = ?' for name in names)}"
                f" WHERE number = ? AND ({changes})",
                (*values, self.number(source), *values),
            )

    def note_root(self, source: str, place: str, root: Root) -> None:
        self.note(source, place=place, device=signed(root.device), inode=signed(root.inode))

    # -- rows ------------------------------------------------------------------------------

    def rows(self, source: str, under: str = "") -> Iterator[Row]:
        """The rows at and below a path, in ascending order of path, as they were at the call.

        Read in pages, because the pass writes rows while it reads them.
        """
        where, params = _range(under)
        after = ""
        first = True
        while True:
            with _translated(self.path):
                page = self._db.execute(
                    f"SELECT {_ROW} FROM rows WHERE source = ? AND ({where})"
                    f" AND path {'>=' if first else '>'} ? ORDER BY path LIMIT 2000",
                    (self.number(source), *params, after),
                ).fetchall()
            yield from map(Row._make, page)
            if len(page) < 2000:
                return
            after, first = page[-1][0], False

    def claim(self, source: str, path: str) -> Claim | None:
        """What memory is believed to hold of one path, or None when it is not known."""
        with _translated(self.path):
            row = self._db.execute(
                "SELECT digest, ids FROM rows WHERE source = ? AND path = ?",
                (self.number(source), path),
            ).fetchone()
        return Claim(row[0], tuple(json.loads(row[1]))) if row else None

    def claims(self, source: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each path with the ids that memory is believed to hold of it."""
        with _translated(self.path):
            rows = self._db.execute(
                f"SELECT path, ids FROM rows WHERE source = ? AND {_HOLDING}",
                (self.number(source),),
            )
            for path, ids in rows:
                yield path, tuple(json.loads(ids))

    def occupied(self, source: str, path: str) -> bool:
        """Whether memory is believed to hold anything at or below a path."""
        where, params = _range(path)
        with _translated(self.path):
            found = self._db.execute(
                f"SELECT 1 FROM rows WHERE source = ? AND ({where}) AND {_HOLDING} LIMIT 1",
                (self.number(source), *params),
            ).fetchone()
        return found is not None

    def count(self, source: str) -> tuple[int, int]:
        """How many paths of a source have items in memory, and how many items those are."""
        with _translated(self.path):
            row = self._db.execute(
                f"SELECT count(*), total(json_array_length(ids)) FROM rows"
                f" WHERE source = ? AND {_HOLDING}",
                (self.number(source),),
            ).fetchone()
        return row[0], int(row[1])

    def reasons(self, source: str, state: State) -> dict[str, int]:
        """Paths in a state, counted by reason, the most frequent first."""
        with _translated(self.path):
            rows = self._db.execute(
                "SELECT reason, count(*) FROM rows WHERE source = ? AND state = ?"
                " GROUP BY reason ORDER BY 2 DESC, 1",
                (self.number(source), state),
            ).fetchall()
        return dict(rows)

    def explained(self, source: str, state: State) -> list[tuple[str, str]]:
        """Each path in a state with its reason."""
        with _translated(self.path):
            return self._db.execute(
                "SELECT path, reason FROM rows WHERE source = ? AND state = ? ORDER BY path",
                (self.number(source), state),
            ).fetchall()

    def write(self, source: str, entries: Iterable[Entry]) -> None:
        """Put rows in the place of those with the same path (inside a transaction)."""
        number = self.number(source)
        self._db.executemany(
            "INSERT OR REPLACE INTO rows(source, path, size, mtime_ns, ctime_ns, inode, recipe,"
            " settled, state, reason, digest, ids) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                (
                    *(number, e.path, *map(signed, e.look), e.recipe, e.settled),
                    *(e.state, e.reason, e.digest, json.dumps(e.ids)),
                )
                for e in entries
            ),
        )

    def condemn(self, source: str, paths: Iterable[str]) -> None:
        """Mark rows whose paths are gone, so that they count as empty (inside a transaction)."""
        number = self.number(source)
        self._db.executemany(
            "UPDATE rows SET state = 4 WHERE source = ? AND path = ?",
            ((number, path) for path in paths),
        )

    def condemned(self, source: str) -> dict[str, tuple[str, ...]]:
        """The marked paths that memory holds something of, with its ids."""
        rows = self._db.execute(
            "SELECT path, ids FROM rows WHERE source = ? AND state = 4 AND ids <> '[]'",
            (self.number(source),),
        )
        return {path: tuple(json.loads(ids)) for path, ids in rows}

    def erase_condemned(self, source: str) -> None:
        """Drop the rows that were marked (in the same transaction)."""
        self._db.execute("DELETE FROM rows WHERE source = ? AND state = 4", (self.number(source),))

    def distrust(self, source: str, paths: Iterable[str]) -> None:
        """Make rows say that memory lacks their items, so that the next pass sends them again."""
        number = self.number(source)
        self._db.executemany(
            "UPDATE rows SET settled = 0, state = ?, digest = x'', ids = '[]'"
            " WHERE source = ? AND path = ?",
            ((State.LOST, number, path) for path in paths),
        )

    # -- what is to be forgotten -------------------------------------------------------------

    def doom_ids(self, source: str, ids: Sequence[str]) -> None:
        self._doom((self.number(source), id, None) for id in ids)

    def doom_paths(self, source: str, paths: Sequence[str]) -> None:
        self._doom((self.number(source), None, path) for path in paths)

    def _doom(self, rows: Iterable[tuple[int, str | None, str | None]]) -> None:
        self._db.executemany("INSERT INTO doomed(source, id, path) VALUES (?,?,?)", rows)

    def doomed(self, source: str) -> list[Doomed]:
        """What was written down to be forgotten and has not been confirmed."""
        with _translated(self.path):
            rows = self._db.execute(
                "SELECT number, id, path FROM doomed WHERE source = ? ORDER BY number",
                (self.number(source),),
            ).fetchall()
        return [Doomed(*row) for row in rows]

    def absolve(self, numbers: Iterable[int]) -> None:
        """Strike out what has been forgotten."""
        with self.transaction():
            self._db.executemany("DELETE FROM doomed WHERE number = ?", ((n,) for n in numbers))


def _root(device: int | None, inode: int | None) -> Root | None:
    if device is None or inode is None:
        return None
    return Root(device % 2**64, inode % 2**64)


def _range(path: str) -> tuple[str, tuple[str, ...]]:
    """SQL for "at or below `path`"; `0` is the character after `/`."""
    if path == "":
        return "1", ()
    base = path.rstrip("/")
    return "path = ? OR path >= ? AND path < ?", (base, base + "/", base + "0")


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    made = _is_made(db, path)  # asked first: what is not ours is not touched either
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    if not made:
        db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        return
    check = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if check != "ok":
        raise LedgerDamaged(path, check)


def _is_made(db: sqlite3.Connection, path: Path) -> bool:
    """Whether there is a ledger in the file and not nothing yet; LedgerDamaged for all else."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    owner = db.execute("PRAGMA application_id").fetchone()[0]
    if (version, owner) == (VERSION, APPLICATION_ID):
        return True
    if db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone() or version or owner:
        raise LedgerDamaged(path, f"no ledger of this version (version {version} of {owner:#x})")
    return False


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: what may pass is LedgerUnavailable, the rest LedgerDamaged."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a mistake of ours, not of the file
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR")):
            raise LedgerDamaged(path, str(error)) from error
        raise LedgerUnavailable(path, str(error)) from error
    except sqlite3.DatabaseError as error:
        raise LedgerDamaged(path, str(error)) from error
    except OSError as error:
        raise LedgerUnavailable(path, error.strerror or str(error)) from error


def move_aside(path: Path) -> Path:
    """Keep a damaged ledger under another name, so that a new one can be begun."""
    kept = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{kept}{suffix}")
    return kept
