"""`syncd` with other pauses than a person would wait for: `python -m tests.end_to_end.hasty run`.

HASTY_PACE and HASTY_BUCKET are JSON objects of `Pace` and of the hosted wire's `Bucket`.
"""

from __future__ import annotations

import json
import os
from functools import partial

from syncd.cli import main
from syncd.daemon import process
from syncd.daemon.desk import Pace
from syncd.engines.cortex import engine, pacing

if __name__ == "__main__":
    pace = Pace(**json.loads(os.environ["HASTY_PACE"]))
    process.serve = partial(process.serve, pace=pace)
    bucket = json.loads(os.environ["HASTY_BUCKET"])
    engine.Bucket = partial(pacing.Bucket, **bucket)  # type: ignore[attr-defined, assignment]
    main()
