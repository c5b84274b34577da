"""What the engine needs of a service, and the part that both wires have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from syncd.engines.cortex import shapes
from syncd.engines.cortex.events import Answer, Ask, Event, Keys, Pack, Page
from syncd.engines.cortex.failures import Garbled, Transient
from syncd.engines.cortex.transport import ATTEMPTS, SECONDS, Call, Transport
from syncd.memory import EngineHealth
from syncd.memory.errors import MemoryError, Unavailable

B = TypeVar("B")

FORGET_AT_ONCE = 100
HEALTH_SECONDS = 10.0


class Manners(NamedTuple):
    """How a service is treated while a write becomes readable, and while many are under way."""

    longest_gap: float
    """Seconds to which the gap between two polls grows."""
    forgiving: bool
    """Whether a transient failure of a poll means "not yet"."""
    writers: int
    """How many items are written at the same time."""
    bulk: bool
    """Whether the events of one item go in one request."""


class Wire(Protocol):
    """A service. Scopes are paths; ids are those of events."""

    manners: ClassVar[Manners]

    def append(self, events: Sequence[Event], doubt: Callable[[float], None]) -> list[str]:
        """Write events of one item (one, unless `manners.bulk`); their ids in order.

        `doubt` is told, of each attempt that failed, within how many seconds its events may
        appear all the same.
        """

    def list(
        self,
        scope: str,
        labels: Sequence[str] = (),
        cursor: str | None = None,
        *,
        attempts: int = ATTEMPTS,
        seconds: float = SECONDS,
    ) -> Page:
        """A page of the scope's events, newest first."""

    def recall(self, ask: Ask, *, attempts: int = ATTEMPTS, seconds: float = SECONDS) -> Pack:
        """The events nearest to a query."""

    def answer(self, scope: str, question: str, pack_id: str, told: str | None) -> Answer:
        """An answer from a pack, as `told` where that is given."""

    def forget(self, scope: str, ids: Sequence[str]) -> None:
        """Remove 1 to 100 events."""

    def scopes(self, prefix: str) -> Sequence[str]:
        """The paths of the scopes below `prefix`; none where there is no such route."""

    def health(self) -> EngineHealth:
        """One request; never raises, and says nothing of the service's own."""

    def close(self) -> None:
        """End connections and whatever waits on them."""


class HttpWire:
    """What is the same on both wires but for the first part of every route."""

    prefix: ClassVar[str]

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._keys = Keys()

    def list(
        self,
        scope: str,
        labels: Sequence[str] = (),
        cursor: str | None = None,
        *,
        attempts: int = ATTEMPTS,
        seconds: float = SECONDS,
    ) -> Page:
        call = Call("GET", f"{self.prefix}/events", shapes.list_query(scope, labels, cursor))
        return shapes.page(self._read(call, attempts, seconds), cursor)

    def recall(self, ask: Ask, *, attempts: int = ATTEMPTS, seconds: float = SECONDS) -> Pack:
        call = Call("POST", f"{self.prefix}/recall", body=shapes.recall_body(ask))
        return shapes.pack(self._read(call, attempts, seconds))

    def close(self) -> None:
        self._transport.close()

    def _scopes(self, route: str, prefix: str) -> Sequence[str]:
        query = shapes.scopes_query(prefix)
        data = self._read(Call("GET", f"{self.prefix}/{route}", query, absent=(404,)))
        return [] if data is None else shapes.scopes(data)

    def _write(self, call: Call, read: Callable[[Any], B], doubt: Callable[[float], None]) -> B:
        """One attempt to write, and what `read` makes of its answer."""
        try:
            return read(self._once(call))
        except (Transient, Garbled) as error:
            doubt(error.may_appear)
            raise

    def _once(self, call: Call) -> Any:
        return self._transport.once(call)

    def _forget_call(self, scope: str, ids: Sequence[str]) -> Call:
        return Call("POST", f"{self.prefix}/forget", body=shapes.forget_body(scope, ids))

    def _read(self, call: Call, attempts: int = ATTEMPTS, seconds: float = SECONDS) -> Any:
        return self._transport.read(call, attempts=attempts, seconds=seconds)

    def _health(self, call: Call) -> EngineHealth:
        try:
            self._probe(call)
        except MemoryError as error:
            return unwell(error)
        return EngineHealth.ok()

    def _probe(self, call: Call) -> None:
        self._transport.once(call, HEALTH_SECONDS)


def unwell(error: MemoryError) -> EngineHealth:
    """The health that a failed probe tells of, without the words of the service."""
    reason = error.message.partition(" — ")[0]
    if reason.startswith("["):
        reason = reason.partition("] ")[2]
    busy = isinstance(error, Unavailable) and reason.endswith("answered 429")
    return EngineHealth.degraded(reason) if busy else EngineHealth.down(reason)
