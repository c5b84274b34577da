"""Keyword search in tiers: what is certainly meant comes before what may be.

A tier's rows are read newest first in windows of a bounded size and ranked by bm25 within the
window, so that the cost of a common word does not grow with the memory. A word that most texts
hold tells little; beside rarer ones only two such words count.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from syncd.engines.local.filters import Condition
from syncd.engines.local.query import Query, all_of, any_of
from syncd.engines.local.schema import RANK

WINDOW = 1000
COMMON = 5000
_COMMON_KEPT_BESIDE_RARE = 2
_COMMON_KEPT_ALONE = 3
_LITERALS_CHECKED = 3 * WINDOW
# Below this a filter's rows are listed once; above it they are dense enough to meet on the way.
_SELECTIVE = 5000


class Found(NamedTuple):
    """A row and its score, which falls from one to the next."""

    seq: int
    score: float


class Search:
    """One search: `query` among the items that `where` admits, none newer than `top`."""

    def __init__(
        self, connection: sqlite3.Connection, query: Query, where: Condition, top: int
    ) -> None:
        self._connection = connection
        self._query = query
        self._top = top
        self._where = where
        self._filter: Condition | None = None

    def run(self) -> Iterator[Found]:
        """Every matching row once, best first."""
        if not self._query.words:
            yield from self._containing()
            return
        seen: set[int] = set()
        for tier, rows in self._tiers():
            for seq, rank in rows:
                if seq not in seen:
                    seen.add(seq)
                    yield Found(seq, tier + rank / (1 + rank))

    def _tiers(self) -> Iterator[tuple[int, Iterator[Found]]]:
        query = self._query
        if query.phrases:
            yield 6, self._literal()
        if query.spelt:
            yield 5, self._windows(f"names : {query.spelt}")
        if query.exact:
            yield 4, self._windows(f"names : {query.exact}")
            yield 3, self._windows(f"{{title names}} : ({query.names})")
        terms, rare = self._kept_terms()
        if len(terms) > 1:
            yield 2, self._windows(all_of(terms))
        if 0 < len(rare) < len(terms):
            # Rows with a rare word, ranked by all words: the others cannot matter as much.
            yield 1, self._windows(f"({any_of(rare)}) AND ({any_of(terms)})")
        yield 0, self._windows(any_of(terms))

    def _kept_terms(self) -> tuple[list[str], list[str]]:
        """The terms to search for, rarest first, and those of them that few rows hold."""
        counted = [(self._count(term), term) for term in self._query.terms]
        counted.sort(key=lambda pair: pair[0])
        rare = [term for count, term in counted if count < COMMON]
        common = [term for count, term in counted if count >= COMMON]
        kept = _COMMON_KEPT_BESIDE_RARE if rare else _COMMON_KEPT_ALONE
        return rare + common[:kept], self._essential(counted)

    def _essential(self, counted: list[tuple[int, str]]) -> list[str]:
        essential, total = [], 0
        for count, term in counted:
            total += count
            if total > WINDOW:
                break
            essential.append(term)
        return essential

    def _count(self, expression: str) -> int:
        sql = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
        return int(self._connection.execute(sql, (expression, COMMON)).fetchone()[0])

    def _windows(self, expression: str) -> Iterator[Found]:
        """All rows of `expression`, by bm25 within each window of the newest rows left."""
        below = self._top + 1
        while seqs := self._newest(expression, below):
            yield from self._ranked(expression, seqs)
            if len(seqs) < WINDOW:
                return
            below = seqs[-1]

    def _newest(self, expression: str, below: int) -> list[int]:
        filter = self._filtering(expression)
        rows = self._connection.execute(
            f"SELECT search.rowid FROM search {filter.sql} search MATCH ? AND search.rowid < ?"
            " ORDER BY search.rowid DESC LIMIT ?",
            (*filter.values, expression, below, WINDOW),
        )
        return [row[0] for row in rows]

    def _ranked(self, expression: str, seqs: list[int]) -> list[Found]:
        # bm25() and not `rank`: FTS5 would rank all rows before looking at the other conditions.
        rows = self._connection.execute(
            f"SELECT search.rowid, -{RANK} FROM search WHERE search MATCH ?"
            " AND search.rowid BETWEEN ? AND ?"
            " AND +search.rowid IN (SELECT value FROM json_each(?)) ORDER BY 2 DESC, 1 DESC",
            (expression, seqs[-1], seqs[0], json.dumps(seqs)),
        )
        return [Found(seq, max(rank, 0.0)) for seq, rank in rows]

    def _filtering(self, expression: str) -> Condition:
        """The filter as a clause that ends in WHERE … AND, whichever way costs less."""
        if self._filter is None:
            self._filter = self._cheapest_filter()
        return self._filter

    def _cheapest_filter(self) -> Condition:
        if self._where.sql == "1":
            return Condition("WHERE")
        seqs = [
            row[0]
            for row in self._connection.execute(
                f"SELECT items.seq FROM items WHERE {self._where.sql} LIMIT ?",
                (*self._where.values, _SELECTIVE + 1),
            )
        ]
        if len(seqs) > _SELECTIVE:
            joined = f"CROSS JOIN items ON items.seq = search.rowid WHERE {self._where.sql} AND"
            return Condition(joined, self._where.values)
        listed: tuple[Any, ...] = (min(seqs, default=0), max(seqs, default=0), json.dumps(seqs))
        return Condition(
            "WHERE search.rowid BETWEEN ? AND ?"
            " AND +search.rowid IN (SELECT value FROM json_each(?)) AND",
            listed,
        )

    def _literal(self) -> Iterator[Found]:
        """Rows that hold the phrases, and the literal text with its symbols as well."""
        checked = 0
        below = self._top + 1
        while checked < _LITERALS_CHECKED and (seqs := self._newest(self._query.phrases, below)):
            holding = self._holding(seqs)
            if holding:
                yield from self._ranked(self._query.phrases, holding)
            checked += len(seqs)
            below = seqs[-1]

    def _holding(self, seqs: list[int]) -> list[int]:
        literals = self._query.literals
        tests = " AND ".join(
            ["(instr(lower(body), lower(?)) OR instr(lower(title), lower(?)))"] * len(literals)
        )
        rows = self._connection.execute(
            "SELECT seq FROM texts WHERE seq IN (SELECT value FROM json_each(?))"
            f" AND {tests} ORDER BY seq DESC",
            (json.dumps(seqs), *(literal for literal in literals for _ in range(2))),
        )
        return [row[0] for row in rows]

    def _containing(self) -> Iterator[Found]:
        """Rows whose text holds the query as it stands, newest first: it has no word to look up."""
        rows = self._connection.execute(
            "SELECT items.seq FROM items CROSS JOIN texts ON texts.seq = items.seq"
            f" WHERE {self._where.sql} AND items.seq <= ?"
            " AND (instr(texts.body, ?) OR instr(texts.title, ?)) ORDER BY items.seq DESC",
            (*self._where.values, self._top, self._query.text, self._query.text),
        )
        return (Found(row[0], 0.5) for row in rows)
