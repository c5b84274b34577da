"""Units, and the reader that never raises anything but Wrong."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncd.config import ConfigError, parse
from syncd.config.problems import Wrong
from syncd.config.values import duration, moment, sanitised_id, share, size, source_id


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("500ms", 0.5), ("2s", 2), ("15m", 900), ("1h", 3600), ("1d", 86400), ("1.5h", 5400)],
)
def test_durations(written: str, seconds: float) -> None:
    assert duration(written) == seconds


@pytest.mark.parametrize(
    ("written", "count"),
    [("1B", 1), ("256KiB", 262144), ("10MiB", 10485760), ("1GiB", 1 << 30), ("0.5KiB", 512)],
)
def test_sizes(written: str, count: int) -> None:
    assert size(written) == count


def test_shares() -> None:
    assert [share(text) for text in ("0%", "25%", "12.5 %", "100%")] == [0, 0.25, 0.125, 1]


def test_moments() -> None:
    assert moment("2024-01-31").isoformat() == "2024-01-31T00:00:00+00:00"
    assert moment("2024-01-31T12:00:00+02:00").isoformat() == "2024-01-31T10:00:00+00:00"
    assert moment("2024-01-31T12:00:00z").isoformat() == "2024-01-31T12:00:00+00:00"
    for bad in ("2024-02-30", "31.1.2024", "2024", 2024, "2024-01-31T12:00:00"):
        with pytest.raises(Wrong):
            moment(bad)


@settings(deadline=None)
@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none()))
def test_a_reader_gives_a_usable_value_or_says_what_is_wrong(value: object) -> None:
    readers: tuple[Callable[[object], object], ...] = (duration, size, share, moment)
    for read in readers:
        with suppress(Wrong):
            assert read(value) is not None


@settings(deadline=None)
@given(st.text())
def test_every_text_has_a_source_id_like_it(text: str) -> None:
    assert source_id(sanitised_id(text))


@settings(deadline=None)
@given(st.binary())
def test_no_file_at_all_gives_a_traceback(data: bytes) -> None:
    with pytest.raises(ConfigError):
        parse(Path("/c.yaml"), data, {"HOME": "/h"})


_LINES = st.sampled_from(
    ["sources:", "  - id: a", "    folder: /a", "    <<: *x", "  - &x {id: b}", "x-a: &x [1]"]
)


@settings(deadline=None)
@given(st.lists(st.one_of(_LINES, st.text("ab:-[]{}&*!|>'\"#%@ \t?,~", max_size=12)), max_size=8))
def test_no_text_that_resembles_yaml_gives_a_traceback(lines: list[str]) -> None:
    try:
        parse(Path("/c.yaml"), "\n".join(lines).encode(), {"HOME": "/h"})
    except ConfigError as error:
        told = error.problems
    else:
        return
    assert all(problem.what for problem in told)
