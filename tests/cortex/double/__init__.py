"""A double of CortexDB for tests: both wires over one log, and deliberately unaccommodating.

Written from the documents of the wire alone. `violations` lists what a client must never do.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.cortex.double.checks import label, labels_of
from tests.cortex.double.faults import Faults, bent, stand_in
from tests.cortex.double.log import Log
from tests.cortex.double.server import Server
from tests.cortex.double.service import NotForwarded, Service
from tests.cortex.double.values import (
    Fault,
    Recorded,
    Refused,
    Reply,
    StoredEvent,
    encoded,
    failure,
    success,
)

__all__ = ["Double", "Fault", "Recorded", "StoredEvent", "label", "labels_of"]


class Double:
    """A server on loopback while the `with` block lasts.

    `lag`, `recall_lag`: an int counts requests, a float seconds of `clock` (see `log`).
    `tenant`: a scope path put in front of every scope that is listed back, e.g. "tenant:acme".
    `base`: a path that every request must begin with, e.g. "/cortex".
    `certificate`: (certificate, key) files; the server then speaks TLS.
    `service` holds what may be turned at any time: caller, whoami_status, conflict_status (409,
    or 400 with the code CONFLICT), page_cap (copies a page), rate_limit (None: none), claims.
    """

    def __init__(
        self,
        wire: str = "direct",
        lag: float = 0,
        tenant: str | None = None,
        script: Iterable[Fault] = (),
        *,
        recall_lag: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        base: str = "",
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        assert wire in ("direct", "hosted"), wire
        self.wire = wire
        self._lock = threading.RLock()
        self._clock = clock
        self._base = base.strip("/")
        self._log = Log(lag, recall_lag, clock)
        self.service = Service(wire, self._log, tenant, clock)
        self.faults = Faults(script)
        self.requests: list[Recorded] = []
        self._server = Server(self._exchange, certificate)
        scheme = "https" if certificate else "http"
        host = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self.url = f"{host}/{self._base}" if self._base else host

    def __enter__(self) -> Double:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()
        if self._server.crashes and error is None:
            raise self._server.crashes[0]

    @property
    def token(self) -> str:
        return self.service.token

    @token.setter
    def token(self, token: str) -> None:
        with self._lock:
            self.service.token = token

    @property
    def log(self) -> list[StoredEvent]:
        """Every event held, oldest first, indexed or not, foreign ones included."""
        with self._lock:
            return self._log.events()

    @property
    def violations(self) -> list[str]:
        with self._lock:
            return list(self.service.violations)

    @property
    def repeated_keys(self) -> list[str]:
        """Idempotency keys that were sent again: each such write stored nothing."""
        with self._lock:
            return list(self._log.repeated_keys)

    @property
    def claims(self) -> set[str]:
        """Idempotency-Key headers that the hosted API has taken."""
        with self._lock:
            return set(self.service.claims)

    @property
    def crashes(self) -> list[BaseException]:
        """Its own faults, or those of functions given to it; the first is raised at exit."""
        return list(self._server.crashes)

    def asked(self, route: str) -> list[Recorded]:
        """The requests of one route, in the order in which they came."""
        return [request for request in list(self.requests) if request.route == route]

    def forget_everything(self) -> None:
        """The server loses all its events; keys and claims stay taken."""
        with self._lock:
            self._log.forget_scope("")

    def fail(self, route: str, times: int | None = 1, **what: Any) -> None:
        """Scripts a fault for a route, or "*"; see `Fault` for what there is to go wrong."""
        self.faults.add(Fault(route, times, **what))

    def heal(self) -> None:
        """No fault any more, and no refusals."""
        self.faults.clear()
        with self._lock:
            self.service.refusals.clear()

    def refuse(self, what: str | Callable[[Recorded], bool], status: int = 422) -> None:
        """From now on a body that holds the text (or pleases the function) is refused."""
        wanted = (lambda request: what in request.raw.decode()) if isinstance(what, str) else what
        with self._lock:
            self.service.refusals.append((wanted, status))

    def stop_bulk_after(self, count: int, style: str = "short") -> None:
        """The next bulk stores only so many: the results are "short", or end in "errors"."""
        with self._lock:
            self.service.partial_bulk = (count, style)

    def add_foreign(
        self,
        scope: str,
        text: str,
        labels: Sequence[str] = (),
        role: str = "user",
        observed_at: str | None = None,
    ) -> str:
        """The id of an event that someone else stored long ago: listed and recalled at once."""
        with self._lock:
            event = StoredEvent(
                self._log.next_id(),
                scope,
                text,
                role,
                labels=tuple(labels),
                observed_at=observed_at,
                foreign=True,
            )
            return self._log.add_indexed(event)

    def success(self, data: object) -> object:
        """A body for `fail` that this wire takes as a success."""
        return success(self.wire, data)

    def failure(self, status: int, message: str) -> object:
        return failure(self.wire, status, message)

    def _exchange(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        parts = urlsplit(target)
        path = self._below_base(parts.path)
        request = self._recorded(method, parts.path, parts.query, dict(headers), raw)
        with self._lock:
            request.route = self.service.route_of(method, path, request.query)
            self.requests.append(request)
            fault = self.faults.take(request)
            reply = self._reply(request, path, fault)
            request.status = 0 if reply.drop or reply.reset else reply.status
        return reply

    def _below_base(self, path: str) -> str:
        path = path.removeprefix("/")
        if not self._base:
            return path
        inside = path.startswith(self._base + "/")
        return path[len(self._base) + 1 :] if inside else "outside the base"

    def _recorded(
        self, method: str, path: str, query: str, headers: dict[str, str], raw: bytes
    ) -> Recorded:
        first: dict[str, str] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            first.setdefault(name, value)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        return Recorded(method, path, first, headers, body, self._clock(), "", raw, query)

    def _reply(self, request: Recorded, path: str, fault: Fault | None) -> Reply:
        stands_in = fault is not None and fault.stands_in
        if fault and stands_in and not (fault.after_applying or fault.claimed):
            return stand_in(fault, self.wire)
        try:
            forward = fault is None or fault.after_applying or not fault.claimed
            status, data = self.service.serve(request, path, forward)
        except NotForwarded:
            assert fault is not None
            return stand_in(fault, self.wire)
        except Refused as no:
            body = encoded(failure(self.wire, no.status, no.message))
            refused = Reply(no.status, body, tuple(no.headers.items()))
            return bent(refused, fault) if fault and not stands_in else refused
        if fault and (fault.status is not None or fault.body is not None):
            return stand_in(fault, self.wire)
        reply = Reply(status, encoded(success(self.wire, data)))
        return bent(reply, fault) if fault else reply
