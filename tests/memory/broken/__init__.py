"""Engines with one fault each, and the check of the conformance suite that is there to see it."""

from tests.memory.broken import counting, filtering, finding, forgetting, placing, storing
from tests.memory.broken.table import FAULTS, PLAIN_FIELDS, Fault

__all__ = [
    "FAULTS",
    "PLAIN_FIELDS",
    "Fault",
    "counting",
    "filtering",
    "finding",
    "forgetting",
    "placing",
    "storing",
]
