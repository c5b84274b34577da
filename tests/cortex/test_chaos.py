"""Random faults, for as long as the caller goes on: in the end everything is there, once.

The seeds are part of the test's name, so that a failure names the one to repeat.
"""

from __future__ import annotations

import json
import random

import pytest

from syncd.memory import ForgetTarget, Item, MetaFilter, errors
from tests.cortex.double import Double, Fault, Recorded
from tests.cortex.rig import (
    WIRES,
    FakeClock,
    conversation,
    document,
    learning,
    listed,
    on_double,
)

CHOICES: tuple[dict[str, object], ...] = (
    {"status": 429, "headers": {"Retry-After": "1"}},
    {"status": 500},
    {"status": 502, "after_applying": True},
    {"status": 503, "headers": {"Retry-After": "2"}},
    {"status": 504, "after_applying": True},
    {"status": 504},
    {"drop": True},
    {"drop": True, "after_applying": True},
    {"reset": True},
    {"cut": True, "after_applying": True},
)


def chaos(double: Double, seed: int) -> None:
    """One request in eight goes wrong; on the hosted wire also after its claim was taken."""
    dice = random.Random(seed)

    def fault(request: Recorded) -> Fault | None:
        if dice.random() > 1 / 8:
            return None
        what = dict(dice.choice(CHOICES))
        if double.wire == "hosted" and request.route == "append" and "after_applying" not in what:
            what["claimed"] = dice.random() < 0.3 and what.get("status") != 429
        return Fault("*", **what)  # type: ignore[arg-type]

    double.faults.chaos = fault


def events_of(double: Double) -> list[tuple[str, int]]:
    """Which event of which item each entry of the log is."""
    read = [json.loads(event.text) for event in double.log]
    return [(data["id"], data.get("turn", {}).get("index", 0)) for data in read]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("wire", WIRES)
def test_everything_is_there_once(wire: str, seed: int) -> None:
    clock = FakeClock()
    items: list[Item] = [document(f"document {n}") for n in range(40)]
    items += [learning(f"learning {n}") for n in range(5)]
    items += [conversation(f"{n} a", f"{n} b", f"{n} c") for n in range(5)]
    random.Random(seed).shuffle(items)
    with on_double(wire, 1.5, clock=clock) as (engine, double):
        chaos(double, seed)
        for start in range(0, len(items), 20):
            for _ in range(400):
                try:
                    engine.store_many(items[start : start + 20])
                    break
                except errors.Unavailable:
                    clock.time += 1.0
            else:
                pytest.fail("the batch never went through")
        double.heal()
        clock.time += 60
        assert sorted(listed(engine)) == sorted(item.render_text() for item in items)
        found = events_of(double)
        assert len(found) == len(set(found)) == 40 + 5 + 15
        assert engine.forget(ForgetTarget(filter=MetaFilter(kinds=("document",)))).forgotten == 40  # type: ignore[arg-type]
        assert double.repeated_keys == []
