"""The wire of a CortexDB that is spoken to directly: bare JSON, writes sent once."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from syncd.engines.cortex import shapes
from syncd.engines.cortex.events import Answer, Event
from syncd.engines.cortex.failures import Said
from syncd.engines.cortex.transport import ATTEMPTS, SECONDS, Call, Dialect, Transport
from syncd.engines.cortex.wire import HttpWire, Manners
from syncd.memory import EngineHealth
from syncd.memory.errors import Engine, Unauthorized

DIALECT = Dialect(opened=lambda data: data, explained=lambda text: Said(None, text))
_INDEXED = (("wait", "indexed"),)


class Direct(HttpWire):
    """Names the caller on every request, once the service has told who that is."""

    manners: ClassVar = Manners(longest_gap=0.25, forgiving=False, writers=4, bulk=True)
    prefix: ClassVar = "v1"

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self._lock = threading.Lock()
        self._actor: str | None = None
        self._asked = False

    def append(self, events: Sequence[Event], doubt: Callable[[float], None]) -> list[str]:
        bodies = [event.body(self._keys.next()) for event in events]
        if len(bodies) == 1:
            call = Call("POST", "v1/experience", _INDEXED, bodies[0])
            return [self._write(call, shapes.event_id, doubt)]
        body = {"items": bodies, "ordering": "strict_temporal"}
        call = Call("POST", "v1/experience/bulk", _INDEXED, body)
        return self._write(call, lambda data: shapes.event_ids(data, len(bodies)), doubt)

    def answer(self, scope: str, question: str, pack_id: str, told: str | None) -> Answer:
        body = shapes.answer_body(scope, question, pack_id) | {"answer_instructions": told}
        return shapes.answer(self._read(Call("POST", "v1/answer", body=body)))

    def forget(self, scope: str, ids: Sequence[str]) -> None:
        self._once(self._forget_call(scope, ids))

    def scopes(self, prefix: str) -> Sequence[str]:
        return self._scopes("scopes/list", prefix)

    def health(self) -> EngineHealth:
        # One request: the caller's name goes along only where it is known already.
        return self._health(Call("GET", "v1/admin/health"))

    def _probe(self, call: Call) -> None:
        with self._forgetting():
            super()._probe(self._named(call))

    def _once(self, call: Call) -> Any:
        self._learn()
        with self._forgetting():
            return super()._once(self._named(call))

    def _read(self, call: Call, attempts: int = ATTEMPTS, seconds: float = SECONDS) -> Any:
        self._learn()
        with self._forgetting():
            return super()._read(self._named(call), attempts, seconds)

    @contextmanager
    def _forgetting(self) -> Iterator[None]:
        """A refused key may have been another's: whose the next one is will be asked anew."""
        try:
            yield
        except Unauthorized:
            with self._lock:
                self._actor, self._asked = None, False
            raise

    def _named(self, call: Call) -> Call:
        actor = self._actor
        return call if actor is None else call._replace(headers=(("x-cortex-actor", actor),))

    def _learn(self) -> None:
        """Ask who is calling, unless that is known; no such route means that nobody needs to."""
        with self._lock:
            if not self._asked:
                call = Call("GET", "v1/auth/whoami", absent=(404, 405))
                self._actor = _caller(self._transport.read(call))
                self._asked = True


def _caller(answer: Any) -> str | None:
    caller = answer.get("caller") if isinstance(answer, dict) else None
    if caller is None or caller == "":
        return None
    if not isinstance(caller, str) or not re.fullmatch(r"[!-~](?:[ -~]*[!-~])?", caller):
        raise Engine("whoami names a caller that no header can carry")
    return caller
