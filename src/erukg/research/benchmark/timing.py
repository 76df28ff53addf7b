"""Taking times so that they can be compared: systems in turn on every document, and ratios of the totals."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

__all__ = ["Progress", "Stream", "System", "interleave", "rate", "steps", "summary"]

System: TypeAlias = Callable[[str], object]
"""Does its work on one text; what it returns is not looked at."""
Stream: TypeAlias = Callable[[Sequence[str]], object]
"""Does its work on several texts, as many at once as it likes."""
Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being measured, how much of it is done, and how much there is."""


_Work = TypeVar("_Work", str, Sequence[str])


def interleave(
    systems: Mapping[str, Callable[[_Work], object]],
    texts: Sequence[_Work],
    step: Callable[[int, int], None] | None = None,
    pause: float = 0.0,
) -> dict[str, list[float]]:
    """Seconds each system takes for each text, or block of texts: one after the other, every system on it in turn.

    Whatever else the machine does meets all systems alike. Which one goes first changes from text to text. Each has
    seen one text before, untimed, so that loading and compiling are over. `pause` is how many seconds to wait before
    every one: idle threads of the pool that one system used go on asking for work for a while, at the next one's cost.
    """
    names = list(systems)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        systems[name](texts[0])
    # What systems have loaded must not make Python's search for garbage dearer for the others.
    gc.collect()
    gc.freeze()
    try:
        for i, text in enumerate(texts):
            turn = i % len(names) if names else 0
            for name in names[turn:] + names[:turn]:
                if pause:
                    time.sleep(pause)
                start = time.perf_counter()
                systems[name](text)
                seconds[name].append(time.perf_counter() - start)
            if step is not None:
                step(i + 1, len(texts))
    finally:
        gc.unfreeze()
    return seconds


def rate(seconds: Sequence[float], documents: int) -> dict[str, Any]:
    """Documents per second of so many that took these seconds."""
    total = float(sum(seconds))
    return {"documents": documents, "seconds": total, "documents_per_second": documents / total}


def summary(seconds: Sequence[float]) -> dict[str, Any]:
    """Documents per second and the milliseconds that 50, 95 and 99 % of the documents stay under."""
    p50, p95, p99 = (float(value) * 1e3 for value in np.percentile(seconds, (50, 95, 99)))
    return {**rate(seconds, len(seconds)), "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}


def steps(progress: Progress, what: str) -> Callable[[int, int], None]:
    """Progress of one thing that is measured."""
    return lambda done, total: progress(what, done, total)
