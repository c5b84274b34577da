"""A moment in UTC with nanoseconds, which `datetime` cannot hold and RFC 3339 text can."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from syncd.memory.errors import InvalidRequest

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000_000
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?"
    r"(?:([Zz])|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """Nanoseconds since 1970-01-01T00:00:00Z, within the years 1 to 9999.

    Raises InvalidRequest outside that range: RFC 3339 has no notation for other years.
    """

    ns: int

    MIN: ClassVar[Instant]
    MAX: ClassVar[Instant]

    def __post_init__(self) -> None:
        if not _MIN_NS <= self.ns <= _MAX_NS:
            raise InvalidRequest(f"a time of {self.ns} ns lies outside the years 1 to 9999")

    def __str__(self) -> str:
        """RFC 3339 with 0, 3, 6 or 9 digits of fraction, the fewest that are exact."""
        seconds, ns = divmod(self.ns, _SECOND)
        base = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
        return base + _fraction(ns) + "Z"

    @classmethod
    def parse(cls, text: str) -> Instant:
        """The moment that an RFC 3339 text names; InvalidRequest when it names none."""
        match = _RFC3339.fullmatch(text)
        if match is None:
            raise InvalidRequest(f"{text[:64]!r} is not an rfc 3339 time")
        year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
        fraction, _, sign, off_hour, off_minute = match.groups()[6:]
        leap = second == 60
        try:
            moment = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=UTC)
        except ValueError as error:
            raise InvalidRequest(f"{text[:64]!r} is not a time: {error}") from None
        seconds = (moment - _EPOCH) // timedelta(seconds=1) + leap
        if sign:
            offset = int(off_hour) * 3600 + int(off_minute) * 60
            seconds -= offset if sign == "+" else -offset
        return cls(seconds * _SECOND + int((fraction or "")[:9].ljust(9, "0")))

    @classmethod
    def of(cls, value: Instant | datetime | str) -> Instant:
        """An Instant from what a caller has at hand; a naive datetime is read as UTC."""
        if isinstance(value, Instant):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return cls((aware - _EPOCH) // timedelta(microseconds=1) * 1000)


def _fraction(ns: int) -> str:
    if ns == 0:
        return ""
    if ns % 1_000_000 == 0:
        return f".{ns // 1_000_000:03d}"
    if ns % 1_000 == 0:
        return f".{ns // 1_000:06d}"
    return f".{ns:09d}"


_MIN_NS = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1) * _SECOND
_MAX_NS = ((datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(seconds=1) + 1) * _SECOND - 1
Instant.MIN = Instant(_MIN_NS)
Instant.MAX = Instant(_MAX_NS)
