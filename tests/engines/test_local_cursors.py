"""A cursor is good for one question on one memory, and for nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncd.engines.local import cursors, paging
from syncd.engines.local.engine import LocalEngine
from syncd.engines.local.search import Found
from syncd.memory import FetchRequest, ListRequest, MetaFilter, errors
from tests.engines.making import document, store

BOUND = cursors.question(b"memory", "list", {})
NUMBERS = st.lists(st.integers(0, 2**64 - 1))


@given(NUMBERS)
def test_what_is_written_is_read(numbers: list[int]) -> None:
    cursor = cursors.write(numbers, BOUND)
    assert cursors.read(cursor, BOUND) == numbers
    assert cursor.isascii()
    assert not set(cursor) & set("+/= ")


@given(st.sets(st.integers(1, 2**40)), st.floats(0, 10), st.integers(0, 2**40))
def test_a_past_is_carried_whole(seen: set[int], lowest: float, top: int) -> None:
    past = paging.Past(top, lowest, frozenset(seen))
    assert paging.read(paging.write(past, BOUND), BOUND) == past


@given(NUMBERS, st.data())
def test_an_altered_cursor_is_refused(numbers: list[int], data: st.DataObject) -> None:
    cursor = cursors.write(numbers, BOUND)
    at = data.draw(st.integers(0, len(cursor) - 1))
    with pytest.raises(errors.InvalidRequest):
        cursors.read(cursor[:at] + ("B" if cursor[at] != "B" else "C") + cursor[at + 1 :], BOUND)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        cursors.read(text, BOUND)


def test_scores_never_rise_from_page_to_page() -> None:
    past = paging.Past(9, 1.5, frozenset({1}))
    found = [Found(1, 3.0), Found(2, 2.0), Found(3, 1.2), Found(4, 1.3)]
    assert paging.turn(found, past, 3) == ([Found(2, 1.5), Found(3, 1.2), Found(4, 1.2)], False)
    assert paging.turn(found, past, 2) == ([Found(2, 1.5), Found(3, 1.2)], True)


Ask = Callable[[LocalEngine, str | None], str | None]
ASKS: dict[str, Ask] = {
    "list": lambda e, c: e.list(ListRequest(limit=1, cursor=c)).next_cursor,
    "list below": lambda e, c: (
        e.list(ListRequest(MetaFilter(folder="/a"), limit=1, cursor=c)).next_cursor
    ),
    "fetch": lambda e, c: e.fetch(FetchRequest("text", limit=1, cursor=c)).next_cursor,
    "fetch another": lambda e, c: e.fetch(FetchRequest("texts", limit=1, cursor=c)).next_cursor,
    "fetch below": lambda e, c: (
        e.fetch(FetchRequest("text", filter=MetaFilter(folder="/a"), limit=1, cursor=c)).next_cursor
    ),
}


@pytest.fixture
def filled(engine: LocalEngine) -> LocalEngine:
    store(engine, (document(f"text {n}", f"/a/{n}.md") for n in range(4)))
    return engine


@pytest.mark.parametrize("made", ASKS)
@pytest.mark.parametrize("used", ASKS)
def test_a_cursor_serves_only_the_question_it_was_made_for(
    filled: LocalEngine, made: str, used: str
) -> None:
    cursor = ASKS[made](filled, None)
    assert cursor is not None
    if made == used:
        assert ASKS[used](filled, cursor) not in (None, cursor)
    else:
        with pytest.raises(errors.InvalidRequest, match="cursor"):
            ASKS[used](filled, cursor)


@pytest.mark.parametrize("cursor", ["", "x", "nonsense", "é", "AAAA" * 20, "a b", "\0"])
@pytest.mark.parametrize("ask", ["list", "fetch"])
def test_a_malformed_cursor_is_refused(filled: LocalEngine, ask: str, cursor: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="cursor"):
        ASKS[ask](filled, cursor)


def test_a_cursor_of_another_memory_is_refused(filled: LocalEngine, tmp_path: Path) -> None:
    cursor = ASKS["list"](filled, None)
    with LocalEngine(tmp_path / "other.db") as other:
        store(other, (document(f"text {n}", f"/a/{n}.md") for n in range(4)))
        with pytest.raises(errors.InvalidRequest, match="another request"):
            ASKS["list"](other, cursor)


def test_a_cursor_outlives_the_engine_that_made_it(filled: LocalEngine, path: Path) -> None:
    cursor = ASKS["fetch"](filled, None)
    filled.close()
    with LocalEngine(path, read_only=True) as again:
        assert ASKS["fetch"](again, cursor) is not None


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_positive(engine: LocalEngine, limit: int) -> None:
    with pytest.raises(errors.InvalidRequest):
        engine.list(ListRequest(limit=limit))
    with pytest.raises(errors.InvalidRequest):
        engine.fetch(FetchRequest("x", limit=limit))
