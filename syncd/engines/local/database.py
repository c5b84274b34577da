"""One SQLite connection, opened when it is first needed and guarded by one lock.

No sqlite3 exception leaves `reading` and `writing`: they raise the contract's errors.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from syncd.engines.local import files, schema
from syncd.engines.local.faults import Damage, damaged, foreign, translate
from syncd.memory.errors import Config, Unavailable

# Seven texts of 2.3 KB share such a page; smaller ones would waste a fifth of the file.
_PAGE_SIZE = 16384
_SETTINGS = (
    "PRAGMA synchronous = FULL",  # the ledger believes a receipt; a power cut must not unsay it
    "PRAGMA secure_delete = FAST",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16000",
    "PRAGMA wal_autocheckpoint = 1000",
    "PRAGMA journal_size_limit = 33554432",
)


class Database:
    """The memory file at `path`. Safe for threads; other processes may read and write it too."""

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        busy_seconds: float = 10.0,
        opened: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self.path = path
        self.read_only = read_only
        self._busy_seconds = busy_seconds
        self._opened = opened
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._closed = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection in a read transaction: all statements see the same moment."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection in a write transaction, committed at the end, undone by an exception."""
        if self.read_only:
            raise Unavailable(f"memory file {self.path} is open for reading only")
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def close(self) -> None:
        """Close the connection; what was in the write-ahead log goes into the file."""
        with self._lock:
            self._closed = True
            self._drop()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._current()
                connection.execute(begin)
                try:
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                self._drop()
                raise translate(error, self.path) from error
            except Damage as error:
                raise damaged(self.path, str(error)) from error

    def _current(self) -> sqlite3.Connection:
        """The connection, anew when the file at the path is not the one that was opened."""
        if self._closed:
            raise Unavailable(f"memory file {self.path} was closed")
        if self._connection is not None and files.identity(self.path) != self._identity:
            self._drop()
        if self._connection is None:
            self._connection = self._open()
            self._identity = files.identity(self.path)
        return self._connection

    def _open(self) -> sqlite3.Connection:
        (files.require if self.read_only else files.prepare)(self.path)
        connection = sqlite3.connect(
            files.uri(self.path, "ro" if self.read_only else "rw"),
            uri=True,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        if self.read_only:
            connection.execute("PRAGMA query_only = ON")
        else:
            connection.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
        for setting in _SETTINGS:
            connection.execute(setting)
        version = schema_version(connection, self.path)
        if not self.read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, self.path)
        elif version == 0:
            raise Unavailable(f"nothing is in memory yet: {self.path} is empty")
        elif version < schema.VERSION:
            raise Unavailable(f"memory file {self.path} is of an older syncd; a sync renews it")
        if self._opened is not None:
            self._opened(connection)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            # A damaged file may refuse its last checkpoint; the log stays beside it.
            with contextlib.suppress(sqlite3.Error):
                connection.close()


def schema_version(connection: sqlite3.Connection, path: Path) -> int:
    """The file's schema version, 0 for an empty file; Config when it is not ours to use."""
    version = _number(connection, "PRAGMA user_version")
    application = _number(connection, "PRAGMA application_id")
    if application != schema.APPLICATION_ID:
        if application or version or _number(connection, "SELECT count(*) FROM sqlite_master"):
            raise foreign(path, "a database of another program")
        return 0
    if version > schema.VERSION:
        raise Config(
            f"memory file {path} was written by a newer syncd (schema {version}, this one"
            f" reads up to {schema.VERSION}); update syncd, or name another path"
        )
    return version


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this version's schema, all of it or nothing."""
    if schema_version(connection, path) == schema.VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have done it meanwhile.
        for step in schema.MIGRATIONS[schema_version(connection, path) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {schema.VERSION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _number(connection: sqlite3.Connection, sql: str) -> int:
    return int(connection.execute(sql).fetchone()[0])
