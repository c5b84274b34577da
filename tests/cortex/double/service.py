"""What the server does with a request: its gate, its routes, its claims and packs.

One lock around everything, so that the log, the claims and the recordings never disagree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from tests.cortex.double import checks
from tests.cortex.double.log import Log
from tests.cortex.double.schema import SHAPES, mismatches, unknown_keys
from tests.cortex.double.values import Recorded, Refused, StoredEvent

ROUTES = {
    "direct": {
        "v1/experience": ("POST", "append"),
        "v1/experience/bulk": ("POST", "append"),
        "v1/events": ("GET", "list"),
        "v1/recall": ("POST", "recall"),
        "v1/answer": ("POST", "answer"),
        "v1/forget": ("POST", "forget"),
        "v1/scopes/list": ("GET", "scopes"),
        "v1/admin/health": ("GET", "health"),
        "v1/auth/whoami": ("GET", "whoami"),
    },
    "hosted": {
        "memory/experience": ("POST", "append"),
        "memory/events": ("GET", "list"),
        "memory/recall": ("POST", "recall"),
        "memory/answer": ("POST", "answer"),
        "memory/forget": ("POST", "forget"),
        "memory/scopes": ("GET", "scopes"),
    },
}
PROBE = "tmh:probe"
WINDOW = 60.0
SCOPE_STYLES: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("items", lambda path: {"path": path}),
    ("scopes", lambda path: path),
    ("items", lambda path: path),
    ("scopes", lambda path: {"path": path, "events": 1}),
)


class NotForwarded(Exception):
    """The claim is taken, and the engine behind it fails before it applies anything."""


class Service:
    """The state of the server; `token` and the other public attributes may change at any time."""

    def __init__(self, wire: str, log: Log, tenant: str | None, clock: Callable[[], float]) -> None:
        self.wire = wire
        self.log = log
        self.tenant = tenant
        self.token = "token-of-the-double"
        self.caller: str | None = "user:double" if wire == "direct" else None
        self.whoami_status = 200 if wire == "direct" else 404
        self.conflict_status = 409
        self.page_cap = 1000
        self.rate_limit: int | None = 300 if wire == "hosted" else None
        self.partial_bulk: tuple[int, str] | None = None
        self.refusals: list[tuple[Callable[[Recorded], bool], int]] = []
        self.violations: list[str] = []
        self.claims: set[str] = set()
        self.packs: dict[str, str] = {}
        self._pack_numbers = itertools.count(1)
        self._scope_calls = itertools.count()
        self._clock = clock
        self._window = (-math.inf, 0)

    def route_of(self, method: str, path: str, query: dict[str, str]) -> str:
        """The route's name; "" for none."""
        known = ROUTES[self.wire].get(path)
        if known is None:
            return ""
        probing = self.wire == "hosted" and query.get("prefix") == PROBE
        return "health" if known[1] == "scopes" and probing else known[1]

    def serve(self, request: Recorded, path: str, forward: bool = True) -> tuple[int, object]:
        """Status and data of the answer; raises Refused, or NotForwarded unless `forward`."""
        self._violate(request, checks.of_request(request, self.wire))
        self._pace()
        self._authenticate(request)
        known = ROUTES[self.wire].get(path)
        if known is None:
            self._violate(request, [f"unknown path {request.path}"])
            raise Refused(404, f"no route {request.path}")
        if known[0] != request.method:
            raise Refused(405, f"{request.method} is not for {request.path}", {"Allow": known[0]})
        self._know_actor(request)
        if request.route == "append":
            bulk = path.endswith("/bulk")
            self._check_body(request, "bulk" if bulk else "append")
            return self._append(request, bulk, forward)
        if request.method == "POST":
            self._check_body(request, request.route)
        answer: tuple[int, object] = getattr(self, f"_{request.route}")(request)
        return answer

    def _violate(self, request: Recorded, breaches: Iterable[str]) -> None:
        self.violations += [f"{request.route or request.path}: {text}" for text in breaches]

    def _pace(self) -> None:
        if self.rate_limit is None:
            return
        now = self._clock()
        start, count = self._window
        if now - start >= WINDOW:
            start, count = now, 0
        left = math.ceil(start + WINDOW - now)
        if count >= self.rate_limit:
            seconds = {"Retry-After": str(left), "RateLimit-Reset": str(left)}
            raise Refused(429, f"more than {self.rate_limit} requests a minute", seconds)
        self._window = (start, count + 1)

    def _authenticate(self, request: Recorded) -> None:
        given = request.headers.get("authorization", "")
        if given != f"Bearer {self.token}":
            # servers do echo what they were given; a client must not pass it on
            raise Refused(401, f"credential {given!r} refused", {"WWW-Authenticate": "Bearer"})

    def _know_actor(self, request: Recorded) -> None:
        if self.wire != "direct" or request.route in ("health", "whoami"):
            return
        caller = self.caller if self.whoami_status == 200 else None
        given = request.headers.get("x-cortex-actor")
        if caller is None and given is not None:
            self._violate(request, [f"actor {given!r} where there is none"])
        if caller is not None and given != caller:
            self._violate(request, ["no X-Cortex-Actor header"] if given is None else [])
            raise Refused(403, f"actor {given!r} is not the caller")

    def _check_body(self, request: Recorded, name: str) -> None:
        strict = self.wire == "hosted"
        unknown = unknown_keys(SHAPES[name], request.body)
        self._violate(request, [f"unknown key {key}" for key in unknown])
        body = request.body
        if not strict and name == "answer" and isinstance(body, dict):
            body = {k: v for k, v in body.items() if (k, v) != ("answer_instructions", None)}
        wrong = mismatches(SHAPES[name], body)
        self._violate(request, wrong)
        if strict and unknown:
            raise Refused(400, f"unrecognized keys: {', '.join(unknown)}")
        if wrong:
            raise Refused(400 if strict else 422, "; ".join(wrong))
        for refuses, status in self.refusals:
            if refuses(request):
                raise Refused(status, "this request was refused")

    def _append(self, request: Recorded, bulk: bool, forward: bool) -> tuple[int, object]:
        bodies: list[dict[str, Any]] = request.body["items"] if bulk else [request.body]
        self._violate(request, checks.of_bulk(request.body) if bulk else ())
        for body in bodies:
            self._violate(request, checks.of_event(body))
        if self.wire == "hosted":
            self._claim(request)
        if not forward:
            raise NotForwarded
        if not bulk:
            return (202 if self.wire == "direct" else 200), {"event_id": self._store(bodies[0])}
        return 202, {"results": self._store_bulk(bodies)}

    def _claim(self, request: Recorded) -> None:
        claim = request.headers.get("idempotency-key", "")
        if not claim:
            self._violate(request, ["no Idempotency-Key header"])
            raise Refused(400, "the header Idempotency-Key is required")
        if claim in self.claims:
            raise Refused(self.conflict_status, "this claim was taken before")
        self.claims.add(claim)

    def _store(self, body: dict[str, Any]) -> str:
        event = StoredEvent(
            self.log.next_id(),
            body["scope"],
            body["content"]["text"],
            body["content"]["role"],
            body["modality"],
            tuple(body["context"]["labels"]),
            body["context"].get("observed_at"),
            body["idempotency_key"],
        )
        return self.log.append(event)

    def _store_bulk(self, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        count, style = self.partial_bulk or (len(bodies), "short")
        self.partial_bulk = None
        results: list[dict[str, Any]] = [{"event_id": self._store(b)} for b in bodies[:count]]
        if style == "errors":
            results += [{"error": "this one was not taken"} for _ in bodies[count:]]
        return results

    def _list(self, request: Recorded) -> tuple[int, object]:
        scope = self._needed(request, "scope")
        labels = [text for text in request.query.get("labels", "").split(",") if text]
        self._violate(request, checks.of_labels(labels))
        if len(labels) > checks.MAX_LABELS:
            raise Refused(400, f"at most {checks.MAX_LABELS} labels")
        limit = min(self._count(request, 50), self.page_cap)
        page = self.log.listing(scope, labels, limit, request.query.get("cursor"))
        items = [self._shown(event, event.text) for event in page.events]
        return 200, {"items": items, "has_more": page.has_more, "next_cursor": page.next_cursor}

    def _needed(self, request: Recorded, name: str) -> str:
        if not request.query.get(name):
            self._violate(request, [f"no {name}"])
            raise Refused(400, f"the parameter {name} is required")
        return request.query[name]

    def _count(self, request: Recorded, default: int) -> int:
        given = request.query.get("limit", str(default))
        if not given.isdecimal() or int(given) < 1:
            raise Refused(400, "limit must be a positive number")
        return int(given)

    def _shown(self, event: StoredEvent, text: str) -> dict[str, Any]:
        context: dict[str, Any] = {"labels": list(event.labels)}
        if event.observed_at is not None:
            context["observed_at"] = event.observed_at
        content = {"kind": "message", "role": event.role, "text": text}
        path = self._listed_path(event.scope)
        return {"id": event.id, "scope": path, "content": content, "context": context}

    def _listed_path(self, scope: str) -> str:
        return f"{self.tenant}/{scope}" if self.tenant else scope

    def _recall(self, request: Recorded) -> tuple[int, object]:
        body = request.body
        self._violate(request, checks.of_recall(body))
        limits = body["budgets"]["per_layer_limits"]
        labels = body.get("filters", {}).get("metadata", {}).get("labels", [])
        if len(labels) > checks.MAX_LABELS:
            raise Refused(400, f"at most {checks.MAX_LABELS} labels")
        descend = body.get("view") == "descend"
        events = min(limits.get("events", 0), checks.MAX_PACK_EVENTS)
        found = self.log.ranked(body["scope"], body["query"], labels, events, descend)
        pack = f"pack_{next(self._pack_numbers):06x}"
        self.packs[pack] = body["scope"]
        layers: dict[str, list[Any]] = {
            name: [{"id": f"{name}_{n}", "text": "derived"} for n in range(min(limit, 2))]
            for name, limit in limits.items()
        }
        layers["events"] = [self._shown(e, f"[{e.role}] {e.text}") for e in found]
        return 200, {"pack_id": pack, "layers": layers}

    def _answer(self, request: Recorded) -> tuple[int, object]:
        body = request.body
        self._violate(request, checks.of_answer(body, self.wire))
        if self.packs.get(body["use_pack_id"]) != body["scope"]:
            self._violate(request, ["a pack that this scope does not have"])
            raise Refused(404, "no such pack")
        text = f"answer from {body['use_pack_id']}: {body['question']}"
        return 200, {"answer": text, "diagnostics": {"answer_model": "double-1"}}

    def _forget(self, request: Recorded) -> tuple[int, object]:
        body = request.body
        self._violate(request, checks.of_forget(body))
        ids = body.get("selector", {}).get("memory_ids", [])
        if not ids or body.get("confirm_all"):
            return 200, {"removed": self.log.forget_scope(body["scope"])}
        if len(ids) > checks.MAX_FORGET_IDS:
            raise Refused(400, f"at most {checks.MAX_FORGET_IDS} ids")
        removed = self.log.forget(body["scope"], ids)
        if not removed:
            raise Refused(404, "none of these events is here")
        return 200, {"removed": removed}

    def _scopes(self, request: Recorded) -> tuple[int, object]:
        limit = min(self._count(request, 50), 1000)
        paths = self.log.scopes(request.query.get("prefix", ""))[:limit]
        name, shown = SCOPE_STYLES[next(self._scope_calls) % len(SCOPE_STYLES)]
        return 200, {name: [shown(self._listed_path(path)) for path in paths]}

    def _health(self, request: Recorded) -> tuple[int, object]:
        return self._scopes(request) if self.wire == "hosted" else (200, {"status": "ok"})

    def _whoami(self, request: Recorded) -> tuple[int, object]:
        if self.whoami_status != 200:
            raise Refused(self.whoami_status, "nobody is told who they are")
        return 200, {} if self.caller is None else {"caller": self.caller}
