"""Runs the program with an engine whose n-th batch waits until a file is there."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from syncd.cli import main
from syncd.engines.local.engine import LocalEngine

batches, go_on = int(sys.argv[1]), sys.argv[2]
real = LocalEngine.store_many
count = 0


def store_many(self: LocalEngine, items: Any) -> Any:
    global count
    count += 1
    pause = threading.Event()
    while count >= batches and not os.path.exists(go_on):
        open(f"{go_on}.waiting", "w").close()
        pause.wait(0.02)
    return real(self, items)


LocalEngine.store_many = store_many  # type: ignore[method-assign]
sys.argv[1:] = sys.argv[3:]
main()
