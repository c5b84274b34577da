"""Opaque cursors: a sealed note of where a page ended, good for one question on one memory.

The seal covers operation, question and memory, so that a cursor used elsewhere is refused
rather than misread.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from syncd.memory.errors import InvalidRequest

_VERSION = 1
_SEAL_BYTES = 8


def question(memory_id: bytes, operation: str, *parts: Any) -> bytes:
    """What a cursor is bound to: `operation` and the JSON-able `parts` of its request."""
    told = json.dumps([operation, *parts], sort_keys=True).encode()
    return hashlib.sha256(memory_id + told).digest()


def write(numbers: Iterable[int], bound: bytes) -> str:
    """`numbers` (each 0 or more) as a cursor that only the same `bound` question can read."""
    body = bytes([_VERSION]) + b"".join(map(_varint, numbers))
    return _spelt(_seal(body, bound) + body)


def read(cursor: str, bound: bytes) -> list[int]:
    """The numbers of a cursor; InvalidRequest when it is foreign, altered or for another call."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise InvalidRequest("the cursor is malformed") from None
    # Bits beyond the last byte could differ unseen: a cursor has one spelling.
    if _spelt(raw) != cursor:
        raise InvalidRequest("the cursor is malformed")
    seal, body = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
    if body[:1] != bytes([_VERSION]) or seal != _seal(body, bound):
        raise InvalidRequest("the cursor belongs to another request")
    return list(_numbers(body[1:]))


def ascending(numbers: Iterable[int]) -> Iterator[int]:
    """Sorted `numbers` as differences, which are short."""
    last = 0
    for number in sorted(numbers):
        yield number - last
        last = number


def from_ascending(steps: Iterable[int]) -> Iterator[int]:
    """The inverse of `ascending`."""
    total = 0
    for step in steps:
        total += step
        yield total


def _spelt(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _seal(body: bytes, bound: bytes) -> bytes:
    return hashlib.sha256(bound + body).digest()[:_SEAL_BYTES]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _numbers(body: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in body:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
