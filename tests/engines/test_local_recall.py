"""A recall quotes what memory holds, numbers it, and invents nothing."""

from __future__ import annotations

import pytest

from syncd.engines.local.engine import LocalEngine
from syncd.memory import GetRequest, MetaFilter, RecallRequest, errors
from tests.engines.making import document, store


@pytest.fixture
def notes(engine: LocalEngine) -> LocalEngine:
    store(engine, [document("The boiler is serviced in March.\nBy Jane.", "/home/boiler.md")])
    store(engine, [document("Jane repairs boilers and pumps.", "/people/jane.md")])
    store(engine, [document("Nothing to see.", "/home/empty.md")])
    return engine


def test_the_best_passages_are_quoted_under_numbers(notes: LocalEngine) -> None:
    told = notes.recall(RecallRequest("When is the boiler serviced?"))
    assert told.model is None
    assert "[1] /home/boiler.md\n" in told.answer
    assert "The boiler is serviced in March." in told.answer
    assert "[2] /people/jane.md\n" in told.answer
    assert [c.meta.file_path for c in told.citations] == ["/home/boiler.md", "/people/jane.md"]


def test_every_citation_is_an_item_and_quotes_it_exactly(notes: LocalEngine) -> None:
    for citation in notes.recall(RecallRequest("jane boiler")).citations:
        (hit,) = notes.get(GetRequest((citation.id,)))
        assert citation.snippet in hit.text
        assert citation.score is not None


def test_nothing_found_is_said_plainly(notes: LocalEngine) -> None:
    told = notes.recall(RecallRequest("zebra?"))
    assert told.answer == "Memory holds nothing about this."
    assert told.citations == ()


def test_limit_filter_and_instructions(notes: LocalEngine) -> None:
    one = notes.recall(RecallRequest("jane boiler", limit=1))
    assert len(one.citations) == 1
    steered = RecallRequest("jane boiler", limit=1, instructions="answer in French")
    assert notes.recall(steered) == one
    within = notes.recall(RecallRequest("jane boiler", MetaFilter(folder="/people")))
    assert [c.meta.file_path for c in within.citations] == ["/people/jane.md"]


@pytest.mark.parametrize("request_", [RecallRequest(" "), RecallRequest("x", limit=0)])
def test_a_question_and_a_limit_are_needed(engine: LocalEngine, request_: RecallRequest) -> None:
    with pytest.raises(errors.InvalidRequest):
        engine.recall(request_)
