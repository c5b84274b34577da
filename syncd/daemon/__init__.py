"""When to look: watches, hints, schedules, readiness. What to do is decided in `syncd.sync`."""
