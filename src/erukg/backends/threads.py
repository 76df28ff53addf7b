"""Streams on several threads, in order and in constant memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from erukg.core.inputs import checked_count
from erukg.core.runner import SerialRunner

__all__ = ["MOST_THREADS", "ThreadRunner", "cores", "ordered_map"]

T = TypeVar("T")
R = TypeVar("R")
#: More would only wait for one another, and each takes documents ahead.
MOST_THREADS = 1024
# Enough that no thread waits for the slowest of its neighbours, few enough to keep nothing much in memory.
_AHEAD = 4


def cores() -> int:
    """The cores this process may use, which a container may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(function: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """`map(function, items)` on `threads` threads (default: all cores), taking only a few items ahead."""
    threads = checked_count(threads or 0, "threads", MOST_THREADS) or cores()
    return map(function, items) if threads == 1 else _threaded(function, items, threads)


def _threaded(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    with ThreadPoolExecutor(threads, thread_name_prefix="erukg") as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) >= _AHEAD * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class ThreadRunner(SerialRunner):
    """One item per thread."""

    def map(self, function: Callable[[T], R], items: Iterable[T], workers: int | None) -> Iterator[R]:
        return ordered_map(function, items, workers)
