"""CortexDB over HTTP, on both of its wires (seeds: cortex-flows; wire: contract 3).

engine → storing, reading, ranking, forgetting → wire (direct or hosted) → transport. Only the
last of them knows HTTP; envelope, labels, scopes and cursors are pure.
"""
