"""What passes through the double: requests as recorded, events as stored, answers and faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

CODES = {
    400: "VALIDATION_FAILED",
    401: "UNAUTHORIZED",
    402: "USER_INSUFFICIENT_CREDITS",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    409: "CONFLICT",
    413: "PAYLOAD_TOO_LARGE",
    429: "RATE_LIMITED",
}


@dataclass(slots=True)
class Recorded:
    """One request as it came in; `status` is filled in once it is answered (0: no answer sent)."""

    method: str
    path: str
    query: dict[str, str]  # the first value of each parameter, as the server reads it
    headers: dict[str, str]  # names in lowercase
    body: Any  # parsed JSON, None when there was none or it was not JSON
    when: float
    route: str
    raw: bytes = b""
    raw_query: str = ""
    status: int = 0


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event of the log; `foreign` ones were put there by someone else."""

    id: str
    scope: str
    text: str
    role: str = "user"
    modality: str = "document"
    labels: tuple[str, ...] = ()
    observed_at: str | None = None
    key: str | None = None
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer and how it is bent on its way: see `Fault` for the bends."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    drop: bool = False
    reset: bool = False
    cut: bool = False
    length: int | None = None
    size: int = 0
    chunked: bool = False
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, for the next `times` requests of `route` (None: for ever; "*": any route).

    With `status`, `body`, `drop`, `reset` or `cut` it stands in for the answer, and nothing is
    applied unless `after_applying`; otherwise the request is served and only its answer is bent.
    `claimed`: the hosted API took the claim and forwarded, and the engine applied nothing.
    `length` is what Content-Length says; `size` pads the body with leading blanks to so many
    bytes; `chunked` sends no Content-Length; `skip` lets so many requests pass first.
    """

    route: str = "*"
    times: int | None = 1
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    after_applying: bool = False
    drop: bool = False
    cut: bool = False
    delay: float = 0.0
    reset: bool = False
    claimed: bool = False
    length: int | None = None
    size: int = 0
    chunked: bool = False
    skip: int = 0
    when: Callable[[Recorded], bool] | None = None

    @property
    def stands_in(self) -> bool:
        replaced = self.status is not None or self.body is not None
        return replaced or self.drop or self.reset or self.cut

    def matches(self, request: Recorded) -> bool:
        routed = self.route in ("*", request.route)
        return routed and (self.when is None or self.when(request))


class Refused(Exception):
    """The server says no: a status and what it says about it."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


def encoded(body: object) -> bytes:
    """`body` as it goes over the wire: bytes and text as they are, anything else as JSON."""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def success(wire: str, data: object) -> object:
    """The success body of a wire: bare, or wrapped."""
    return data if wire == "direct" else {"success": True, "data": data}


def failure(wire: str, status: int, message: str) -> object:
    """The failure body of a wire: any text, or the hosted object with its code."""
    if wire == "direct":
        return message
    code = CODES.get(status, "UPSTREAM_ERROR" if status >= 500 else "REQUEST_REFUSED")
    return {"success": False, "error": message, "errorCode": code}
