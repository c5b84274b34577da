"""The engine: validates, and hands each operation to the module that carries it out."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import httpx

from syncd.engines.cortex import direct, endpoint, forgetting, hosted, ranking, reading
from syncd.engines.cortex.clock import Clock
from syncd.engines.cortex.credentials import Credential, Key
from syncd.engines.cortex.crew import Crew
from syncd.engines.cortex.descriptors import DIRECT, HOSTED
from syncd.engines.cortex.pacing import Bucket
from syncd.engines.cortex.storing import Storing
from syncd.engines.cortex.transport import Transport
from syncd.engines.cortex.waiting import Waits
from syncd.engines.cortex.wire import Wire
from syncd.memory import (
    EngineDescriptor,
    EngineHealth,
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
    RecallAnswer,
    RecallRequest,
    StoreReceipt,
    validate_many,
)
from syncd.memory.errors import Config

_SETTINGS = frozenset({"endpoint", "ca_file"})


class CortexEngine(MemoryEngine):
    """Memory in a CortexDB. Safe to use from several threads."""

    selects_by_listing: ClassVar[bool] = True

    def __init__(
        self,
        descriptor: EngineDescriptor,
        wire: Wire,
        clock: Clock | None = None,
        bucket: Bucket | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._wire = wire
        self._clock = clock or Clock()
        self._bucket = bucket
        self._crew = Crew()
        waits = Waits(wire, self._clock)
        self._storing = Storing(wire, self._clock, waits, self._crew)

    def __repr__(self) -> str:
        return f"CortexEngine({self._descriptor.id})"

    @property
    def descriptor(self) -> EngineDescriptor:
        return self._descriptor

    def seconds_for(self, requests: int) -> float:
        """How long the next `requests` requests take at least; 0 where none are held back."""
        return self._bucket.seconds_for(requests) if self._bucket else 0.0

    def health(self) -> EngineHealth:
        return self._wire.health()

    def store(self, item: Item) -> StoreReceipt:
        item.validate()
        return self._storing.store([item])[0]

    def store_many(self, items: Sequence[Item]) -> builtins.list[StoreReceipt]:
        validate_many(items)
        return self._storing.store(items)

    def fetch(self, request: FetchRequest) -> FetchPage:
        self._descriptor.ensure_mode(request.mode)
        request.validate()
        return ranking.fetch_page(self._wire, self._crew, request)

    def recall(self, request: RecallRequest) -> RecallAnswer:
        request.validate()
        return ranking.recall(self._wire, self._crew, request)

    def list(self, request: ListRequest) -> ListPage:
        request.validate()
        return reading.list_page(self._wire, request)

    def get(self, request: GetRequest) -> builtins.list[Hit]:
        request.validate()
        return reading.get(self._wire, request)

    def forget(self, target: ForgetTarget) -> ForgetReport:
        target.validate()
        if target.filter is not None:
            gone = forgetting.forget_filter(self._wire, target.filter)
        else:
            gone = forgetting.forget_ids(self._wire, target.ids or ())
        self._storing.doubts.clear(gone)
        return ForgetReport(len(gone))

    def hurry(self) -> None:
        """Requests under way are answered still; what waits, or would be next, is Unavailable."""
        self._clock.close()

    def close(self) -> None:
        """End every connection and thread; calls under way end with Unavailable."""
        self._clock.close()
        self._wire.close()
        self._crew.close()


def build(
    id: str,
    settings: Mapping[str, Any],
    credential: Credential,
    *,
    clock: Clock | None = None,
    through: httpx.BaseTransport | None = None,
) -> CortexEngine:
    """The engine `id`, `cortexdb` or `tinyhumans`; Config for settings that cannot be used.

    Tests give their own `clock`, and what requests go `through`.
    """
    unknown = sorted(set(settings) - _SETTINGS)
    if unknown:
        raise Config(f"engine {id} has no setting {unknown[0]!r}; known: ca_file, endpoint")
    descriptor = HOSTED if id == HOSTED.id else DIRECT
    address = _text(settings, "endpoint") or descriptor.default_endpoint or ""
    where = endpoint.parse(address)
    key, ca_file = Key(credential, descriptor.id), _text(settings, "ca_file")
    clock = clock or Clock()
    bucket = Bucket(clock) if descriptor.hosted else None
    dialect = hosted.DIALECT if descriptor.hosted else direct.DIALECT
    client = Transport(where, key, dialect, clock, bucket=bucket, ca_file=ca_file, through=through)
    wire = hosted.Hosted(client) if descriptor.hosted else direct.Direct(client)
    return CortexEngine(descriptor, wire, clock, bucket)


def _text(settings: Mapping[str, Any], name: str) -> str | None:
    value = settings.get(name)
    if value is None:
        return None
    text = str(value)
    if not text.strip():
        raise Config(f"the setting {name} is empty")
    return text
