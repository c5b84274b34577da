"""Values with units as people write them. Every reader raises Wrong, which says what was read."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from urllib.parse import urlsplit

from syncd.config.problems import Wrong

_AMOUNT = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_SHORT_BYTES = {"": "B", "K": "KiB", "M": "MiB", "G": "GiB"}
SHORTEST, LONGEST = 0.1, 366 * 86400.0
LARGEST = 1 << 40
_SOURCE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_PASSWORD = re.compile(r"//[^/@\s]*@")


def describe(value: object, written: str | None = None) -> str:
    """What was read, in words: `the number 0755`, `the text 'md'`, `a list`."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return written or str(value).lower()
    if isinstance(value, int | float):
        return f"the number {written or value}"
    if isinstance(value, str):
        return f"the text {_short(value)!r}"
    return "a list" if isinstance(value, list | tuple) else "a mapping"


def _short(text: str) -> str:
    safe = _PASSWORD.sub("//…@", text)
    return safe if len(safe) <= 60 else safe[:59] + "…"


def duration(value: object) -> float:
    """Seconds, from `500ms`, `2s`, `15m`, `1h` or `1d`."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise Wrong(f"expected a duration with its unit, got {describe(value)}", _with_units(value))
    if not isinstance(value, str):
        raise Wrong(f"expected a duration such as 15m, got {describe(value)}")
    match = _AMOUNT.fullmatch(value.strip())
    unit = match and _SECONDS.get(match[2].lower())
    if match is None or unit is None:
        raise Wrong(f"expected a duration such as 500ms, 2s, 15m or 1h, got {describe(value)}")
    seconds = float(match[1]) * unit
    if not SHORTEST <= seconds <= LONGEST:
        raise Wrong(f"expected a duration from 100ms to 366d, got {value.strip()}")
    return seconds


def _with_units(value: float) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return f"{value}s or {value}m" if value > 0 else None


def size(value: object) -> int:
    """Bytes, from `512B`, `256KiB`, `10MiB` or `1GiB`."""
    if isinstance(value, int) and not isinstance(value, bool):
        meant = f"{value}B" if value > 0 else None
        raise Wrong(f"expected a size with its unit, got {describe(value)}", meant)
    match = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise Wrong(f"expected a size such as 256KiB or 10MiB, got {describe(value)}")
    unit = _BYTES.get(match[2])
    if unit is None:
        meant = _SHORT_BYTES.get(match[2][:1].upper())
        raise Wrong(
            f"the units of a size are B, KiB, MiB and GiB, got {describe(value)}",
            meant and f"{match[1]}{meant}",
        )
    count = int(float(match[1]) * unit)
    if not 1 <= count <= LARGEST:
        raise Wrong(f"expected a size from 1B to 1024GiB, got {describe(value)}")
    return count


def share(value: object) -> float:
    """A part of the whole as 0.0..=1.0, from `25%`."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)? ?%", value.strip()):
        part = float(value.strip().rstrip("% ")) / 100
        if part <= 1:
            return part
    raise Wrong(f"expected a share from 0% to 100%, got {describe(value)}", _as_percent(value))


def _as_percent(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        return None
    return f"{value * 100:g}%" if value <= 1 else f"{value:g}%"


def moment(value: object) -> datetime:
    """An instant in UTC, from a date (its midnight, UTC) or RFC 3339."""
    try:
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
            day = date.fromisoformat(value)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)
        if isinstance(value, str) and re.match(r"\d{4}-\d{2}-\d{2}[Tt ]", value):
            return _with_zone(datetime.fromisoformat(value.upper()), value)
    except (ValueError, OverflowError):
        pass
    raise Wrong(f"expected a date such as 2024-01-31, got {describe(value)}")


def _with_zone(when: datetime, value: str) -> datetime:
    if when.tzinfo is None:
        raise Wrong(f"expected a time with its zone, got {value!r}", f"{value}Z")
    return when.astimezone(UTC)


def source_id(value: str) -> str:
    """A source's id: letters, digits, `.`, `_` and `-`, not starting with `.` or `-`."""
    if _SOURCE_ID.fullmatch(value):
        return value
    meant = sanitised_id(value)
    rule = "expected 1 to 100 of letters, digits, . _ - that start with a letter, a digit or _"
    raise Wrong(f"{rule}, got {describe(value)}", meant if meant != "_" else None)


def sanitised_id(text: str) -> str:
    """A valid source id that resembles `text`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:100] or "_"


def endpoint(value: str) -> str:
    """An http or https address without a user name or password in it."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise Wrong(
            f"expected an address such as https://cortex.example.com, got {describe(value)}"
        )
    if parts.username is not None or parts.password is not None:
        raise Wrong("an address must not hold a user name or password: use `key`")
    return value


def text(value: str) -> str:
    """A text that is not blank and can be written as UTF-8."""
    if not value.strip():
        raise Wrong("expected a text, got a blank one")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise Wrong("this text holds half of a surrogate pair, which is no character")
    return value
