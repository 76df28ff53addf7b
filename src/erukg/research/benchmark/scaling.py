"""How a long stream gains from cores: by the threads of one process, and by as many processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

from erukg.backends.threads import ThreadRunner, cores
from erukg.core.runner import Request
from erukg.generator import KeyphraseGenerator
from erukg.gpu.pipeline import DeviceStream
from erukg.gpu.processes import CHUNK, job_of
from erukg.research.benchmark.timing import Progress

__all__ = ["time_scaling"]


def time_scaling(
    generator: KeyphraseGenerator, texts: Sequence[str], streamed: int, top_k: int, progress: Progress
) -> list[dict[str, Any]]:
    """Documents a second, `streamed` in all, on 1, 2, 4 … all cores; the start of processes is timed apart."""
    request = Request(top_k, generator.settings)
    job = job_of(generator, request)
    assert job is not None
    deque(generator.generate_batch(texts[:20], top_k, threads=1), maxlen=0)  # compiles what is to be compiled
    counts = [1 << k for k in range(cores().bit_length()) if 1 << k < cores()] + [cores()]
    rows = []
    for number, count in enumerate(counts):
        progress("cores", number, len(counts))
        with DeviceStream(None, job, count) as stream:
            start = time.perf_counter()
            deque(stream.run(islice(cycle(texts), CHUNK * count), CHUNK), maxlen=0)
            started = time.perf_counter() - start
            start = time.perf_counter()
            deque(stream.run(islice(cycle(texts), streamed), CHUNK), maxlen=0)
            by_processes = time.perf_counter() - start
        # Threads are slow to gain, so fewer documents have to do.
        some = max(1, streamed // 4)
        start = time.perf_counter()
        deque(ThreadRunner().generate(generator, islice(cycle(texts), some), request, count), maxlen=0)
        by_threads = time.perf_counter() - start
        rows.append(
            {
                "cores": count,
                "documents": streamed,
                "processes_per_second": streamed / by_processes,
                "processes_seconds_to_start": started,
                "threads_per_second": some / by_threads,
            }
        )
    progress("cores", len(counts), len(counts))
    return rows
