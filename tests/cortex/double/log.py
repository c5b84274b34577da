"""The one log behind both wires: events in order, indexed late, and never a key released.

An event is listed after `lag`, and in recall only `recall_lag` after that. A whole number counts
requests: listings of the event's own scope, then recalls of any (recall is one ordered index). A
float counts seconds of the clock. Earlier events of a scope are always indexed before later ones.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tests.cortex.double.values import Refused, StoredEvent

WORD = re.compile(r"\w+")
CURSOR = re.compile(r"c([0-9a-f]+)x([0-9a-f]+)")


@dataclass(slots=True)
class Entry:
    sequence: int
    event: StoredEvent
    born: float
    polls: int = 0
    recalls: int = 0
    words: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Page:
    events: list[StoredEvent]  # with their copies
    has_more: bool
    next_cursor: str | None


class Log:
    """Not thread-safe: whoever holds it locks around it."""

    def __init__(self, lag: float, recall_lag: float | None, clock: Callable[[], float]) -> None:
        self.lag = lag
        self.recall_lag = lag if recall_lag is None else recall_lag
        self._clock = clock
        self._sequence = 0
        self._scopes: dict[str, list[Entry]] = {}
        self._keys: dict[str, str] = {}
        self.repeated_keys: list[str] = []

    def append(self, event: StoredEvent) -> str:
        """The event's id; for a key that was ever used, the id it was used for, and no event."""
        if event.key is not None and event.key in self._keys:
            self.repeated_keys.append(event.key)
            return self._keys[event.key]
        self._add(event)
        if event.key is not None:
            self._keys[event.key] = event.id
        return event.id

    def add_indexed(self, event: StoredEvent) -> str:
        """An event that has been there for long."""
        entry = self._add(event)
        entry.born = float("-inf")
        entry.polls = entry.recalls = 1 << 30
        return event.id

    def next_id(self) -> str:
        self._sequence += 1
        return f"evt_{self._sequence:08x}"

    def _add(self, event: StoredEvent) -> Entry:
        words = frozenset(WORD.findall(event.text.lower()))
        entry = Entry(int(event.id[4:], 16), event, self._clock(), words=words)
        self._scopes.setdefault(event.scope, []).append(entry)
        return entry

    def _is_listed(self, entry: Entry) -> bool:
        if isinstance(self.lag, int):
            return entry.polls >= self.lag
        return self._clock() - entry.born >= self.lag

    def _is_recalled(self, entry: Entry) -> bool:
        if not self._is_listed(entry):
            return False
        if isinstance(self.recall_lag, int):
            return entry.recalls >= self.recall_lag
        seconds = self.recall_lag + (0 if isinstance(self.lag, int) else self.lag)
        return self._clock() - entry.born >= seconds

    def events(self) -> list[StoredEvent]:
        """Every event held, oldest first, indexed or not."""
        entries = [entry for scope in self._scopes.values() for entry in scope]
        return [entry.event for entry in sorted(entries, key=lambda entry: entry.sequence)]

    def listing(self, scope: str, labels: Sequence[str], limit: int, cursor: str | None) -> Page:
        """Newest first, each event twice, `limit` counting the copies."""
        below = self._position(scope, cursor)
        wanted = set(labels)
        found = []
        for entry in reversed(self._scopes.get(scope, [])):
            if self._is_listed(entry) and (not wanted or wanted & set(entry.event.labels)):
                copies = (2 * entry.sequence + 1, 2 * entry.sequence)
                found += [(at, entry.event) for at in copies if below is None or at < below]
                if len(found) > limit:
                    break
        if cursor is None:
            self._tick_listing(scope)
        page = found[:limit]
        # a cursor is given even on the last page: only has_more says whether to follow it
        last = self._cursor(scope, page[-1][0]) if page else None
        return Page([event for _, event in page], len(found) > limit, last)

    def _tick_listing(self, scope: str) -> None:
        for entry in self._scopes.get(scope, []):
            if not self._is_listed(entry):
                entry.polls += 1

    def _cursor(self, scope: str, position: int) -> str:
        return f"c{position:x}x{zlib.crc32(scope.encode()):x}"

    def _position(self, scope: str, cursor: str | None) -> int | None:
        if cursor is None:
            return None
        match = CURSOR.fullmatch(cursor)
        if match is None or int(match[2], 16) != zlib.crc32(scope.encode()):
            raise Refused(400, "this cursor belongs to no listing of this scope")
        return int(match[1], 16)

    def ranked(
        self, scope: str, query: str, labels: Iterable[str], limit: int, descend: bool
    ) -> list[StoredEvent]:
        """The `limit` best events of the scope (and below it), rare shared words first."""
        wanted = set(labels)
        pool = [
            entry
            for entry in self._within(scope, descend)
            if self._is_recalled(entry) and (not wanted or wanted & set(entry.event.labels))
        ]
        for entry in self._within("", True):
            if self._is_listed(entry):
                entry.recalls += 1
        words = set(WORD.findall(query.lower()))
        rarity = {word: 1 / max(1, sum(word in e.words for e in pool)) for word in words}
        pool.sort(key=lambda e: (-sum(rarity[w] for w in words & e.words), -e.sequence))
        return [entry.event for entry in pool[:limit]]

    def _within(self, scope: str, descend: bool) -> list[Entry]:
        if not descend:
            return list(self._scopes.get(scope, []))
        found = []
        for path, entries in self._scopes.items():
            if not scope or path == scope or path.startswith(scope + "/"):
                found += entries
        return found

    def forget(self, scope: str, ids: Iterable[str]) -> int:
        """Removes the named events of exactly this scope; how many there were."""
        gone = set(ids)
        entries = self._scopes.get(scope, [])
        kept = [entry for entry in entries if entry.event.id not in gone]
        self._keep(scope, kept)
        return len(entries) - len(kept)

    def forget_scope(self, scope: str) -> int:
        """Removes the scope and everything below it; how many events there were."""
        gone = self._within(scope, True)
        for path in {entry.event.scope for entry in gone}:
            self._keep(path, [])
        return len(gone)

    def _keep(self, scope: str, entries: list[Entry]) -> None:
        if entries:
            self._scopes[scope] = entries
        else:
            self._scopes.pop(scope, None)

    def scopes(self, prefix: str) -> list[str]:
        """Scopes with a listed event, and those above them, by mere text prefix, last first."""
        paths: set[str] = set()
        for scope, entries in self._scopes.items():
            if any(self._is_listed(entry) for entry in entries):
                steps = scope.split("/")
                paths.update("/".join(steps[:end]) for end in range(1, len(steps) + 1))
        return sorted((path for path in paths if path.startswith(prefix)), reverse=True)
