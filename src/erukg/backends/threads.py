"""A function over a stream, on several threads, in order and in constant memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from erukg.errors import InputError

__all__ = ["cores", "in_order", "past_refusals"]

T = TypeVar("T")
R = TypeVar("R")
# Enough that no thread waits for the slowest of its neighbours, few enough to keep nothing much in memory.
_AHEAD = 4


def cores() -> int:
    """The cores this process may use, which a container may have limited."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(function: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """`map(function, items)` on `threads` threads (default: all cores), taking only a few items ahead."""
    threads = threads or cores()
    if threads == 1:
        yield from map(function, items)
        return
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


def past_refusals(
    work: Callable[[Iterator[T]], Iterator[R]], items: Iterable[T], refused: Callable[[T, InputError], None]
) -> Iterator[R]:
    """`work(items)`, which gives a result an item in order; an item that it refuses goes to `refused`, and the work
    begins again behind it.
    """
    source = iter(items)
    handed: deque[T] = deque()
    back: deque[T] = deque()

    def feed() -> Iterator[T]:
        while True:
            if back:
                item = back.popleft()
            else:
                try:
                    item = next(source)
                except StopIteration:
                    return
            handed.append(item)
            yield item

    while True:
        try:
            for result in work(feed()):
                handed.popleft()
                yield result
            return
        except InputError as error:
            if not handed:
                raise
            culprit = handed.popleft()
            # Those behind it were handed over too, but their results are lost.
            back.extendleft(reversed(handed))
            handed.clear()
            refused(culprit, error)
