"""The faults that wait for their request, in the order in which they were scripted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.cortex.double.values import Fault, Recorded, Reply, encoded, failure, success


@dataclass(slots=True)
class Waiting:
    fault: Fault
    skip: int
    left: int | None


class Faults:
    """A queue of faults, and `chaos`, which is asked when none of the queue is due."""

    def __init__(self, script: Iterable[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Waiting] = []
        self.chaos: Callable[[Recorded], Fault | None] | None = None
        for fault in script:
            self.add(fault)

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._waiting.append(Waiting(fault, fault.skip, fault.times))

    def clear(self) -> None:
        with self._lock:
            self._waiting.clear()
            self.chaos = None

    def pending(self) -> list[Fault]:
        """Faults that have not yet struck as often as they should (those for ever included)."""
        with self._lock:
            return [waiting.fault for waiting in self._waiting]

    def take(self, request: Recorded) -> Fault | None:
        """The fault due for this request; the first that matches and has skipped enough."""
        with self._lock:
            for waiting in self._waiting:
                if not waiting.fault.matches(request):
                    continue
                if waiting.skip > 0:
                    waiting.skip -= 1
                    continue
                self._spend(waiting)
                return waiting.fault
            chaos = self.chaos
        return chaos(request) if chaos else None

    def _spend(self, waiting: Waiting) -> None:
        if waiting.left is not None:
            waiting.left -= 1
            if waiting.left <= 0:
                self._waiting.remove(waiting)


def stand_in(fault: Fault, wire: str) -> Reply:
    """The answer that a fault gives instead of the server's."""
    status = fault.status if fault.status is not None else 200
    if fault.body is not None:
        body = fault.body
    elif status >= 400:
        body = failure(wire, status, f"scripted failure {status}")
    else:
        body = success(wire, {"scripted": "this answer stands in for the server's"})
    return bent(Reply(status, encoded(body)), fault)


def bent(reply: Reply, fault: Fault) -> Reply:
    """A true answer, bent on its way as the fault says."""
    return Reply(
        reply.status,
        reply.body,
        (*reply.headers, *fault.headers.items()),
        drop=fault.drop,
        reset=fault.reset,
        cut=fault.cut,
        length=fault.length,
        size=fault.size,
        chunked=fault.chunked,
        delay=fault.delay,
    )
