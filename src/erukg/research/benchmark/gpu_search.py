"""How fast a device searches a collection, and how near its hits are to the CPU's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np

from erukg.collection import Collection, Hits
from erukg.collection.analysis import analyse

__all__ = ["measure_search"]

_QUERIES = 512


def measure_search(
    collection: Collection, texts: Sequence[str], neighbours: int, compared: int, device: str
) -> dict[str, Any]:
    """Queries a second on the device and on one core, and the neighbours that both find; without the model."""
    import torch

    from erukg.gpu.queries import SPARE, Index, SearchPlan
    from erukg.gpu.search import DeviceSearch

    commit = collection.manifest.number
    start = time.perf_counter()
    search = DeviceSearch.open(SearchPlan(collection.folder, commit, neighbours + SPARE), torch.device(device))
    loaded = time.perf_counter() - start
    if search is None:
        return {"on_device": False}
    index = Index(collection.folder, commit)
    gpu = device.startswith("cuda")
    used = torch.cuda.memory_allocated(device) if gpu else None
    many = list(islice(cycle(texts), _QUERIES if gpu else 16))
    queries = [analyse(text) for text in many]
    lists = index.lists_of(queries)
    search.search(lists)
    rounds = 10 if gpu else 1
    start = time.perf_counter()
    for _ in range(rounds):
        found = search.search(lists)
    rate = rounds * len(many) / (time.perf_counter() - start)
    start = time.process_time()
    index.lists_of(queries)
    index.choose(queries, *found, neighbours, [None] * len(many))
    worker = (time.process_time() - start) / len(many)
    some = [analyse(text) for text in islice(texts, compared)]
    ours = index.choose(some, *search.search(index.lists_of(some)), neighbours, [None] * len(some))
    start = time.perf_counter()
    theirs = [collection.search_terms(query, neighbours) for query in some]
    seconds = time.perf_counter() - start
    del search
    if gpu:
        torch.cuda.empty_cache()  # for the processes that will need it
    return {
        "on_device": True,
        "seconds_to_load": loaded,
        "memory_mb": None if used is None else used / 1e6,
        "queries_per_second": rate,
        "queries_per_second_cpu_core": len(some) / seconds,
        "worker_ms": worker * 1e3,
        "agreement": _agreement(ours, theirs),
    }


def _agreement(ours: Sequence[Hits | None], theirs: Sequence[Hits]) -> dict[str, Any]:
    pairs = [(a, b) for a, b in zip(ours, theirs, strict=True) if a is not None and len(b.documents)]
    common = [len(np.intersect1d(a.documents, b.documents)) / len(b.documents) for a, b in pairs]
    errors = [float(np.abs(a.scores / b.scores - 1).max()) for a, b in pairs if len(a.scores) == len(b.scores)]
    return {
        "queries": len(theirs),
        "left_to_the_cpu": sum(a is None for a in ours),
        "neighbours_in_common": float(np.mean(common)) if common else None,
        "queries_with_all_in_common": sum(share == 1 for share in common),
        "largest_relative_error": max(errors, default=None),
    }
