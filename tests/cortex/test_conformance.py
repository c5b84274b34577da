"""The contract's own suite on both wires, with a lag, under a tenant, among foreign events."""

from __future__ import annotations

import pytest

from syncd.memory import conformance
from tests.cortex.rig import FakeClock, on_double


@pytest.mark.parametrize(
    ("wire", "lag", "tenant"),
    [
        ("direct", 2, None), ("direct", 1.5, None), ("hosted", 2, None), ("hosted", 0.7, None),
        ("hosted", 2, "tenant:t1"),
    ],
)  # fmt: skip
def test_the_engine_keeps_the_contract(wire: str, lag: float, tenant: str | None) -> None:
    clock = FakeClock()
    with on_double(wire, lag, tenant, clock=clock) as (engine, double):
        double.service.page_cap = 51
        for scope in ("documents", "learnings", "conversations"):
            double.add_foreign(f"app:tinymemory/app:{scope}", "a note of someone else's")
            double.add_foreign(f"app:tinymemory/app:{scope}", '{"v":2,"id":"x"}')
        report = conformance.run(engine, settle=0.0)
        assert report.checks == conformance.CHECKS
        assert len(double.log) == 6
        assert double.repeated_keys == []
        assert [request for request in double.requests if request.status == 429] == []
