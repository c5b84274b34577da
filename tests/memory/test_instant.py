"""Moments with nanoseconds, printed with the fewest digits that are exact."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.memory import Instant, errors
from tests.memory import strategies

DAY = 86_400_000_000_000


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (1_000, "1970-01-01T00:00:00.000001Z"),
        (1_000_000, "1970-01-01T00:00:00.001Z"),
        (500_000_000, "1970-01-01T00:00:00.500Z"),
        (120_000, "1970-01-01T00:00:00.000120Z"),
        (123_456_780, "1970-01-01T00:00:00.123456780Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (-1_000_000_000, "1969-12-31T23:59:59Z"),
        (951_782_400 * 10**9, "2000-02-29T00:00:00Z"),
    ],
)
def test_a_fraction_has_0_3_6_or_9_digits(ns: int, text: str) -> None:
    assert str(Instant(ns)) == text
    assert Instant.parse(text) == Instant(ns)


@given(strategies.instants)
def test_every_moment_survives_its_text(at: Instant) -> None:
    text = str(at)
    assert Instant.parse(text) == at
    fraction = text[19:-1]
    assert len(fraction) in (0, 4, 7, 10)
    assert fraction == "" or not fraction.endswith("000")


@given(strategies.instants, strategies.instants)
def test_moments_are_ordered_as_they_follow_each_other(left: Instant, right: Instant) -> None:
    assert (left < right) == (left.ns < right.ns)
    assert (left == right) == (str(left) == str(right))


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
)
def test_an_offset_is_taken_off(moment: datetime, minutes: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert (
        Instant.parse(aware.isoformat()) == Instant.of(aware) == Instant.of(aware.astimezone(UTC))
    )


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2026-10-04t09:30:00z", "2026-10-04T09:30:00Z"),
        ("2026-10-04 09:30:00Z", "2026-10-04T09:30:00Z"),
        ("2026-10-04T09:30:00+02:30", "2026-10-04T07:00:00Z"),
        ("2026-10-04T09:30:00-00:00", "2026-10-04T09:30:00Z"),
        ("2026-10-04T23:30:00-01:00", "2026-10-05T00:30:00Z"),
        ("2026-10-04T09:30:00.1234567899Z", "2026-10-04T09:30:00.123456789Z"),
        ("2026-10-04T09:30:00.10Z", "2026-10-04T09:30:00.100Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
    ],
)
def test_one_moment_has_many_texts_and_one_of_ours(text: str, same: str) -> None:
    assert str(Instant.parse(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-10-04",
        "2026-10-04T09:30:00",
        "2026-10-04T09:30Z",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-10-04T24:00:00Z",
        "2026-10-04T09:60:00Z",
        "2026-10-04T09:30:61Z",
        "2026-10-04T09:30:00.Z",
        "2026-10-04T09:30:00+24:00",
        "2026-10-04T09:30:00+00:60",
        "2026-10-04T09:30:00+0100",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "+2026-10-04T09:30:00Z",
        "٢٠٢٦-10-04T09:30:00Z",
        "2026-10-04T09:30:00Z\n",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        Instant.parse(text)


def test_the_years_1_to_9999_are_the_bounds() -> None:
    assert str(Instant.MIN) == "0001-01-01T00:00:00Z"
    assert str(Instant.MAX) == "9999-12-31T23:59:59.999999999Z"
    for ns in (Instant.MIN.ns - 1, Instant.MAX.ns + 1):
        with pytest.raises(errors.InvalidRequest, match="years 1 to 9999"):
            Instant(ns)


def test_a_naive_datetime_is_read_as_utc() -> None:
    assert Instant.of(datetime(1970, 1, 2)) == Instant(DAY)
    assert Instant.of("1970-01-02T00:00:00Z") == Instant.of(Instant(DAY)) == Instant(DAY)
