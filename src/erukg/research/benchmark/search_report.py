"""The comparison of searches as a report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from erukg.research.benchmark.engines import choose_engines
from erukg.research.benchmark.environment import report_head
from erukg.research.benchmark.search_timing import SearchTiming, compare_search

__all__ = ["growth", "run_search"]


def run_search(
    sources: Sequence[str | Path],
    sizes: Sequence[int],
    *,
    against: str | None = None,
    lucene: Sequence[str] = (),
    queries: int = 1000,
    neighbours: int = 100,
    folder: str | Path | None = None,
    step: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Search timed against other engines at each of the `sizes` of D; the report is ready to be written as JSON.

    `against` names engines with commas between them (None: those installed); each item of `lucene` is the jars of one.
    """
    wanted = sorted(set(sizes))
    engines, how, missing = choose_engines(against, lucene)
    timings: list[SearchTiming] = []
    for timing in compare_search(sources, wanted, engines, queries=queries, neighbours=neighbours, folder=folder):
        timings.append(timing)
        if step is not None:
            step(len(timings), len(wanted))
    return {
        **report_head("erukg-benchmark-search", 2),
        "settings": {
            "sources": [str(source) for source in sources],
            "sizes": wanted,
            "queries": queries,
            "neighbours": neighbours,
            "engines": how,
        },
        "sizes": growth(timings),
        "not_run": missing,
    }


def growth(timings: Sequence[SearchTiming]) -> list[dict[str, Any]]:
    """The timings with time a query relative to the first size, as it is and divided by the growth of D."""
    out = []
    for timing in timings:
        times = timing.erukg_ms / timings[0].erukg_ms
        out.append(
            {
                **dataclasses.asdict(timing),
                "times_first": times,
                "times_first_per_document": times * timings[0].documents / timing.documents,
            }
        )
    return out
