"""Each route of both wires as a single request, and the actor of the direct one."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from syncd.engines import build_engine
from syncd.engines.cortex.engine import build
from syncd.memory import (
    ForgetTarget,
    GetRequest,
    ListRequest,
    MetaFilter,
    RecallRequest,
    errors,
)
from tests.cortex.double import Double
from tests.cortex.rig import (
    IDS,
    TOKEN,
    WIRES,
    FakeClock,
    conversation,
    document,
    on_double,
    routes,
    scripted,
    success,
)

EMPTY: dict[str, Any] = {"items": [], "has_more": False, "next_cursor": None}


def wrapped(wire: str, data: Any) -> Any:
    return success(data) if wire == "hosted" else data


@pytest.mark.parametrize(
    ("wire", "method", "path"),
    [
        ("direct", "GET", "/base/v1/admin/health"),
        ("hosted", "GET", "/base/memory/scopes?prefix=tmh%3Aprobe&limit=1"),
    ],
)
def test_health_is_one_request(wire: str, method: str, path: str) -> None:
    engine, script = scripted(wire, wrapped(wire, {"scopes": []}))
    assert engine.health().state == "ok"
    assert (script.requests[0].method, script.targets) == (method, [path])


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("status", "state"), [(401, "down"), (403, "down"), (404, "down"), (429, "degraded"),
                          (500, "down"), (302, "down")],
)  # fmt: skip
def test_health_says_nothing_of_the_service_s_own(wire: str, status: int, state: str) -> None:
    said = {"success": False, "error": f"stack trace {TOKEN}", "errorCode": "LEAKED"}
    engine, script = scripted(wire, httpx.Response(status, json=said))
    health = engine.health()
    assert health.state == state
    assert f"answered {status}" in str(health.reason)
    for leak in ("stack", "LEAKED", TOKEN, "[hidden]"):
        assert leak not in str(health.reason)
    assert len(script.requests) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("answer", [httpx.ReadTimeout("x"), httpx.Response(200, text="<html>")])
def test_health_never_raises(wire: str, answer: Any) -> None:
    engine, _ = scripted(wire, answer)
    assert engine.health().state == "down"
    with build(IDS[wire], {}, None, clock=FakeClock()) as keyless:
        health = keyless.health()
        assert health.state == "down"
        assert f"engines.{IDS[wire]}.key" in str(health.reason)


@pytest.mark.parametrize(
    ("wire", "path"),
    [("direct", "/base/v1/events"), ("hosted", "/base/memory/events")],
)
def test_a_listing(wire: str, path: str) -> None:
    engine, script = scripted(wire, wrapped(wire, EMPTY))
    engine.get(GetRequest(("abc",), reach=MetaFilter().reach))
    scope = "app%3Atinymemory%2Fapp%3Adocuments"
    assert script.targets[0] == f"{path}?scope={scope}&limit=200&labels=tm%3Ai%3Aba7816bf8f01cfea"


def appended(wire: str, item: Any) -> list[httpx.Request]:
    number = iter(range(1, 100))

    def answer(request: httpx.Request) -> Any:
        if request.method == "GET":
            events = [{"id": f"e{n}", "content": {"text": ""}} for n in range(1, 100)]
            first = not any(r.method == "POST" for r in script.requests)
            return httpx.Response(200, json=wrapped(wire, EMPTY if first else {"items": events}))
        if request.url.path.endswith("bulk"):
            count = len(json.loads(request.content)["items"])
            return httpx.Response(
                202, json={"results": [{"event_id": f"e{next(number)}"} for _ in range(count)]}
            )
        if request.url.path.endswith("experience"):
            return httpx.Response(202, json=wrapped(wire, {"event_id": f"e{next(number)}"}))
        return httpx.Response(500)

    engine, script = scripted(wire, answer)
    engine.store(item)
    return [r for r in script.requests if "experience" in r.url.path]


def test_a_direct_write_is_one_experience() -> None:
    (request,) = appended("direct", document("x"))
    assert request.url.raw_path == b"/base/v1/experience?wait=indexed"
    assert "idempotency-key" not in request.headers
    assert list(json.loads(request.content)) == [
        "scope", "modality", "idempotency_key", "content", "context",
    ]  # fmt: skip


def test_two_or_more_events_of_one_item_are_one_ordered_bulk() -> None:
    (request,) = appended("direct", conversation("a", "b"))
    assert request.url.raw_path == b"/base/v1/experience/bulk?wait=indexed"
    body = json.loads(request.content)
    assert list(body) == ["items", "ordering"]
    assert body["ordering"] == "strict_temporal"
    turns = [json.loads(item["content"]["text"])["turn"]["index"] for item in body["items"]]
    assert turns == [0, 1]
    assert len({item["idempotency_key"] for item in body["items"]}) == 2
    assert len(appended("direct", conversation("alone"))) == 1


def test_hosted_writes_are_one_event_each_under_a_claim_of_their_own() -> None:
    requests = appended("hosted", conversation("a", "b", "c"))
    assert [request.url.raw_path for request in requests] == [b"/base/memory/experience"] * 3
    claims = [request.headers["idempotency-key"] for request in requests]
    assert len(set(claims)) == 3
    assert all(len(claim) >= 32 for claim in claims)
    keys = [json.loads(request.content)["idempotency_key"] for request in requests]
    assert len(set(keys)) == 3
    assert not set(keys) & set(claims)


@pytest.mark.parametrize("told", [None, "be brief"])
def test_an_answer_is_told_nothing_in_each_wire_s_own_way(told: str | None) -> None:
    bodies = {}
    for wire in WIRES:
        engine, script = scripted(
            wire,
            wrapped(wire, {"pack_id": "p", "layers": {"events": []}}),
            wrapped(wire, {"answer": "a"}),
        )
        answer = engine.recall(RecallRequest("q", instructions=told))
        assert (answer.answer, answer.citations, answer.model) == ("a", (), None)
        assert script.targets[1].endswith("/answer")
        bodies[wire] = script.bodies[1]
    assert bodies["direct"]["answer_instructions"] == told
    if told is None:
        assert "answer_instructions" not in bodies["hosted"]
    else:
        assert bodies["hosted"]["answer_instructions"] == told


@pytest.mark.parametrize("wire", WIRES)
def test_a_404_of_the_scopes_route_means_no_further_scopes(wire: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if "scopes" in request.url.path:
            return httpx.Response(404)
        return httpx.Response(200, json=wrapped(wire, EMPTY))

    engine, script = scripted(wire, answer)
    assert engine.list(ListRequest()).items == ()
    route = "/base/v1/scopes/list" if wire == "direct" else "/base/memory/scopes"
    assert script.targets[0] == f"{route}?prefix=app%3Atinymemory&limit=1000"
    assert len(script.targets) == 4


def actors(double: Double) -> list[str | None]:
    return [request.headers.get("x-cortex-actor") for request in double.requests]


def test_the_caller_is_asked_for_once_and_named_on_every_request() -> None:
    with on_double("direct") as (engine, double):
        double.service.caller = "user:me"
        engine.store(document("a"))
        engine.list(ListRequest())
        engine.forget(ForgetTarget(ids=(document("a").fingerprint(),)))
        assert [request.route for request in double.requests].count("whoami") == 1
        assert double.requests[0].route == "whoami"
        assert set(actors(double)[1:]) == {"user:me"}


@pytest.mark.parametrize("status", [404, 405])
def test_where_no_one_tells_no_one_is_named(status: int) -> None:
    with on_double("direct") as (engine, double):
        double.service.whoami_status = status
        engine.store(document("a"))
        assert set(actors(double)) == {None}
        assert [request.route for request in double.requests].count("whoami") == 1


def test_a_service_that_knows_no_caller_is_told_none() -> None:
    with on_double("direct") as (engine, double):
        double.service.caller = None
        engine.store(document("a"))
        assert set(actors(double)) == {None}


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("route", ["list", "append", "health"])
def test_a_refusal_makes_the_caller_be_asked_for_again(status: int, route: str) -> None:
    with on_double("direct") as (engine, double):
        engine.list(ListRequest())
        double.fail(route, status=status)
        if route == "health":
            assert engine.health().state == "down"
        else:
            with pytest.raises(errors.Unauthorized):
                engine.store(document("a"))
        double.service.caller = "user:other"
        engine.store(document("b"))
        assert actors(double)[-1] == "user:other"
        assert [request.route for request in double.requests].count("whoami") == 2


def test_a_whoami_that_fails_stops_the_call() -> None:
    with on_double("direct") as (engine, double):
        double.fail("whoami", status=401)
        with pytest.raises(errors.Unauthorized):
            engine.list(ListRequest())
        double.fail("whoami", 3, status=503)
        with pytest.raises(errors.Unavailable):
            engine.list(ListRequest())
        assert routes(double) == []
        engine.list(ListRequest())


@pytest.mark.parametrize("caller", ["a\nb", 7, " ", "ü"])
def test_a_caller_that_no_header_can_carry(caller: Any) -> None:
    with on_double("direct") as (engine, double):
        double.service.caller = caller
        with pytest.raises(errors.Engine, match="names a caller"):
            engine.list(ListRequest())


def test_the_hosted_wire_never_names_a_caller() -> None:
    with on_double("hosted") as (engine, double):
        engine.store(document("a"))
        assert set(actors(double)) == {None}


@pytest.mark.parametrize("wire", WIRES)
def test_a_rotated_key_is_used_at_once(wire: str) -> None:
    with Double(wire) as double:
        keys = {"now": "old"}
        with build_engine(IDS[wire], {"endpoint": double.url}, lambda: keys["now"]) as engine:
            with pytest.raises(errors.Unauthorized) as error:
                engine.store(document("a"))
            assert f"the key of {IDS[wire]} is refused" in error.value.message
            assert "old" not in error.value.message.partition(" — ")[2]
            assert len(double.requests) == 1
            keys["now"] = double.token
            assert not engine.store(document("a")).replayed


@pytest.mark.parametrize("wire", WIRES)
def test_a_bad_cursor_or_request_sends_nothing(wire: str) -> None:
    engine, script = scripted(wire, {})
    for call in (
        lambda: engine.list(ListRequest(cursor="f7b7d")),
        lambda: engine.list(ListRequest(limit=0)),
        lambda: engine.recall(RecallRequest(" ")),
        lambda: engine.get(GetRequest(())),
        lambda: engine.forget(ForgetTarget(filter=MetaFilter())),
        lambda: engine.forget(ForgetTarget(ids=())),
        lambda: engine.store_many([]),
        lambda: engine.store_many([document("a")] * 101),
        lambda: engine.store(document(" ")),
    ):
        with pytest.raises(errors.InvalidRequest):
            call()
    assert script.requests == []
