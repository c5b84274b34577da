"""Opaque cursors: a one-letter tag and hex-encoded JSON (seed, "List").

A list cursor names its scope by path, not by position, so that a scope that appears between two
pages cannot shift the listing.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from syncd.engines.cortex.scopes import Scope, parse_scope
from syncd.memory.errors import InvalidRequest
from syncd.memory.wire import compact

_LIST = "l"
_FETCH = "f"


class Place(NamedTuple):
    """Where a listing goes on within a scope: the service's page, how many of its events are done,
    and the last event's id."""

    page: str | None = None
    offset: int = 0
    last: str | None = None


def write_list(scope: Scope, place: Place) -> str:
    """A cursor to `place` in `scope`."""
    fields = {"scope": scope.path, "page": place.page, "offset": place.offset, "last": place.last}
    return _write(_LIST, fields)


def read_list(cursor: str) -> tuple[Scope, Place]:
    """What `write_list` wrote; InvalidRequest for anything else."""
    data = _read(_LIST, cursor)
    path, page, last = (data.get(name) for name in ("scope", "page", "last"))
    scope = parse_scope(path) if isinstance(path, str) else None
    if scope is None or scope.path != path or not (_is_text(page) and _is_text(last)):
        raise _malformed()
    return scope, Place(page, _offset(data), last)


def write_fetch(offset: int) -> str:
    """A cursor to the place `offset` of a merged ranking."""
    return _write(_FETCH, {"offset": offset})


def read_fetch(cursor: str) -> int:
    """What `write_fetch` wrote; InvalidRequest for anything else."""
    return _offset(_read(_FETCH, cursor))


def _write(tag: str, fields: dict[str, Any]) -> str:
    return tag + compact(fields).encode().hex()


def _read(tag: str, cursor: str) -> dict[str, Any]:
    if not re.fullmatch(tag + r"(?:[0-9a-f]{2})+", cursor, re.ASCII):
        raise _malformed()
    try:
        data = json.loads(bytes.fromhex(cursor[1:]).decode())
    except (ValueError, RecursionError):
        raise _malformed() from None
    if not isinstance(data, dict):
        raise _malformed()
    return data


def _is_text(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.isprintable())


def _offset(data: dict[str, Any]) -> int:
    offset = data.get("offset")
    if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset < 2**53:
        raise _malformed()
    return offset


def _malformed() -> InvalidRequest:
    return InvalidRequest("the cursor does not belong to this operation")
