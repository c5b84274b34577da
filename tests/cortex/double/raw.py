"""Requests as the documents spell them, sent raw: what the double's own tests speak with."""

from __future__ import annotations

import itertools
import json
import ssl
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from tests.cortex.double import Double
from tests.cortex.double.checks import KINDS, labels_of

DOCUMENTS = "app:tinymemory/app:documents"
CONVERSATIONS = "app:tinymemory/app:conversations"
LEARNINGS = "app:tinymemory/app:learnings"


class Raw:
    """One keep-alive connection to a double, and a fresh key for every event."""

    def __init__(self, double: Double, verify: ssl.SSLContext | bool = False) -> None:
        self.double = double
        self.direct = double.wire == "direct"
        self.prefix = "v1" if self.direct else "memory"
        self._numbers = itertools.count(1)
        self.client = httpx.Client(
            base_url=double.url, trust_env=False, timeout=10, verify=verify, headers=self.headers()
        )

    def __enter__(self) -> Raw:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.client.close()

    def headers(self) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {self.double.token}"}
        if self.direct and self.double.service.caller:
            headers["X-Cortex-Actor"] = self.double.service.caller
        return headers

    def event(self, name: str = "a", kind: str = "document", **meta: Any) -> dict[str, Any]:
        """A well-formed event; `name` is its text and decides its item's id."""
        meta.setdefault("source", {"kind": "agent"})
        envelope: dict[str, Any] = {
            "v": 2,
            "id": name.encode().hex().ljust(40, "0")[:40],
            "kind": kind,
            "text": name,
            "meta": meta,
        }
        if kind == "conversation":
            envelope["turn"] = {"index": 0, "count": 1, "role": "user"}
        modality, leaf = KINDS[kind]
        node = [meta["namespace"]] if "namespace" in meta else []
        context = {"labels": labels_of(envelope)}
        if "observed_at" in meta:
            context["observed_at"] = meta["observed_at"]
        return {
            "scope": "/".join(["app:tinymemory", *node, f"app:{leaf}"]),
            "modality": modality,
            "idempotency_key": f"tm-salt-1700000000000000000-{next(self._numbers)}",
            "content": {"kind": "message", "role": "user", "text": compact(envelope)},
            "context": context,
        }

    def append(
        self, event: Mapping[str, Any], claim: str | None = "own", **query: str
    ) -> httpx.Response:
        """`claim`: "own" is the event's key, None sends no header."""
        headers = {}
        if not self.direct and claim is not None:
            headers["Idempotency-Key"] = event["idempotency_key"] if claim == "own" else claim
        query = query or ({"wait": "indexed"} if self.direct else {})
        path = f"{self.prefix}/experience"
        return self.client.post(path, json=event, params=query, headers=headers)

    def stored(self, name: str = "a", kind: str = "document", **meta: Any) -> str:
        """The id of a new event."""
        event_id: str = data(self.append(self.event(name, kind, **meta)))["event_id"]
        return event_id

    def bulk(self, events: Sequence[Mapping[str, Any]], **extra: Any) -> httpx.Response:
        body = {"items": list(events), "ordering": "strict_temporal"} | extra
        path = f"{self.prefix}/experience/bulk"
        return self.client.post(path, json=body, params={"wait": "indexed"})

    def page(
        self, scope: str = DOCUMENTS, limit: int = 200, cursor: str | None = None, **more: str
    ) -> httpx.Response:
        query: dict[str, str | int] = {"scope": scope, "limit": limit, **more}
        query |= {} if cursor is None else {"cursor": cursor}
        return self.client.get(f"{self.prefix}/events", params=query)

    def listed(self, scope: str = DOCUMENTS, cursor: str | None = None, **more: Any) -> list[str]:
        """Event ids of one page, copies and all."""
        return [item["id"] for item in data(self.page(scope, cursor=cursor, **more))["items"]]

    def recall(
        self, query: str = "a", scope: str = DOCUMENTS, events: int = 10, **more: Any
    ) -> httpx.Response:
        budgets = {"per_layer_limits": {"events": events}}
        body = {"scope": scope, "query": query, "budgets": budgets} | more
        return self.client.post(f"{self.prefix}/recall", json=body)

    def recalled(self, query: str = "a", scope: str = DOCUMENTS, **more: Any) -> list[str]:
        layers = data(self.recall(query, scope, **more))["layers"]
        return [event["id"] for event in layers["events"]]

    def answer(self, pack: str, scope: str = DOCUMENTS, **more: Any) -> httpx.Response:
        body: dict[str, Any] = {"scope": scope, "question": "why?", "use_pack_id": pack}
        body |= {"cite_sources": True, "include_context": True}
        body |= {"answer_instructions": None} if self.direct else {}
        return self.client.post(f"{self.prefix}/answer", json=body | more)

    def forget(self, ids: Sequence[str], scope: str = DOCUMENTS, **more: Any) -> httpx.Response:
        body = {"scope": scope, "layers": ["events"], "selector": {"memory_ids": list(ids)}}
        body |= {"audit_note": "tinymemory: forget"}
        return self.client.post(f"{self.prefix}/forget", json=body | more)

    def scopes(self, prefix: str = "app:tinymemory", limit: int = 1000) -> httpx.Response:
        path = "v1/scopes/list" if self.direct else "memory/scopes"
        return self.client.get(path, params={"prefix": prefix, "limit": limit})

    def health(self) -> httpx.Response:
        return self.client.get("v1/admin/health") if self.direct else self.scopes("tmh:probe", 1)

    def whoami(self) -> httpx.Response:
        return self.client.get("v1/auth/whoami")


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def data(response: httpx.Response) -> Any:
    """The answer's data, out of the hosted wrapping where there is one."""
    response.raise_for_status()
    body = response.json()
    return body["data"] if isinstance(body, dict) and body.get("success") is True else body


def said(response: httpx.Response) -> tuple[int, str]:
    """Status and hosted code, or the direct wire's text, of a refusal."""
    hosted = response.text.startswith('{"success":false')
    return response.status_code, response.json()["errorCode"] if hosted else response.text
