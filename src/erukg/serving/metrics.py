"""Counts and times for Prometheus, in memory that all worker processes share.

Every worker has a row of numbers of its own, which only it writes; whoever is asked adds the rows up. A worker that is
started again goes on with its predecessor's row, so that no counter ever falls.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["Metrics", "resident_bytes"]

_STATUSES = (200, 204, 304, 307, 400, 401, 404, 405, 408, 413, 415, 422, 429, 431, 499, 500, 503, 504)
_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
_REASONS = ("queue_full", "held_bytes", "pdf_queue_full", "too_large", "slow_body", "timeout", "api_key")
_PLAIN = ("documents", "document_errors", "restarts")
_GAUGES = ("waiting", "running", "memory", "ready")


class Metrics:
    """All numbers of a service. Make it before the workers are forked; `row` says which worker writes."""

    def __init__(self, paths: Sequence[str], workers: int = 1) -> None:
        self._paths = {path: i for i, path in enumerate((*paths, "other"))}
        self._statuses = {status: i for i, status in enumerate((*_STATUSES, 0))}
        self._requests = len(self._paths) * len(self._statuses)
        self._width = len(_BUCKETS) + 2  # +Inf, and the sum of seconds
        self._times = len(self._paths) * self._width
        names = [*(f"rejected.{r}" for r in _REASONS), *_PLAIN, *_GAUGES]
        self._named = {name: self._requests + self._times + i for i, name in enumerate(names)}
        size = self._requests + self._times + len(names)
        # Anonymous and shared: forked processes see the same pages.
        memory = mmap.mmap(-1, workers * size * 8)
        self._all: NDArray[np.float64] = np.frombuffer(memory, np.float64).reshape(workers, size)
        self.use_row(0)

    def use_row(self, worker: int) -> None:
        """Write to this worker's row from now on; its gauges start at zero."""
        self._row = self._all[worker]
        for name in _GAUGES:
            self.set(name, 0)

    def restarted(self, worker: int) -> None:
        """Count a start of this worker after its death; called by the process that starts it."""
        self._all[worker, self._named["restarts"]] += 1

    def request(self, path: str, status: int, seconds: float) -> None:
        i = self._paths.get(path, len(self._paths) - 1)
        self._row[i * len(self._statuses) + self._statuses.get(status, len(self._statuses) - 1)] += 1
        start = self._requests + i * self._width
        self._row[start + bisect_left(_BUCKETS, seconds)] += 1
        self._row[start + self._width - 1] += seconds

    def add(self, name: str, amount: float = 1) -> None:
        self._row[self._named[name]] += amount

    def set(self, name: str, value: float) -> None:
        self._row[self._named[name]] = value

    def total(self, name: str) -> float:
        """The sum over all workers."""
        return float(self._all[:, self._named[name]].sum())

    def text(self) -> str:
        """All of it in Prometheus' text format."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        total = self._all.sum(axis=0)
        named = self.total
        yield from _head("erukg_requests_total", "counter", "Requests answered, by path and status.")
        for path, i in self._paths.items():
            for status, j in self._statuses.items():
                if count := total[i * len(self._statuses) + j]:
                    yield f'erukg_requests_total{{path="{path}",status="{status or "other"}"}} {count:.0f}'
        yield from _head(
            "erukg_request_seconds", "histogram", "Time from a request's headers to the end of its answer."
        )
        for path, i in self._paths.items():
            start = self._requests + i * self._width
            counts = np.cumsum(total[start : start + self._width - 1])
            if not counts[-1]:
                continue
            for bound, count in zip((*_BUCKETS, "+Inf"), counts, strict=True):
                yield f'erukg_request_seconds_bucket{{path="{path}",le="{bound}"}} {count:.0f}'
            yield f'erukg_request_seconds_sum{{path="{path}"}} {total[start + self._width - 1]:.6f}'
            yield f'erukg_request_seconds_count{{path="{path}"}} {counts[-1]:.0f}'
        yield from _head("erukg_rejected_total", "counter", "Requests refused or given up, by reason.")
        for reason in _REASONS:
            yield f'erukg_rejected_total{{reason="{reason}"}} {named(f"rejected.{reason}"):.0f}'
        yield from _head("erukg_documents_total", "counter", "Documents worked on.")
        yield f"erukg_documents_total {named('documents'):.0f}"
        yield from _head("erukg_document_errors_total", "counter", "Documents answered with an error of their own.")
        yield f"erukg_document_errors_total {named('document_errors'):.0f}"
        yield from _head("erukg_worker_restarts_total", "counter", "Worker processes started again after they died.")
        yield f"erukg_worker_restarts_total {named('restarts'):.0f}"
        yield from _head("erukg_queue_documents", "gauge", "Documents that wait for a thread.")
        yield f"erukg_queue_documents {named('waiting'):.0f}"
        yield from _head("erukg_running_documents", "gauge", "Documents that a thread works on.")
        yield f"erukg_running_documents {named('running'):.0f}"
        yield from _head("erukg_ready_workers", "gauge", "Worker processes that are loaded and warm.")
        yield f"erukg_ready_workers {named('ready'):.0f}"
        yield from _head("erukg_memory_bytes", "gauge", "Resident memory of a worker process.")
        for worker, row in enumerate(self._all):
            yield f'erukg_memory_bytes{{worker="{worker}"}} {row[self._named["memory"]]:.0f}'


def _head(name: str, kind: str, help: str) -> tuple[str, str]:
    return f"# HELP {name} {help}", f"# TYPE {name} {kind}"


def resident_bytes() -> int:
    """The memory this process holds at the moment; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    try:
        return int(status.read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0
