"""What becomes of a failure: its class, its message, and how long the server asked to wait."""

from __future__ import annotations

import ssl
from email.utils import formatdate

import httpx
import pytest

from syncd.engines.cortex import failures
from syncd.engines.cortex.failures import Garbled, Said, Transient
from syncd.memory import errors
from syncd.memory.errors import MemoryError

NOW = 1_800_000_000.0
CLASSES = {
    400: errors.InvalidRequest, 401: errors.Unauthorized, 402: errors.Engine,
    403: errors.Unauthorized, 404: errors.NotFound, 405: errors.Engine,
    408: errors.Unavailable, 409: errors.Conflict, 413: errors.InvalidRequest,
    418: errors.Engine, 422: errors.InvalidRequest, 425: errors.Engine,
    429: errors.Unavailable, 500: errors.Unavailable, 501: errors.Engine,
    502: errors.Unavailable, 503: errors.Unavailable, 504: errors.Unavailable,
    302: errors.Engine,
}  # fmt: skip


def answered(status: int, text: str = "", code: str | None = None) -> MemoryError:
    said = Said(code, text)
    return failures.answered("v1/x at h", status, said, "KEY", "the key of e is refused", None)


@pytest.mark.parametrize(("status", "kind"), CLASSES.items())
def test_the_class_of_a_status(status: int, kind: type[MemoryError]) -> None:
    error = answered(status)
    assert isinstance(error, kind)
    assert error.transient == (kind is errors.Unavailable)
    assert error.message.endswith(f"v1/x at h answered {status}")


def test_a_conflict_may_come_as_a_400_with_its_code() -> None:
    assert isinstance(answered(400, "taken", "CONFLICT"), errors.Conflict)
    assert isinstance(answered(400, "taken", "OTHER"), errors.InvalidRequest)


def test_a_message_begins_with_the_code_and_ends_with_what_was_said() -> None:
    error = answered(402, "no\n\tcredits \x1b[31mleft\u2028", "USER_INSUFFICIENT_CREDITS")
    assert error.message == (
        "[USER_INSUFFICIENT_CREDITS] v1/x at h answered 402 — no credits [31mleft"
    )


def test_a_code_that_is_none_is_left_out() -> None:
    assert answered(400, "x", "a b]").message == "v1/x at h answered 400 — x"
    assert "KEY" not in answered(400, "x", "KEY").message


def test_at_most_300_characters_of_what_was_said_and_never_the_key() -> None:
    message = answered(500, "x" * 299 + "KEY").message
    assert len(message.partition(" — ")[2]) == 300
    assert "K" not in message
    assert "KEY" not in answered(500, "Bearer KEY").message


def test_a_refused_key_is_named_by_its_setting() -> None:
    assert answered(401).message == "the key of e is refused: v1/x at h answered 401"


@pytest.mark.parametrize(
    ("status", "lasts"), [(429, 0), (500, 5), (503, 5), (502, 30), (504, 30), (408, 30)]
)
def test_how_long_a_write_may_still_appear(status: int, lasts: float) -> None:
    error = answered(status)
    assert isinstance(error, Transient)
    assert error.may_appear == lasts


def unsent(error: Exception, cause: Exception | None = None) -> MemoryError:
    error.__cause__ = cause
    return failures.unsent("v1/x at h", "h", error, 60)


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (httpx.ConnectError("x"), False), (httpx.ConnectTimeout("x"), False),
        (httpx.PoolTimeout("x"), False), (httpx.ProxyError("secret"), False),
        (httpx.UnsupportedProtocol("x"), False), (httpx.ReadTimeout("x"), True),
        (httpx.WriteTimeout("x"), True), (httpx.ReadError("x"), True),
        (httpx.WriteError("x"), True), (httpx.RemoteProtocolError("secret"), True),
        (httpx.CloseError("x"), True),
    ],
)  # fmt: skip
def test_whatever_breaks_the_line_is_unavailable(error: httpx.HTTPError, sent: bool) -> None:
    found = unsent(error)
    assert isinstance(found, Transient)
    assert found.message.startswith("v1/x at h ")
    assert (found.may_appear > 0) == sent
    assert "secret" not in found.message


def test_what_the_system_says_is_passed_on_in_lowercase() -> None:
    refused = unsent(httpx.ConnectError("x"), ConnectionRefusedError(111, "Connection refused"))
    assert refused.message == "v1/x at h was not reached: connection refused"


def test_a_certificate_that_is_not_trusted_is_explained() -> None:
    cause = ssl.SSLCertVerificationError(1, "x")
    cause.verify_message = "self-signed certificate"
    assert unsent(httpx.ConnectError("x"), cause).message == (
        "v1/x at h was not sent: the certificate of h is not trusted: self-signed certificate"
        " (ca_file names another authority)"
    )


def test_a_body_that_does_not_unpack_is_the_engine_s() -> None:
    assert isinstance(unsent(httpx.DecodingError("x")), Garbled)


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("3", 3.0), ("0", 0.0), (" 7 ", 7.0), ("99999999", 99999999.0), ("-5", None), ("1.5", None),
        ("soon", None), ("", None), ("٣", None), ("1" * 400, None), ("Mon, 99 Foo", None),
        (formatdate(NOW + 4, usegmt=True), 4.0), (formatdate(NOW - 60, usegmt=True), 0.0),
        ("Mon, 01 Jan 99999 00:00:00 GMT", None),
    ],
)  # fmt: skip
def test_retry_after(asked: str, seconds: float | None) -> None:
    headers = httpx.Headers([(b"Retry-After", asked.encode())])
    assert failures.retry_after(headers, NOW) == seconds


def test_a_date_is_measured_by_the_clock_of_the_server() -> None:
    headers = {"date": formatdate(NOW + 3600, usegmt=True)}
    headers["retry-after"] = formatdate(NOW + 3604, usegmt=True)
    assert failures.retry_after(httpx.Headers(headers), NOW) == 4.0


def test_ratelimit_reset_is_second_choice() -> None:
    for asked in ("", "soon", "1.5"):
        headers = httpx.Headers({"ratelimit-reset": "9", "retry-after": asked})
        assert failures.retry_after(headers, NOW) == 9.0
    both = httpx.Headers({"ratelimit-reset": "9", "retry-after": "2"})
    assert failures.retry_after(both, NOW) == 2.0
    assert failures.retry_after(httpx.Headers({"ratelimit-reset": "x"}), NOW) is None
    assert failures.retry_after(httpx.Headers(), NOW) is None
