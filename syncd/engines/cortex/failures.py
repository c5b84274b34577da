"""What went wrong, as the contract's errors (contract 3, "Failures").

A message names the route and the host. What the server said comes after ` — `, without the key
and cut to 300 characters.
"""

from __future__ import annotations

import re
import socket
import ssl
from email.utils import parsedate_to_datetime
from typing import NamedTuple, TypeVar

import httpx

from syncd.engines.cortex.credentials import redact
from syncd.memory.errors import (
    Conflict,
    Engine,
    InvalidRequest,
    MemoryError,
    NotFound,
    Unauthorized,
    Unavailable,
)

E = TypeVar("E", bound=BaseException)

MAX_SAID = 300
MAX_HOLD = 10.0
LOST = 30.0
"""Seconds within which a write without an answer may still appear in a listing."""
REFUSED_FOR_NOW = 5.0
"""The same for a write that was answered with a failure of the server's own."""

_STATUS: dict[int, type[MemoryError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    409: Conflict,
    413: InvalidRequest,
    422: InvalidRequest,
}
_MAY_APPEAR = {
    408: LOST, 429: 0.0, 500: REFUSED_FOR_NOW, 502: LOST, 503: REFUSED_FOR_NOW, 504: LOST,
}  # fmt: skip


class Transient(Unavailable):
    """Unavailable, with what the caller should know of it.

    `retry_after`: seconds that the server asked to wait, not capped. `may_appear`: if this was a
    write, the seconds within which it may turn out to have been applied; 0 when it was not.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, may_appear: float = 0.0
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.may_appear = may_appear


class OutcomeUnknown(Transient):
    """The claim of a write is taken: an earlier attempt reached the engine."""


class Garbled(Engine):
    """The server said yes in a way that cannot be read: a write may have been applied."""

    may_appear = LOST


class Said(NamedTuple):
    """What a server said of a failure: its code, where it has one, and its words."""

    code: str | None
    text: str


def answered(
    where: str, status: int, said: Said, key: str, refused: str, wait: float | None
) -> MemoryError:
    """The error for an answer with `status`.

    `where` names route and host, `refused` is what to say of a key that is not taken, `wait` the
    seconds that the server asked for.
    """
    code = redact(said.code, key) if said.code else None
    words = _cleaned(redact(said.text, key))[:MAX_SAID].rstrip()
    message = f"{where} answered {status}" + (f" — {words}" if words else "")
    if status in (401, 403):
        message = f"{refused}: {message}"
    if code and re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", code):
        message = f"[{code}] {message}"
    if status in _MAY_APPEAR:
        return Transient(message, retry_after=wait, may_appear=_MAY_APPEAR[status])
    if status == 400 and said.code == "CONFLICT":
        return Conflict(message)
    return _STATUS.get(status, Engine)(message)


def _cleaned(text: str) -> str:
    visible = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(visible.split())


def unsent(where: str, host: str, error: Exception, seconds: float) -> MemoryError:
    """The error for a request that got no whole answer. It quotes nothing but the system."""
    refused = _cause(error, ssl.SSLCertVerificationError)
    if refused is not None:
        why = f"the certificate of {host} is not trusted: {refused.verify_message.lower()}"
        return Transient(f"{where} was not sent: {why} (ca_file names another authority)")
    if isinstance(error, httpx.DecodingError):
        return Garbled(f"{where} answered with a body that does not unpack")
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        return Transient(f"{where} was not reached in time")
    if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
        return Transient(f"{where} did not answer within {seconds:.0f} s", may_appear=LOST)
    if isinstance(error, httpx.ProxyError):
        return Transient(f"{where} was not reached: the proxy refused")
    if isinstance(error, httpx.ConnectError | httpx.UnsupportedProtocol):
        return Transient(f"{where} was not reached: {_reason(error)}")
    return Transient(f"{where} broke off: {_reason(error)}", may_appear=LOST)


def _reason(error: Exception) -> str:
    if _cause(error, socket.gaierror) is not None:
        return "its name is not known"
    if _cause(error, ssl.SSLError) is not None:
        return "no secure connection could be made"
    system = _cause(error, OSError)
    return (system.strerror or "").lower() if system and system.strerror else "no whole answer"


def _cause(error: BaseException, kind: type[E]) -> E | None:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, kind):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def retry_after(headers: httpx.Headers, wall: float) -> float | None:
    """The seconds that a server asks to wait: whole seconds or a date, else RateLimit-Reset."""
    asked = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,12}", asked, re.ASCII):
        return float(asked)
    until = _date(asked)
    if until is not None:
        # The server's own clock is asked where it tells the time: ours may be wrong.
        now = _date(headers.get("date", ""))
        return max(0.0, until - (wall if now is None else now))
    reset = headers.get("ratelimit-reset", "").strip()
    return float(reset) if re.fullmatch(r"[0-9]{1,12}", reset, re.ASCII) else None


def _date(text: str) -> float | None:
    if not re.match(r"[A-Z][a-z]{2}", text):
        return None
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
