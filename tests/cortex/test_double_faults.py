"""What goes wrong on purpose: scripted faults, limits, credentials, and bytes bent on their way."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cortex.double import Double, Fault, Recorded, label
from tests.cortex.double.raw import DOCUMENTS, LEARNINGS, Raw, data, said
from tests.cortex.test_double import Clock
from tests.waiting import until

CAP = 64 << 20
LOST: list[tuple[str, type[httpx.TransportError]]] = [
    ("drop", httpx.RemoteProtocolError),
    ("cut", httpx.RemoteProtocolError),
    ("reset", httpx.ReadError),
]


@pytest.fixture(params=["direct", "hosted"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def raw(wire: str) -> Iterator[Raw]:
    with Double(wire) as double, Raw(double) as client:
        yield client


def test_a_scripted_failure_applies_nothing_and_leaves_the_claim_free(raw: Raw) -> None:
    raw.double.fail("append", status=503)
    event = raw.event()
    assert raw.append(event).status_code == 503
    assert raw.double.log == []
    assert data(raw.append(event))["event_id"] == raw.double.log[0].id
    assert raw.double.faults.pending() == []


def test_failure_bodies_are_of_the_wire(raw: Raw) -> None:
    codes = {402: "USER_INSUFFICIENT_CREDITS", 429: "RATE_LIMITED", 500: "UPSTREAM_ERROR"}
    for status, code in codes.items():
        raw.double.fail("list", status=status)
        text = f"scripted failure {status}"
        assert said(raw.page()) == (status, text if raw.direct else code)


def test_a_fault_behind_the_claim_leaves_it_taken_and_nothing_stored() -> None:
    with Double("hosted") as double, Raw(double) as raw:
        double.fail("append", status=502, claimed=True)
        event = raw.event()
        assert raw.append(event).status_code == 502
        assert said(raw.append(event)) == (409, "CONFLICT")
        assert double.log == []


@pytest.mark.parametrize(("lost", "error"), LOST)
def test_a_lost_answer_was_applied(raw: Raw, lost: str, error: type[httpx.TransportError]) -> None:
    raw.double.fail("append", after_applying=True, **{lost: True})
    event = raw.event()
    with pytest.raises(error):
        raw.append(event)
    (stored,) = raw.double.log
    assert raw.double.requests[0].status == (200 if not raw.direct else 202) * (lost == "cut")
    retried = raw.append(event)
    if raw.direct:
        assert data(retried)["event_id"] == stored.id, "the key stands, and nothing is stored twice"
    else:
        assert retried.status_code == 409
    assert raw.listed(labels=event["context"]["labels"][0]) == [stored.id] * 2


def test_a_failure_may_hide_what_was_applied(raw: Raw) -> None:
    raw.double.fail("append", status=500, after_applying=True)
    assert raw.append(raw.event()).status_code == 500
    assert len(raw.double.log) == 1


@pytest.mark.parametrize(("lost", "error"), LOST)
def test_a_connection_that_ends_before_anything_is_applied(
    raw: Raw, lost: str, error: type[httpx.TransportError]
) -> None:
    raw.double.fail("append", **{lost: True})
    with pytest.raises(error):
        raw.append(raw.event())
    assert raw.double.log == []


def test_a_refusal_of_the_server_wins_over_a_fault_behind_it() -> None:
    with Double("hosted") as double, Raw(double) as raw:
        event = raw.event()
        raw.append(event)
        double.fail("append", drop=True, after_applying=True)
        assert raw.append(event).status_code == 409


def test_a_body_longer_than_announced(raw: Raw) -> None:
    raw.stored()
    raw.double.fail("list", length=10)
    # What follows the ten bytes may or may not be noticed before the connection is used again.
    with pytest.raises(json.JSONDecodeError):
        raw.page().json()


def test_a_body_shorter_than_announced(raw: Raw) -> None:
    raw.stored()
    raw.double.fail("list", length=100_000)
    with pytest.raises(httpx.RemoteProtocolError):
        raw.page()
    assert raw.double.faults.pending() == []
    assert len(raw.listed()) == 2, "the connection that lied is not used again"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_true_answer_padded_over_the_cap(raw: Raw, chunked: bool) -> None:
    event = raw.stored()
    raw.double.fail("list", size=CAP + 5, chunked=chunked)
    with raw.client.stream("GET", f"{raw.prefix}/events?scope={DOCUMENTS}&limit=2") as answer:
        assert ("content-length" in answer.headers) is not chunked
        size = sum(map(len, answer.iter_bytes()))
    assert size == CAP + 5
    raw.double.fail("list", size=5000, chunked=chunked)
    assert raw.listed() == [event] * 2, "padding is legal JSON: only a cap refuses it"


def test_a_reader_that_stops_in_the_middle_harms_nothing(raw: Raw) -> None:
    raw.double.fail("list", size=CAP)
    with raw.client.stream("GET", f"{raw.prefix}/events?scope={DOCUMENTS}&limit=2") as answer:
        next(answer.iter_bytes())
    assert raw.listed() == []


@pytest.mark.parametrize("body", ["", "{", "<html>bad gateway</html>", b"\xff\xfe", "[1]", "null"])
def test_any_body_can_stand_in(raw: Raw, body: str | bytes) -> None:
    raw.double.fail("recall", status=200, body=body)
    assert raw.recall().content == (body if isinstance(body, bytes) else body.encode())


def test_a_success_may_lack_what_it_should_hold(raw: Raw) -> None:
    raw.double.fail("append", body=raw.double.success({}), after_applying=True)
    assert data(raw.append(raw.event())) == {}
    assert len(raw.double.log) == 1
    body = raw.double.failure(503, "token xyz was no good")
    raw.double.fail("health", status=503, body=body)
    assert "xyz" in raw.health().text


def test_a_late_answer_was_applied(raw: Raw) -> None:
    raw.double.fail("append", delay=30.0)
    raw.client.timeout = httpx.Timeout(0.3)
    with pytest.raises(httpx.ReadTimeout):
        raw.append(raw.event())
    assert len(raw.double.log) == 1, "and the double ends without waiting those 30 seconds"


def test_faults_strike_in_order_as_often_as_told(raw: Raw) -> None:
    raw.double.fail("list", 2, status=500, skip=1)
    raw.double.fail("*", None, status=503, when=lambda request: request.route == "health")
    assert [raw.page().status_code for _ in range(4)] == [200, 500, 500, 200]
    assert {raw.health().status_code for _ in range(3)} == {503}
    raw.double.heal()
    assert raw.health().status_code == 200


@pytest.mark.parametrize(
    "route",
    ["append", "list", "recall", "answer", "forget", "scopes", "health"],
)
def test_each_route_has_its_name(raw: Raw, route: str) -> None:
    raw.double.fail(route, None, status=418)
    asks = {
        "append": lambda: raw.append(raw.event()),
        "list": raw.page,
        "recall": raw.recall,
        "answer": lambda: raw.answer("pack"),
        "forget": lambda: raw.forget(["x"]),
        "scopes": raw.scopes,
        "health": raw.health,
    }
    assert {name for name, ask in asks.items() if ask().status_code == 418} == {route}
    assert [request.route for request in raw.double.asked(route)] == [route]


def test_the_scopes_route_may_be_missing(raw: Raw) -> None:
    raw.double.fail("scopes", None, status=404)
    assert [said(raw.scopes())[0] for _ in range(2)] == [404, 404]
    assert raw.health().status_code == 200


def test_a_listing_may_name_the_same_cursor_for_ever(raw: Raw) -> None:
    page = {"items": [], "has_more": True, "next_cursor": "c1"}
    raw.double.fail("list", None, body=raw.double.success(page))
    assert data(raw.page(cursor="c1")) == page


def test_a_script_and_chance_may_be_given(wire: str) -> None:
    with Double(wire, script=[Fault("list", status=500)]) as double, Raw(double) as raw:
        assert [raw.page().status_code for _ in range(2)] == [500, 200]
        double.faults.chaos = lambda request: Fault(status=502) if request.raw else None
        assert (raw.page().status_code, raw.recall().status_code) == (200, 502)
        double.heal()
        assert raw.recall().status_code == 200


@pytest.mark.parametrize(
    "value", ["3", "Wed, 21 Oct 2015 07:28:00 GMT", "0", "-5", "1.5", "soon", "", "99999999"]
)
def test_retry_after_is_sent_as_scripted(raw: Raw, value: str) -> None:
    headers = {"Retry-After": value, "RateLimit-Reset": "7"}
    raw.double.fail("append", status=429, headers=headers)
    answer = raw.append(raw.event())
    assert (answer.headers["retry-after"], answer.headers["ratelimit-reset"]) == (value, "7")


def test_three_hundred_a_minute_on_the_hosted_wire_and_the_claim_stays_free() -> None:
    clock = Clock()
    with Double("hosted", clock=clock) as double, Raw(double) as raw:
        for _ in range(300):
            assert raw.health().status_code == 200
        clock.now += 18.5
        event = raw.event()
        refused = raw.append(event)
        assert said(refused) == (429, "RATE_LIMITED")
        assert refused.headers["retry-after"] == refused.headers["ratelimit-reset"] == "42"
        assert double.claims == set()
        clock.now += 41.5
        assert raw.append(event).status_code == 200


def test_no_limit_where_there_is_none() -> None:
    with Double() as double, Raw(double) as raw:
        assert double.service.rate_limit is None
        double.service.rate_limit = 1
        assert [raw.page().status_code for _ in range(2)] == [200, 429]


def test_a_token_may_change_at_any_time_and_the_old_one_is_echoed(raw: Raw) -> None:
    old = raw.double.token
    raw.double.token = "a new one"
    refused = raw.page()
    assert refused.status_code == 401
    assert old in refused.text
    assert raw.client.get("").status_code == 401, "no route is told to strangers"
    raw.client.headers.update(raw.headers())
    assert raw.page().status_code == 200


def test_a_request_without_a_credential_is_a_violation(raw: Raw) -> None:
    del raw.client.headers["Authorization"]
    assert raw.page().status_code == 401
    assert raw.double.violations == ["list: no Authorization header"]


def test_the_caller_must_be_named_on_the_direct_wire() -> None:
    with Double() as double, Raw(double) as raw:
        assert raw.whoami().json() == {"caller": "user:double"}
        double.service.caller = "user:someone-else"
        assert raw.page().status_code == 403
        assert double.violations == []
        del raw.client.headers["X-Cortex-Actor"]
        assert (raw.health().status_code, raw.whoami().status_code) == (200, 200)
        assert double.violations == [], "health is one request: it cannot have asked before"
        assert raw.page().status_code == 403
        assert double.violations == ["list: no X-Cortex-Actor header"]


@pytest.mark.parametrize("status", [404, 405, 401])
def test_whoami_may_tell_nothing_and_then_there_is_no_actor(status: int) -> None:
    with Double() as double, Raw(double) as raw:
        double.service.whoami_status = status
        assert raw.whoami().status_code == status
        assert raw.page().status_code == 200
        assert double.violations == ["list: actor 'user:double' where there is none"]
        del raw.client.headers["X-Cortex-Actor"]
        assert raw.page().status_code == 200


def test_whoami_may_lack_the_caller() -> None:
    with Double() as double, Raw(double) as raw:
        double.service.caller = None
        assert raw.whoami().json() == {}


def test_a_text_can_be_refused_for_good(raw: Raw) -> None:
    raw.double.refuse("POISON")
    raw.double.refuse(lambda request: len(request.raw) > 2000, status=413)
    assert raw.append(raw.event("some POISON here")).status_code == 422
    assert raw.append(raw.event("x" * 2000)).status_code == 413
    assert raw.append(raw.event("healed")).status_code in (200, 202)
    assert len(raw.double.log) == 1
    raw.double.heal()
    raw.stored("POISON no more")


def test_unknown_paths_and_methods(raw: Raw) -> None:
    assert raw.client.get(f"{raw.prefix}/nothing").status_code == 404
    wrong = raw.client.delete(f"{raw.prefix}/events")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")
    assert raw.double.violations[0] == f"/{raw.prefix}/nothing: unknown path /{raw.prefix}/nothing"


def test_a_path_in_the_base_is_kept(wire: str) -> None:
    with Double(wire, base="/some/path") as double, Raw(double) as raw:
        assert double.url.endswith("/some/path")
        assert raw.page().status_code == 200
        host = f"http://{raw.client.base_url.netloc.decode()}"
        for astray in (f"{host}/{raw.prefix}/events", f"{host}/same/size/{raw.prefix}/events"):
            assert raw.client.get(astray, params={"scope": DOCUMENTS}).status_code == 404


def test_requests_are_recorded(raw: Raw) -> None:
    raw.page(LEARNINGS, labels=label("r", "x y"))
    raw.recall("why?")
    listed, recalled = raw.double.requests
    assert (listed.method, listed.path) == ("GET", f"/{raw.prefix}/events")
    assert listed.query == {"scope": LEARNINGS, "limit": "200", "labels": label("r", "x y")}
    assert listed.headers["authorization"] == f"Bearer {raw.double.token}"
    assert (listed.body, listed.raw, listed.status) == (None, b"", 200)
    assert recalled.body["query"] == "why?"
    assert json.loads(recalled.raw) == recalled.body
    assert 0 <= recalled.when - listed.when < 60
    assert (recalled.route, isinstance(recalled, Recorded)) == ("recall", True)


def test_head_and_body_come_in_one_piece_on_a_kept_connection(raw: Raw) -> None:
    host, port = raw.client.base_url.host, raw.client.base_url.port
    line = f"GET /{raw.prefix}/events?scope={DOCUMENTS}&limit=1 HTTP/1.1\r\nHost: {host}\r\n"
    asked = line + "".join(f"{name}: {value}\r\n" for name, value in raw.headers().items())
    with socket.create_connection((host, port), 10) as connection:
        for _ in range(3):
            connection.sendall((asked + "\r\n").encode())
            answer = connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert answer.endswith(b"}")


def test_a_fault_of_its_own_shows_at_the_end(wire: str) -> None:
    def broken(request: Recorded) -> bool:
        raise LookupError("a mistake in the test")

    def ask() -> None:
        with Double(wire) as double, Raw(double) as raw:
            double.fail("*", when=broken)
            with pytest.raises(httpx.TransportError):
                raw.page()
            until(lambda: double.crashes, what="the crash is noted")

    with pytest.raises(LookupError, match="a mistake"):
        ask()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_it_speaks_tls_and_outlives_clients_that_do_not_trust_it(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    with Double(certificate=(certificate, key)) as double:
        assert double.url.startswith("https://")
        with Raw(double, ssl.create_default_context()) as raw, pytest.raises(httpx.ConnectError):
            raw.page()
        with Raw(double, ssl.create_default_context(cafile=str(certificate))) as raw:
            assert raw.page().status_code == 200
        assert [request.status for request in double.requests] == [200]
