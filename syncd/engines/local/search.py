"""Keyword search in tiers: what is certainly meant comes before what may be.

A tier's rows are read newest first in windows of a bounded size and ranked within the window, so
that the cost of a common word does not grow with the memory. bm25 ranks by words that few texts
hold: for a common one it would walk past every text with it, only to learn that it tells little.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from syncd.engines.local.filters import EVERYTHING, probe, selecting
from syncd.engines.local.passages import weigher
from syncd.engines.local.query import Query, all_of, any_of
from syncd.engines.local.schema import RANK
from syncd.memory import MetaFilter

COMMON = 2000
WINDOW = 400
_WINDOW_OF_ONE = 1200
_COMMON_WINDOW = 100
_NAME_WINDOW = 200
_COMMON_KEPT = 3
_LITERAL_WINDOW = 100
_LITERALS_CHECKED = 300
_LONGEST_WEIGHED = 20_000
# Below this a filter's rows are listed once; above it they are dense enough to meet on the way.
_SELECTIVE = 5000
_FEW = 1000


class Found(NamedTuple):
    """A row and its score, which falls from one to the next."""

    seq: int
    score: float


class Admitted(NamedTuple):
    """A filter within a search: a clause, its values, and the range in which its rows lie."""

    sql: str
    values: tuple[Any, ...] = ()
    low: int = 0
    high: int = sys.maxsize


class Search:
    """One search: `query` among the items that `filter` admits, none newer than `top`."""

    def __init__(
        self, connection: sqlite3.Connection, query: Query, filter: MetaFilter, top: int
    ) -> None:
        self._connection = connection
        self._query = query
        self._top = top
        self._filter = filter
        self._probe = probe(filter)
        self._listed: Admitted | None = None
        self._is_dense = False

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
        for tier, name in ((5, query.spelt), (4, query.exact), (3, query.names)):
            if name:
                yield tier, self._by_rank(f"names : {name}", f"names : {name}", _NAME_WINDOW)
        yield from self._by_words()

    def _by_words(self) -> Iterator[tuple[int, Iterator[Found]]]:
        counted = sorted((self._count(term, COMMON), term) for term in self._query.terms)
        rare = [term for count, term in counted if count < COMMON]
        common = [term for count, term in counted if count >= COMMON][:_COMMON_KEPT]
        if not rare:
            yield 2, self._by_weight(all_of(common))
            yield 0, self._by_weight(any_of(common))
            return
        if len(rare) == 1 and not common:
            yield 2, self._by_rank(rare[0], rare[0], _WINDOW_OF_ONE)
            return
        yield 2, self._by_rank(all_of(rare + common), all_of(rare))
        few = any_of(_essential(counted))
        if few:
            # Rows with the rarest words, ranked by all: the others cannot matter as much.
            yield 1, self._by_rank(few, f"({few}) AND ({any_of(rare)})")
        yield 0, self._by_rank(any_of(rare), any_of(rare))
        if common:
            yield 0, self._by_weight(any_of(common))

    def _count(self, expression: str, most: int) -> int:
        sql = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ? LIMIT ?)"
        return int(self._connection.execute(sql, (expression, most)).fetchone()[0])

    def _by_rank(self, expression: str, ranking: str, size: int | None = None) -> Iterator[Found]:
        """Rows of `expression` by bm25 of `ranking`, which holds of each of them."""
        for seqs in self._windows(expression, size or WINDOW):
            yield from self._ranked(ranking, seqs)

    def _by_weight(self, expression: str) -> Iterator[Found]:
        """Rows of `expression`, whose words are all common, by how often their text has them."""
        for seqs in self._windows(expression, _COMMON_WINDOW):
            yield from self._weighed(seqs, self._query.words)

    def _weighed(self, seqs: list[int], words: Sequence[str]) -> list[Found]:
        texts = self._texts(seqs)
        weigh = weigher(words)
        weighed = [Found(seq, weigh(texts.get(seq, ""))) for seq in seqs]
        return sorted(weighed, key=lambda found: (-found.score, -found.seq))

    def _literal(self) -> Iterator[Found]:
        """Rows that hold the phrases, and the literal text with its symbols as well."""
        checked = 0
        for seqs in self._windows(self._query.phrases, _LITERAL_WINDOW):
            yield from self._weighed(self._holding(seqs), self._query.literals)
            checked += len(seqs)
            if checked >= _LITERALS_CHECKED:
                return

    def _windows(self, expression: str, size: int) -> Iterator[list[int]]:
        """The admitted rows of `expression`, newest first, `size` at a time."""
        admitted = self._admitted(expression)
        # One range alone: FTS5 would use the first of two, and walk past all that the other bars.
        low, high = admitted.low, min(self._top, admitted.high)
        while low <= high:
            rows = self._connection.execute(
                f"SELECT search.rowid FROM search {admitted.sql} search MATCH ?"
                " AND search.rowid BETWEEN ? AND ? ORDER BY search.rowid DESC LIMIT ?",
                (*admitted.values, expression, low, high, size),
            )
            seqs = [row[0] for row in rows]
            if seqs:
                yield seqs
            if len(seqs) < size:
                return
            high = seqs[-1] - 1

    def _ranked(self, ranking: str, seqs: list[int]) -> list[Found]:
        # bm25() and not `rank`: FTS5 would rank all rows before looking at the other conditions.
        rows = self._connection.execute(
            f"SELECT search.rowid, -{RANK} FROM search WHERE search MATCH ?"
            " AND search.rowid BETWEEN ? AND ?"
            " AND +search.rowid IN (SELECT value FROM json_each(?)) ORDER BY 2 DESC, 1 DESC",
            (ranking, seqs[-1], seqs[0], json.dumps(seqs)),
        )
        return [Found(seq, max(rank, 0.0)) for seq, rank in rows]

    def _texts(self, seqs: list[int]) -> dict[int, str]:
        rows = self._connection.execute(
            "SELECT items.seq, texts.body FROM items CROSS JOIN texts ON texts.seq = items.seq"
            " WHERE items.seq IN (SELECT value FROM json_each(?)) AND items.size <= ?",
            (json.dumps(seqs), _LONGEST_WEIGHED),
        )
        return dict(rows.fetchall())

    def _admitted(self, expression: str) -> Admitted:
        """The filter as a clause that ends in WHERE … AND, whichever way costs less."""
        if self._probe == EVERYTHING:
            return Admitted("WHERE")
        if self._count(expression, _FEW) == _FEW:
            self._list_the_filter()
            if self._listed is not None:
                return self._listed
        judged = f"CROSS JOIN items ON items.seq = search.rowid WHERE {self._probe.sql} AND"
        return Admitted(judged, self._probe.values)

    def _list_the_filter(self) -> None:
        """Look up the rows that the filter admits, unless they are many."""
        if self._listed is not None or self._is_dense:
            return
        where = selecting(self._connection, self._filter)
        rows = self._connection.execute(
            f"SELECT items.seq FROM items WHERE {where.sql} LIMIT ?",
            (*where.values, _SELECTIVE + 1),
        )
        seqs = [row[0] for row in rows]
        self._is_dense = len(seqs) > _SELECTIVE
        if not self._is_dense:
            within = "WHERE +search.rowid IN (SELECT value FROM json_each(?)) AND"
            low, high = min(seqs, default=1), max(seqs, default=0)
            self._listed = Admitted(within, (json.dumps(seqs),), low, high)

    def _holding(self, seqs: list[int]) -> list[int]:
        test = "(instr(lower(body), lower(?)) OR instr(lower(title), lower(?)))"
        literals = self._query.literals
        rows = self._connection.execute(
            "SELECT seq FROM texts WHERE seq IN (SELECT value FROM json_each(?))"
            f" AND {' AND '.join([test] * len(literals))} ORDER BY seq DESC",
            (json.dumps(seqs), *(literal for literal in literals for _ in range(2))),
        )
        return [row[0] for row in rows]

    def _containing(self) -> Iterator[Found]:
        """Rows whose text holds the query as it stands, newest first: it has no word to look up."""
        text = self._query.text
        where = selecting(self._connection, self._filter)
        rows = self._connection.execute(
            "SELECT items.seq FROM items CROSS JOIN texts ON texts.seq = items.seq"
            f" WHERE {where.sql} AND items.seq <= ?"
            " AND (instr(texts.body, ?) OR instr(texts.title, ?)) ORDER BY items.seq DESC",
            (*where.values, self._top, text, text),
        )
        return (Found(row[0], 0.5) for row in rows)


def _essential(counted: list[tuple[int, str]]) -> list[str]:
    """The rarest terms, as many as have no more than a window of rows together."""
    essential, total = [], 0
    for count, term in counted:
        total += count
        if total > WINDOW:
            break
        essential.append(term)
    return essential
