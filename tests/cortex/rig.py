"""What the tests of the engine share: a clock that never waits, engines on doubles, items."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from syncd.engines.cortex.clock import Clock, closed
from syncd.engines.cortex.engine import CortexEngine, build
from syncd.memory import (
    Conversation,
    Document,
    Learning,
    LearningKind,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Role,
    SourceKind,
    SourceRef,
    Turn,
)
from tests.cortex.double import Double

WIRES = ("direct", "hosted")
IDS = {"direct": "cortexdb", "hosted": "tinyhumans"}
TOKEN = "canary/+token=0123456789"
EVERYTHING = MetaFilter()


class FakeClock(Clock):
    """Time that only pauses move; `pauses` are those that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        self.pauses: list[float] = []
        self._lock = threading.Lock()
        self.on_pause: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return 1_800_000_000.0 + self.time

    def pause(self, seconds: float) -> None:
        with self._lock:
            if self.closed:
                raise closed()
            self.pauses.append(round(seconds, 6))
            self.time += max(0.0, seconds)
        self.on_pause()


@contextmanager
def on_double(
    wire: str, *args: Any, clock: Clock | None = None, **more: Any
) -> Iterator[tuple[CortexEngine, Double]]:
    """An engine on a double, which must find nothing to complain of."""
    clock = clock or FakeClock()
    double_clock = clock.now if isinstance(clock, FakeClock) else None
    if double_clock is not None:
        more.setdefault("clock", double_clock)
    with Double(wire, *args, **more) as double:
        double.token = TOKEN
        engine = build(IDS[wire], {"endpoint": double.url}, TOKEN, clock=clock)
        try:
            yield engine, double
        finally:
            engine.close()
        assert double.violations == []


class Script:
    """Answers requests from a list, and records them; the last answer repeats for ever."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        return httpx.Response(200, json=answer)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests if request.content]

    @property
    def targets(self) -> list[str]:
        return [request.url.raw_path.decode() for request in self.requests]


def scripted(wire: str, *answers: Any, clock: Clock | None = None) -> tuple[CortexEngine, Script]:
    """An engine whose requests a script answers; on the direct wire whoami is answered apart."""
    script = Script(*answers)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("whoami"):
            return httpx.Response(404)
        return script(request)

    through = httpx.MockTransport(answer)
    where = {"endpoint": "https://cortex.example.com/base/"}
    return build(IDS[wire], where, TOKEN, clock=clock or FakeClock(), through=through), script


def success(data: Any) -> dict[str, Any]:
    return {"success": True, "data": data}


def document(text: str, **meta: Any) -> Document:
    meta.setdefault("source", SourceRef(SourceKind.FOLDER, "notes"))
    return Document(text, meta=MemoryMeta(**meta))


def learning(text: str, **meta: Any) -> Learning:
    return Learning(text, LearningKind.FACT, 0.5, meta=MemoryMeta(**meta))


def conversation(*texts: str, **meta: Any) -> Conversation:
    roles = (Role.USER, Role.ASSISTANT)
    turns = tuple(Turn(roles[n % 2], text) for n, text in enumerate(texts))
    return Conversation(turns, MemoryMeta(**meta))


def node(path: str) -> Namespace:
    return Namespace.parse(path)


def listed(engine: MemoryEngine, filter: MetaFilter = EVERYTHING, limit: int = 100) -> list[str]:
    """The texts of a listing over all its pages."""
    texts: list[str] = []
    cursor: str | None = None
    while True:
        page = engine.list(ListRequest(filter, limit, cursor))
        texts += [hit.text for hit in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return texts


def routes(double: Double) -> list[str]:
    """The routes asked for so far, whoami apart."""
    return [request.route for request in double.requests if request.route != "whoami"]


def event_texts(double: Double) -> list[str]:
    """The item texts of every event in the log, oldest first."""
    return [json.loads(event.text)["text"] for event in double.log]


def ids(items: Iterable[Any]) -> list[str]:
    return [item.fingerprint() for item in items]


def counted(sequence: Sequence[Any], value: Any) -> int:
    return sum(each == value for each in sequence)
