"""Single requests through httpx.MockTransport: what is sent, how often, and what is read of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any

import httpx
import pytest

from syncd import __version__
from syncd.engines.cortex import direct, hosted, transport
from syncd.engines.cortex.credentials import Credential, Key
from syncd.engines.cortex.endpoint import parse
from syncd.engines.cortex.failures import Garbled, Transient
from syncd.engines.cortex.transport import Call, Transport
from syncd.memory import errors
from tests.cortex.rig import TOKEN, FakeClock, Script, success

READ = Call("GET", "v1/events", (("scope", "app:x/y"), ("limit", "200")))


def client(
    script: Script, clock: FakeClock, key: Credential = TOKEN, *, is_hosted: bool = False
) -> Transport:
    return Transport(
        parse("https://h.example/base"),
        Key(key, "cortexdb"),
        hosted.DIALECT if is_hosted else direct.DIALECT,
        clock,
        through=httpx.MockTransport(script),
    )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_a_request_byte_for_byte(clock: FakeClock) -> None:
    script = Script({"a": 1})
    call = Call("POST", "v1/x", (("wait", "indexed"),), {"a": "é\n"}, (("x-own", "1"),))
    assert client(script, clock).once(call) == {"a": 1}
    (request,) = script.requests
    assert (request.method, str(request.url)) == (
        "POST",
        "https://h.example/base/v1/x?wait=indexed",
    )
    assert request.content == '{"a":"é\\n"}'.encode()
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept"] == "application/json"
    assert request.headers["user-agent"] == f"syncd/{__version__}"
    assert request.headers["x-own"] == "1"
    timeouts = {"connect": 10.0, "read": 60.0, "write": 60.0, "pool": 60.0}
    assert request.extensions["timeout"] == timeouts


def test_a_query_keeps_its_escapes_and_a_get_has_no_body(clock: FakeClock) -> None:
    script = Script({})
    client(script, clock).once(READ)
    assert script.targets == ["/base/v1/events?scope=app%3Ax%2Fy&limit=200"]
    assert "content-type" not in script.requests[0].headers
    assert script.requests[0].content == b""


def test_a_text_that_is_not_unicode_is_the_caller_s_mistake(clock: FakeClock) -> None:
    script = Script({})
    with pytest.raises(errors.InvalidRequest, match="unicode"):
        client(script, clock).once(Call("POST", "v1/x", body={"a": "\ud800"}))
    assert script.requests == []


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_read_is_attempted_three_times(clock: FakeClock, status: int) -> None:
    script = Script(httpx.Response(status), httpx.Response(status), {"ok": 1})
    assert client(script, clock).read(READ) == {"ok": 1}
    assert clock.pauses == [0.25, 0.5]
    script = Script(lambda request: httpx.Response(status))
    with pytest.raises(errors.Unavailable, match=f"v1/events at h.example answered {status}"):
        client(script, clock).read(READ)
    assert len(script.requests) == 3
    assert clock.pauses == [0.25, 0.5] * 2


@pytest.mark.parametrize("status", [302, 400, 401, 402, 403, 404, 405, 409, 413, 422, 425, 501])
def test_nothing_but_unavailable_is_repeated(clock: FakeClock, status: int) -> None:
    script = Script(httpx.Response(status, headers={"location": "http://other.example"}))
    with pytest.raises(errors.MemoryError):
        client(script, clock).read(READ)
    assert len(script.requests) == 1


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.ReadError])
def test_a_broken_line_is_tried_again(clock: FakeClock, error: type[httpx.RequestError]) -> None:
    script = Script(error("x"), {"ok": 1})
    assert client(script, clock).read(READ) == {"ok": 1}
    assert clock.pauses == [0.25]


def test_once_is_once(clock: FakeClock) -> None:
    script = Script(lambda request: httpx.Response(503))
    with pytest.raises(errors.Unavailable):
        client(script, clock).once(READ)
    assert len(script.requests) == 1


def test_the_key_is_asked_for_on_every_attempt(clock: FakeClock) -> None:
    made = iter(["one", "two", "three"])
    script = Script(lambda request: httpx.Response(503))
    with pytest.raises(errors.Unavailable):
        client(script, clock, lambda: next(made)).read(READ)
    sent = [request.headers["authorization"] for request in script.requests]
    assert sent == ["Bearer one", "Bearer two", "Bearer three"]


@pytest.mark.parametrize("key", [None, "", " ", "a\nb", "ü"])
def test_without_a_key_that_can_be_sent_nothing_is(clock: FakeClock, key: str | None) -> None:
    script = Script({})
    with pytest.raises(errors.Unauthorized):
        client(script, clock, key).read(READ)
    assert script.requests == []


class Body(httpx.SyncByteStream):
    """A body that counts how much of it was read."""

    def __init__(self, chunk: bytes, count: int, then: Callable[[], None] = lambda: None) -> None:
        self.chunk, self.count, self.then, self.read = chunk, count, then, 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(self.count):
            self.read += 1
            yield self.chunk
            self.then()


def test_a_body_over_64_mib_is_the_engine_s_and_not_read_on(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (transport.MAX_BODY, transport.MAX_ERROR_BODY) == (64 * 1024 * 1024, 64 * 1024)
    monkeypatch.setattr(transport, "MAX_BODY", 1024)
    body = Body(b" " * 512, 100)
    with pytest.raises(errors.Engine, match="more than"):
        client(Script(httpx.Response(200, stream=body)), clock).read(READ)
    assert body.read == 3
    whole = Body(b'{"a":"' + b"x" * 500 + b'"}', 1)
    client(Script(httpx.Response(200, stream=whole)), clock).read(READ)


def test_of_an_error_at_most_64_kib_are_read(clock: FakeClock) -> None:
    body = Body(b"x" * 1024, 1000)
    with pytest.raises(errors.InvalidRequest) as error:
        client(Script(httpx.Response(400, stream=body)), clock).read(READ)
    assert body.read == 65
    assert error.value.message == "v1/events at h.example answered 400 — " + "x" * 300


def test_a_key_that_the_cut_goes_through_does_not_show(clock: FakeClock) -> None:
    blank = 64 * 1024 - len("canary")
    body = Body(b" " * blank + TOKEN.encode(), 1)
    with pytest.raises(errors.InvalidRequest) as error:
        client(Script(httpx.Response(400, stream=body)), clock).read(READ)
    assert "canary" not in error.value.message


def test_a_body_that_drips_is_given_up_after_60_s(clock: FakeClock) -> None:
    def later() -> None:
        clock.time += 25

    body = Body(b" ", 100, later)
    with pytest.raises(Transient, match="too slowly"):
        client(Script(httpx.Response(200, stream=body)), clock).once(READ)
    assert body.read <= 4


def test_a_body_cut_short_is_unavailable_and_the_reason_of_an_error_is_not_lost(
    clock: FakeClock,
) -> None:
    def cut() -> None:
        raise httpx.RemoteProtocolError("peer closed connection")

    def broken(status: int) -> Script:
        return Script(lambda request: httpx.Response(status, stream=Body(b"{", 2, cut)))

    with pytest.raises(Transient, match="broke off"):
        client(broken(200), clock).once(READ)
    with pytest.raises(errors.InvalidRequest, match="answered 422"):
        client(broken(422), clock).once(READ)


@pytest.mark.parametrize(
    "text", [b"<html>", b"{", b'{"a": NaN}', b"\xff", b"[" * 100_000, b"[1" + b"0" * 5000 + b"]"]
)
def test_what_is_no_json_is_the_engine_s(clock: FakeClock, text: bytes) -> None:
    script = Script(lambda request: httpx.Response(200, content=text))
    with pytest.raises(Garbled, match="something else than its json"):
        client(script, clock).read(READ)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "data",
    [None, [], {}, {"success": True}, {"success": 1, "data": {}}, {"success": False, "data": {}},
     {"data": {}}, "x"],
)  # fmt: skip
def test_the_hosted_wrapping_must_be_there(clock: FakeClock, data: Any) -> None:
    with pytest.raises(errors.Engine):
        client(Script(httpx.Response(200, json=data)), clock, is_hosted=True).read(READ)


def test_the_hosted_wrapping_is_taken_off(clock: FakeClock) -> None:
    assert client(Script(success({"a": 1})), clock, is_hosted=True).read(READ) == {"a": 1}
    assert client(Script(success(None)), clock, is_hosted=True).read(READ) is None


def test_a_hosted_failure_tells_code_and_words(clock: FakeClock) -> None:
    answer = {
        "success": False,
        "error": "no credits left",
        "errorCode": "USER_INSUFFICIENT_CREDITS",
    }
    with pytest.raises(errors.Engine) as error:
        client(Script(httpx.Response(402, json=answer)), clock, is_hosted=True).read(READ)
    assert error.value.message == (
        "[USER_INSUFFICIENT_CREDITS] v1/events at h.example answered 402 — no credits left"
    )


@pytest.mark.parametrize("text", ["<html>bad gateway</html>", "[]", "[" * 30_000])
def test_a_hosted_failure_of_another_shape(clock: FakeClock, text: str) -> None:
    with pytest.raises(errors.Unavailable, match="answered 502 — "):
        client(Script(httpx.Response(502, text=text)), clock, is_hosted=True).once(READ)


def test_an_absent_status_is_no_failure(clock: FakeClock) -> None:
    call = READ._replace(absent=(404,))
    assert client(Script(httpx.Response(404)), clock, is_hosted=True).read(call) is None


@pytest.mark.parametrize("status", [429, 503])
def test_the_whole_client_is_held_back(clock: FakeClock, status: int) -> None:
    script = Script(httpx.Response(status, headers={"retry-after": "7"}), {})
    one = client(script, clock)
    with pytest.raises(Transient) as error:
        one.once(READ)
    assert error.value.retry_after == 7.0
    one.once(Call("POST", "v1/other", body={}))
    assert clock.pauses == [7.0]


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "99999999"}, 10.0),
        ({"retry-after": formatdate(1_800_001_004, usegmt=True)}, 4.0),
        ({"retry-after": formatdate(1_800_000_000, usegmt=True)}, 0.25),
        ({"retry-after": "1.5", "ratelimit-reset": "3"}, 3.0),
        ({"retry-after": "soon"}, 0.25),
        ({"retry-after": "0"}, 0.25),
        ({}, 0.25),
    ],
)
def test_a_read_waits_as_long_as_it_was_asked_to(
    clock: FakeClock, headers: dict[str, str], wait: float
) -> None:
    script = Script(httpx.Response(429, headers=headers), {})
    client(script, clock).read(READ)
    assert sum(clock.pauses) == wait


def test_what_was_asked_is_told_uncapped(clock: FakeClock) -> None:
    script = Script(lambda request: httpx.Response(429, headers={"retry-after": "600"}))
    with pytest.raises(Transient) as error:
        client(script, clock).read(READ)
    assert error.value.retry_after == 600.0
    assert sum(clock.pauses) == 20.0


def test_other_failures_hold_nothing_back(clock: FakeClock) -> None:
    script = Script(httpx.Response(500, headers={"retry-after": "7"}), {})
    client(script, clock).read(READ)
    assert clock.pauses == [0.25]


def test_a_closed_client_asks_nothing(clock: FakeClock) -> None:
    script = Script({})
    one = client(script, clock)
    one.close()
    with pytest.raises(errors.Unavailable, match="the engine is closed"):
        one.read(READ)
    assert script.requests == []


def test_a_hold_ends_when_the_client_is_closed(clock: FakeClock) -> None:
    script = Script(httpx.Response(429, headers={"retry-after": "9"}), {})
    one = client(script, clock)
    with pytest.raises(Transient):
        one.once(READ)
    clock.close()
    with pytest.raises(errors.Unavailable, match="closed"):
        one.once(READ)
    assert clock.pauses == []


def test_a_proxy_that_cannot_be_used_is_a_fault_of_the_configuration(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "gopher://user:secret@proxy.example")
    with pytest.raises(errors.Config, match="a proxy that the environment names") as error:
        Transport(parse("https://h.example"), Key(TOKEN, "x"), direct.DIALECT, clock)
    assert "secret" not in str(error.value)
    Transport(parse("http://127.0.0.1:9"), Key(TOKEN, "x"), direct.DIALECT, clock).close()


def test_no_error_and_no_log_line_leads_to_the_key(
    clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "httpcore.http11", "httpcore.connection"):
        caplog.set_level(logging.DEBUG, logger=name)

    def echo(request: httpx.Request) -> httpx.Response:
        sent = request.headers["authorization"]
        return httpx.Response(400, headers={"x-echo": sent}, text=f"bad {sent}")

    for trouble in (echo, httpx.ConnectError(f"x {TOKEN}"), httpx.ReadError(f"x {TOKEN}")):
        with pytest.raises(errors.MemoryError) as error:
            client(Script(trouble), clock).once(READ)
        shown = f"{error.value!r} {error.value} {vars(error.value)}"
        assert TOKEN not in shown
        assert error.value.__context__ is None
        assert error.value.__cause__ is None
    assert TOKEN not in caplog.text


def test_a_shorter_hold_does_not_end_a_longer_one(clock: FakeClock) -> None:
    one = client(Script({}), clock)
    one._hold(9)
    one._hold(2)
    one.once(READ)
    assert clock.pauses == [9.0]
