"""The wire of the hosted service: wrapped answers, and writes under a claim.

The service takes a claim before it forwards a write, and answers every replay of it with 409.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from syncd.engines.cortex import shapes
from syncd.engines.cortex.events import Answer, Event
from syncd.engines.cortex.failures import LOST, OutcomeUnknown, Said
from syncd.engines.cortex.transport import ATTEMPTS, Call, Dialect
from syncd.engines.cortex.wire import HttpWire, Manners
from syncd.memory import EngineHealth
from syncd.memory.errors import Conflict, NotFound, Unavailable

_PROBE = "tmh:probe"


def _opened(data: Any) -> Any:
    if not isinstance(data, dict) or data.get("success") is not True or "data" not in data:
        raise ValueError("not a success")
    return data["data"]


def _explained(text: str) -> Said:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Said(None, text)
    if not isinstance(data, dict):
        return Said(None, text)
    code, said = data.get("errorCode"), data.get("error")
    return Said(code if isinstance(code, str) else None, said if isinstance(said, str) else "")


DIALECT = Dialect(_opened, _explained)


class Hosted(HttpWire):
    """Never names a caller: the key alone says who asks."""

    manners: ClassVar = Manners(longest_gap=2.0, forgiving=True, writers=1, bulk=False)
    prefix: ClassVar = "memory"

    def append(self, events: Sequence[Event], doubt: Callable[[float], None]) -> list[str]:
        """Write one event. OutcomeUnknown when an attempt whose answer was lost took the claim."""
        (event,) = events
        claim = (("idempotency-key", secrets.token_hex(16)),)
        body = event.body(self._keys.next())
        call = Call("POST", "memory/experience", body=body, headers=claim)
        for attempt in self._transport.attempts():
            try:
                return [self._write(call, shapes.event_id, doubt)]
            except Unavailable:
                if attempt == ATTEMPTS:
                    raise
            except Conflict as error:
                if attempt == 1:
                    raise
                said = f"the outcome of a write is unknown: {error.message}"
                doubt(LOST)
                raise OutcomeUnknown(said) from None
        raise AssertionError("a write is attempted at least once")

    def answer(self, scope: str, question: str, pack_id: str, told: str | None) -> Answer:
        # The schema is strict: a key that is null would be refused.
        extra = {} if told is None else {"answer_instructions": told}
        body = shapes.answer_body(scope, question, pack_id) | extra
        return shapes.answer(self._read(Call("POST", "memory/answer", body=body)))

    def forget(self, scope: str, ids: Sequence[str]) -> None:
        """Removing named events again changes nothing, so a transient failure is tried again."""
        call = self._forget_call(scope, ids)
        for attempt in self._transport.attempts():
            try:
                self._once(call)
                return
            except Unavailable:
                if attempt == ATTEMPTS:
                    raise
            except NotFound:
                if attempt == 1:
                    raise
                return

    def scopes(self, prefix: str) -> Sequence[str]:
        return self._scopes("scopes", prefix)

    def health(self) -> EngineHealth:
        return self._health(Call("GET", "memory/scopes", shapes.scopes_query(_PROBE, limit=1)))
