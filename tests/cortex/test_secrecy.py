"""The key shows nowhere, whatever the server echoes: errors, tracebacks, reprs, logs, health."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from syncd.engines import build_engine
from syncd.engines.cortex.engine import build
from syncd.memory import (
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    RecallRequest,
    errors,
)
from tests.cortex.double import Double
from tests.cortex.rig import IDS, TOKEN, WIRES, FakeClock, document

CALLS: dict[str, Callable[[MemoryEngine], Any]] = {
    "store": lambda engine: engine.store(document("a")),
    "fetch": lambda engine: engine.fetch(FetchRequest("a", FetchMode.HYBRID)),
    "recall": lambda engine: engine.recall(RecallRequest("a")),
    "list": lambda engine: engine.list(ListRequest()),
    "get": lambda engine: engine.get(GetRequest(("a",))),
    "forget": lambda engine: engine.forget(ForgetTarget(filter=MetaFilter(workspace="w"))),
    "health": lambda engine: engine.health(),
}
ECHO = {"x-echo": f"Bearer {TOKEN}"}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [200, 302, 400, 401, 402, 409, 418, 500])
def test_the_key_shows_nowhere(
    wire: str, status: int, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("", "httpx", "httpcore", "httpcore.http11", "httpcore.connection"):
        caplog.set_level(logging.DEBUG, logger=name or None)
    shown: list[str] = []
    with Double(wire) as double:
        double.token = TOKEN
        for bodies in (f"you sent {TOKEN}", double.failure(status, f"bad {TOKEN}"), TOKEN[:-4]):
            double.fail("*", None, status=status, headers=ECHO, body=bodies)
            where = {"endpoint": double.url}
            with build(IDS[wire], where, TOKEN, clock=FakeClock()) as engine:
                for call in CALLS.values():
                    try:
                        shown.append(repr(call(engine)))
                    except errors.MemoryError as error:
                        shown.append("".join(traceback.format_exception(error)))
                        shown.append(f"{error!r} {error.message} {vars(error)}")
                shown.append(f"{engine!r} {engine.descriptor!r} {engine._wire!r}")
            double.heal()
    told = capfd.readouterr()
    everything = "\n".join([*shown, caplog.text, told.out, told.err])
    assert TOKEN not in everything
    assert TOKEN[:-4] not in everything
    assert "[hidden]" in everything or status in (200, 302)


def test_no_traceback_holds_the_request() -> None:
    def locals_of(error: BaseException) -> str:
        frames = traceback.TracebackException.from_exception(error, capture_locals=True)
        kept = [frame for frame in frames.stack if "/syncd/" in frame.filename]
        assert kept
        return "\n".join(str(frame.locals) for frame in kept)

    with Double("direct") as double:
        double.token = "another"
        with (
            build_engine("cortexdb", {"endpoint": double.url}, lambda: TOKEN) as engine,
            pytest.raises(errors.Unauthorized) as error,
        ):
            engine.list(ListRequest())
        assert error.value.__context__ is None
        assert "Bearer canary" not in locals_of(error.value)
