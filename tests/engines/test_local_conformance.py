"""The embedded engine keeps the contract, on a new file and beside other people's items."""

from __future__ import annotations

from syncd.engines.local.engine import LocalEngine
from syncd.memory import conformance
from tests.engines.making import document, pages, store


def test_the_local_engine_conforms(engine: LocalEngine) -> None:
    conformance.run(engine)
    assert pages(engine) == []


def test_it_conforms_beside_what_is_there_and_leaves_that_alone(engine: LocalEngine) -> None:
    store(engine, (document(f"mine {n}", f"/mine/{n}.md", tags=("x",)) for n in range(150)))
    conformance.run(engine)
    assert len(pages(engine)) == 150
