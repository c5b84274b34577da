"""The embedded engine: every operation is one transaction on one SQLite file (operations.md)."""

from __future__ import annotations

import builtins
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from syncd.engines.local import cursors, paging, writing
from syncd.engines.local.database import Database
from syncd.engines.local.descriptor import DESCRIPTOR
from syncd.engines.local.exploring import explore
from syncd.engines.local.filters import Condition, condition, probe, selecting
from syncd.engines.local.passages import passage_of
from syncd.engines.local.query import Query, parse
from syncd.engines.local.recalling import quote
from syncd.engines.local.rows import HIT_FROM, HIT_SELECT, read_hit
from syncd.engines.local.search import Found, Search
from syncd.engines.local.words import INDEX_VERSION
from syncd.memory import (
    EngineDescriptor,
    EngineHealth,
    ExplorePage,
    ExploreRequest,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    Item,
    ListPage,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
    StoreReceipt,
    validate_many,
)
from syncd.memory.errors import Config, MemoryError

# A forget above this is split, so that readers and the write-ahead log do not suffer.
FORGET_AT_ONCE = 5000
_SETTINGS = frozenset({"path", "read_only", "busy_seconds"})


class LocalEngine(MemoryEngine):
    """Memory in the file at `path`, opened by the first call.

    `read_only` never creates or changes the file: while there is none, reads are Unavailable.
    `busy_seconds` is how long a call waits for another process that writes.
    """

    def __init__(
        self, path: str | Path, *, read_only: bool = False, busy_seconds: float = 10.0
    ) -> None:
        self.path = Path(path).expanduser()
        self._read_only = read_only
        self._memory_id = b""
        self._index_is_old = False
        self._database = Database(
            self.path, read_only=read_only, busy_seconds=busy_seconds, opened=self._opened
        )

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> LocalEngine:
        """The engine of `{path, read_only?, busy_seconds?}`; Config when that is not it."""
        unknown = sorted(settings.keys() - _SETTINGS)
        if unknown:
            raise Config(f"the local engine has no setting {unknown[0]!r}")
        path = settings.get("path")
        if not isinstance(path, str | Path) or not str(path):
            raise Config("the local engine needs a path")
        read_only = bool(settings.get("read_only", False))
        return cls(path, read_only=read_only, busy_seconds=settings.get("busy_seconds", 10.0))

    @property
    def descriptor(self) -> EngineDescriptor:
        return DESCRIPTOR

    def health(self) -> EngineHealth:
        try:
            with self._database.reading() as connection:
                connection.execute("SELECT 1 FROM items LIMIT 1").fetchone()
        except MemoryError as error:
            return EngineHealth.down(error.message)
        if self._index_is_old:
            return EngineHealth.degraded(
                f"the search index of {self.path} is of another version; a sync renews it"
            )
        return EngineHealth.ok()

    def store(self, item: Item) -> StoreReceipt:
        return self.store_many([item])[0]

    def store_many(self, items: Sequence[Item]) -> builtins.list[StoreReceipt]:
        validate_many(items)
        with self._database.writing() as connection:
            return writing.store(connection, items)

    def list(self, request: ListRequest) -> ListPage:
        """Newest first; what is stored while the pages are turned comes on none of them."""
        request.validate()
        with self._database.reading() as connection:
            bound = self._bound("list", request.filter)
            last = cursors.read(request.cursor, bound)[0] if request.cursor is not None else None
            where = selecting(connection, request.filter)
            before = Condition("items.seq < ?", (last,)) if last is not None else Condition("1")
            rows = connection.execute(
                f"SELECT items.seq, {HIT_SELECT} FROM {HIT_FROM} WHERE {where.sql}"
                f" AND {before.sql} ORDER BY items.seq DESC LIMIT ?",
                (*where.values, *before.values, request.limit + 1),
            ).fetchall()
            page = rows[: request.limit]
            more = cursors.write([page[-1][0]], bound) if len(rows) > len(page) else None
            return ListPage(tuple(read_hit(row[1:]) for row in page), more)

    def get(self, request: GetRequest) -> builtins.list[Hit]:
        request.validate()
        blobs = [blob for blob in map(writing.blob, request.ids) if blob is not None]
        where = probe(MetaFilter(reach=request.reach))
        marks = ", ".join("?" * len(blobs))
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {HIT_SELECT} FROM {HIT_FROM} WHERE items.id IN ({marks}) AND {where.sql}",
                (*blobs, *where.values),
            ).fetchall()
            found = {hit.id: hit for hit in map(read_hit, rows)}
        return [found[id] for id in dict.fromkeys(request.ids) if id in found]

    def explore(self, request: ExploreRequest) -> ExplorePage:
        request.validate()
        with self._database.reading() as connection:
            return explore(connection, request, condition(request.filter))

    def forget(self, target: ForgetTarget) -> ForgetReport:
        target.validate()
        if target.ids is not None:
            with self._database.writing() as connection:
                return ForgetReport(writing.forget_ids(connection, target.ids))
        assert target.filter is not None
        return ForgetReport(self._forget_where(condition(target.filter)))

    def fetch(self, request: FetchRequest) -> FetchPage:
        """Ranked hits with their passages; what is stored between two pages comes on none."""
        self.descriptor.ensure_mode(request.mode)
        request.validate()
        query = parse(request.query)
        with self._database.reading() as connection:
            bound = self._bound("fetch", request.filter, request.mode.value, request.query)
            past = paging.read(request.cursor, bound) or paging.start(writing.next_seq(connection))
            search = Search(connection, query, request.filter, past.top)
            page, more = paging.turn(search.run(), past, request.limit)
            hits = self._read(connection, page, query)
        return FetchPage(tuple(hits), paging.write(past.after(page), bound) if more else None)

    def recall(self, request: RecallRequest) -> RecallAnswer:
        """Quotes the best passages; `instructions` cannot steer a quotation and are not used."""
        request.validate()
        asked = FetchRequest(request.question, filter=request.filter, limit=request.limit)
        return quote(self.fetch(asked).hits)

    def close(self) -> None:
        self._database.close()

    def _forget_where(self, where: Condition) -> int:
        forgotten = 0
        with self._database.reading() as connection:
            top = writing.next_seq(connection)
        # What is stored from now on is not meant, and could keep this going for ever.
        meant = Condition(f"{where.sql} AND items.seq < ?", (*where.values, top))
        while True:
            with self._database.writing() as connection:
                gone = writing.forget_where(connection, meant, FORGET_AT_ONCE)
            forgotten += gone
            if gone < FORGET_AT_ONCE:
                return forgotten

    def _read(
        self, connection: sqlite3.Connection, page: Sequence[Found], query: Query
    ) -> builtins.list[Hit]:
        """The hits of `page`, in its order."""
        rows = connection.execute(
            f"SELECT items.seq, {HIT_SELECT} FROM {HIT_FROM}"
            " WHERE items.seq IN (SELECT value FROM json_each(?))",
            (json.dumps([found.seq for found in page]),),
        )
        by_seq = {row[0]: read_hit(row[1:]) for row in rows}
        # The index may name an item that is gone: one that another Unicode version had split.
        return [
            replace(hit, score=score, passage=passage_of(hit.text, query.words))
            for seq, score in page
            if (hit := by_seq.get(seq)) is not None
        ]

    def _bound(self, operation: str, filter: MetaFilter, *parts: str) -> bytes:
        return cursors.question(self._memory_id, operation, filter.as_json(), *parts)

    def _opened(self, connection: sqlite3.Connection) -> None:
        facts = dict(connection.execute("SELECT name, value FROM facts"))
        self._memory_id = facts.get("memory_id", b"")
        self._index_is_old = facts.get("index_version") != INDEX_VERSION
        if self._index_is_old and not self._read_only:
            self._renew_index(connection)

    def _renew_index(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            writing.index_anew(connection)
            connection.execute(
                "INSERT OR REPLACE INTO facts VALUES ('index_version', ?)", (INDEX_VERSION,)
            )
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        self._index_is_old = False
