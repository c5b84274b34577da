"""One pooled HTTP client: who may be asked, how often, how much is read, and what a failure means.

The key is read anew for every attempt and leaves this module only in the header of a request.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import httpx

from syncd import __version__
from syncd.engines.cortex import failures, tls
from syncd.engines.cortex.clock import Clock, closed
from syncd.engines.cortex.credentials import Key
from syncd.engines.cortex.endpoint import Endpoint
from syncd.engines.cortex.failures import Garbled, Said, Transient
from syncd.engines.cortex.pacing import Bucket
from syncd.engines.cortex.sockets import Sockets
from syncd.memory.errors import Config, InvalidRequest, MemoryError, Unavailable
from syncd.memory.wire import compact

SECONDS = 60.0
CONNECT_SECONDS = 10.0
MAX_BODY = 64 * 1024 * 1024
MAX_ERROR_BODY = 64 * 1024
ATTEMPTS = 3
GAPS = (0.25, 0.5)
_AT_ONCE = 8


class Call(NamedTuple):
    """One request: `route` is relative to the endpoint, `body` is sent as compact JSON.

    A status among `absent` is no failure; the answer then is None.
    """

    method: str
    route: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    absent: tuple[int, ...] = ()


class Dialect(NamedTuple):
    """How a wire wraps what it answers. `opened` raises ValueError for what is no answer."""

    opened: Callable[[Any], Any]
    explained: Callable[[str], Said]


class _Hushed(logging.Filter):
    """The client's own lines quote headers and reason phrases, which a server may fill with the
    key that it was sent."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING


_HUSHED = _Hushed()
_TALKATIVE = ("httpx", "httpcore", *(f"httpcore.{n}" for n in ("connection", "http11", "proxy")))


class Transport:
    """Requests to one endpoint under one key. Safe to use from several threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        key: Key,
        dialect: Dialect,
        clock: Clock,
        *,
        bucket: Bucket | None = None,
        ca_file: str | None = None,
        through: httpx.BaseTransport | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._key = key
        self._dialect = dialect
        self._clock = clock
        self._bucket = bucket
        self._lock = threading.Lock()
        self._held_until = 0.0
        self._sockets = Sockets()
        for name in _TALKATIVE:
            logging.getLogger(name).addFilter(_HUSHED)
        self._client = _client(endpoint, ca_file, through)

    def read(self, call: Call, *, attempts: int = ATTEMPTS, seconds: float = SECONDS) -> Any:
        """The answer to a call that may be repeated: again on Unavailable, and on nothing else."""
        for attempt in self.attempts(attempts):
            try:
                return self.once(call, seconds)
            except Unavailable:
                if attempt == attempts:
                    raise
        raise AssertionError("a call is attempted at least once")

    def attempts(self, count: int = ATTEMPTS) -> Iterator[int]:
        """Counts attempts from 1, with the pauses that lie between them."""
        for attempt in range(1, count + 1):
            if attempt > 1:
                self._clock.pause(GAPS[min(attempt, len(GAPS) + 1) - 2])
            yield attempt

    def once(self, call: Call, seconds: float = SECONDS) -> Any:
        """The answer to one request, unwrapped; raises what `failures` makes of anything else."""
        content = _content(call.body)
        self._wait()
        key = self._key.read()
        where = f"{call.route} at {self._endpoint.host}"
        request = self._request(call, content, key, seconds)
        failure: Exception
        try:
            return self._exchange(request, call.absent, where, key, seconds)
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as error:
            failure = failures.unsent(where, self._endpoint.host, error, seconds)
        except RuntimeError as error:
            # The client was closed between the check and the request.
            failure = closed() if self._clock.closed else error
        # Raised out here, so that no traceback leads to the request and its headers.
        raise failure

    def close(self) -> None:
        """End every connection; calls that wait for an answer end with Unavailable."""
        self._clock.close()
        self._sockets.shut()
        self._client.close()

    def _wait(self) -> None:
        if self._clock.closed:
            raise closed()
        while (left := self._held_until - self._clock.now()) > 0:
            self._clock.pause(left)
        if self._bucket is not None:
            self._bucket.take()

    def _request(
        self, call: Call, content: bytes | None, key: str, seconds: float
    ) -> httpx.Request:
        headers = dict(call.headers) | {"authorization": f"Bearer {key}"}
        if content is not None:
            headers["content-type"] = "application/json"
        connect = min(seconds, CONNECT_SECONDS)
        return self._client.build_request(
            call.method,
            self._endpoint.url(call.route, call.query),
            content=content,
            headers=headers,
            timeout=httpx.Timeout(seconds, connect=connect),
            extensions={"trace": self._sockets.traced},
        )

    def _exchange(
        self, request: httpx.Request, absent: tuple[int, ...], where: str, key: str, seconds: float
    ) -> Any:
        deadline = self._clock.now() + seconds
        response = self._client.send(request, stream=True)
        try:
            if response.is_success:
                body, whole = self._body(response, MAX_BODY, where, deadline)
                if not whole:
                    raise Garbled(f"{where} answered with more than {MAX_BODY >> 20} MiB")
                return self._opened(body, where)
            if response.status_code in absent:
                return None
            raise self._refusal(response, where, key, deadline)
        finally:
            response.close()

    def _body(
        self, response: httpx.Response, limit: int, where: str, deadline: float
    ) -> tuple[bytes, bool]:
        """At most `limit` bytes of the unpacked body, and whether they are all of it."""
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > limit:
                return bytes(body[:limit]), False
            if self._clock.now() > deadline:
                raise Transient(f"{where} answered too slowly", may_appear=failures.LOST)
        return bytes(body), True

    def _opened(self, body: bytes, where: str) -> Any:
        try:
            data = json.loads(body, parse_constant=_no_constant) if body else None
            return self._dialect.opened(data)
        except (ValueError, RecursionError):
            raise Garbled(f"{where} answered with something else than its json") from None

    def _refusal(
        self, response: httpx.Response, where: str, key: str, deadline: float
    ) -> MemoryError:
        status = response.status_code
        asked = failures.retry_after(response.headers, self._clock.wall())
        if asked and status in (429, 503):
            self._hold(asked)
        try:
            body, whole = self._body(response, MAX_ERROR_BODY, where, deadline)
        except (httpx.HTTPError, httpx.StreamError, Transient):
            body, whole = b"", True
        text = body.decode("utf-8", "replace")
        # A key that the cut went through would not be recognised any more.
        said = self._dialect.explained(text if whole else text[: -len(key)])
        return failures.answered(where, status, said, key, self._key.refused, asked)

    def _hold(self, seconds: float) -> None:
        until = self._clock.now() + min(seconds, failures.MAX_HOLD)
        with self._lock:
            self._held_until = max(self._held_until, until)


def _content(body: Mapping[str, Any] | None) -> bytes | None:
    if body is None:
        return None
    try:
        return compact(body).encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the request holds text that is not valid unicode") from None


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _client(
    endpoint: Endpoint, ca_file: str | None, through: httpx.BaseTransport | None
) -> httpx.Client:
    try:
        return httpx.Client(
            headers={"user-agent": f"syncd/{__version__}", "accept": "application/json"},
            limits=httpx.Limits(max_connections=_AT_ONCE, max_keepalive_connections=_AT_ONCE),
            verify=tls.context(ca_file) if endpoint.secure else tls.nobody(),
            follow_redirects=False,
            # Proxies come from the environment; what stays on this machine needs none.
            trust_env=not endpoint.loopback,
            transport=through,
        )
    except (ValueError, ImportError, httpx.InvalidURL):
        raise Config("a proxy that the environment names cannot be used") from None
