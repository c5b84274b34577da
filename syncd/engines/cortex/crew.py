"""A few threads for requests that may be under way at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from syncd.engines.cortex.clock import closed

A = TypeVar("A")
B = TypeVar("B")

SIZE = 4


class Crew:
    """At most `SIZE` threads, started when they are first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def map(self, ask: Callable[[A], B], values: Iterable[A]) -> list[B]:
        """`ask` of each value, several at a time; answers in order, or the first's error."""
        known = list(values)
        if len(known) <= 1:
            return [ask(value) for value in known]
        futures = [self._submit(lambda value=value: ask(value)) for value in known]  # type: ignore[misc]
        wait(futures)
        return [future.result() for future in futures]

    def together(self, work: Callable[[], None], count: int) -> None:
        """Let `count` threads do `work`, and wait for them all; one is the caller's own."""
        if count <= 1:
            work()
            return
        futures = [self._submit(work) for _ in range(count)]
        wait(futures)
        for future in futures:
            future.result()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, work: Callable[[], B]) -> Future[B]:
        with self._lock:
            if self._closed:
                raise closed()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(SIZE, thread_name_prefix="cortex")
            return self._pool.submit(work)
