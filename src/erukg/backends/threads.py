"""Streams on several threads, in order and in constant memory."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TypeVar

from erukg.core.inputs import checked_count
from erukg.core.runner import SerialRunner

__all__ = ["MOST_THREADS", "ThreadRunner", "cores", "cpu_quota", "ordered_map"]

T = TypeVar("T")
R = TypeVar("R")
#: More would only wait for one another, and each takes documents ahead.
MOST_THREADS = 1024
# Threads take turns at what Python does: with more of them documents take longer, not less long.
_USEFUL = 4
# Enough that no thread waits for the slowest of its neighbours, few enough to keep nothing much in memory.
_AHEAD = 4


def cores() -> int:
    """The cores this process may use: those it is bound to, or fewer where a container has a quota of their time."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return bound if quota is None else max(1, min(bound, math.ceil(quota)))


def cpu_quota(root: Path = Path("/")) -> float | None:
    """How many cores' time the control groups of this process allow, of either version; None without a limit."""
    quotas = [quota for folder in _control_groups(root) if (quota := _quota_of(folder)) is not None]
    return min(quotas, default=None)


def _control_groups(root: Path) -> Iterator[Path]:
    """The folders that may limit this process: of its group and all above it."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return
    mounts = root / "sys/fs/cgroup"
    for line in lines:
        _, controllers, path = line.split(":", 2) if line.count(":") >= 2 else ("", "-", "")
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = mounts / controllers if controllers and (mounts / controllers).is_dir() else mounts
        if controllers and top == mounts:
            top = mounts / "cpu"
        # In a container the path may be the host's, and is not to be found; the top is then the container's own.
        group = PurePosixPath(path.lstrip("/"))
        yield from (top / each for each in (group, *group.parents))


def _quota_of(folder: Path) -> float | None:
    try:
        if (both := folder / "cpu.max").is_file():
            quota, period = both.read_text().split()[:2]
        else:
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 and int(period) > 0 else None
    except (OSError, ValueError):  # there is none, or it is "max"
        return None


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
    """One item per thread, by default on as many cores as threads gain from."""

    def map(self, function: Callable[[T], R], items: Iterable[T], workers: int | None) -> Iterator[R]:
        return ordered_map(function, items, workers or min(cores(), _USEFUL))
