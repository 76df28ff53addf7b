"""Counters and times for Prometheus, in memory that all worker processes share.

Every worker writes to a row of its own; whoever is asked adds the rows up. A worker that is started again continues its
predecessor's row, so that no counter ever falls.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Metrics", "resident_bytes"]

_STATUSES = tuple(
    map(
        int,
        "200 201 202 204 304 307 400 401 403 404 405 408 409 410 413 415 421 422 429 431 499 500 503 504 507".split(),
    )
)
_BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)
_REASONS = tuple(
    "queue_full expected_wait held_bytes pdf_queue_full jobs_full connections too_large slow_body slow_headers "
    "large_headers not_http timeout api_key host origin other".split()
)
# Name, metric, kind and help of the single numbers.
_SINGLE = (
    ("documents", "erukg_documents_total", "counter", "Documents processed to the end, with a result or an error."),
    ("document_errors", "erukg_document_errors_total", "counter", "Documents answered with an error of their own."),
    ("restarts", "erukg_worker_restarts_total", "counter", "Worker processes started again after they died or hung."),
    ("log_lines_dropped", "erukg_log_lines_dropped_total", "counter", "Lines of the log that nobody took."),
    ("connections", "erukg_connections", "gauge", "Open connections."),
    ("waiting", "erukg_queue_documents", "gauge", "Documents waiting for a thread."),
    ("running", "erukg_running_documents", "gauge", "Documents being processed."),
    ("ready", "erukg_ready_workers", "gauge", "Worker processes that are loaded and warm."),
)
_GAUGES = ("waiting", "running", "ready", "connections", "memory")


class Metrics:
    """All metrics of a service. Create it before the workers are forked; `use_row` says which worker writes."""

    def __init__(self, paths: Sequence[str], workers: int = 1, longest: float = 60.0) -> None:
        """`paths` are those counted by name; `longest` is how many seconds a request may take."""
        self._bounds = _BUCKETS[: bisect_left(_BUCKETS, longest) + 1]
        self._paths = {path: i for i, path in enumerate((*paths, "other"))}
        self._statuses = {status: i for i, status in enumerate((*_STATUSES, 0))}
        numbers = [name for name, *_ in _SINGLE] + [
            "memory",
            "alive_at",
            *(f"rejected.{reason}" for reason in _REASONS),
        ]
        row = np.dtype(
            [
                ("requests", np.float64, (len(self._paths), len(self._statuses))),
                ("buckets", np.float64, (len(self._paths), len(self._bounds) + 1)),
                ("seconds", np.float64, (len(self._paths),)),
                *((name, np.float64) for name in numbers),
            ]
        )
        # Anonymous and shared: forked processes see the same pages.
        self._rows: NDArray[Any] = np.frombuffer(mmap.mmap(-1, workers * row.itemsize), row)
        self.use_row(0)

    def use_row(self, worker: int) -> None:
        """Write to this worker's row from now on; its gauges start at zero."""
        self._row = self._rows[worker]
        for name in _GAUGES:
            self.set(name, 0)

    def restarted(self, worker: int) -> None:
        """Count a restart of this worker after its death; called by the process that starts it."""
        self._rows[worker]["restarts"] += 1

    def alive_at(self, worker: int) -> float:
        """When this worker last said that it is alive, by `set("alive_at", …)`; a time of the monotonic clock."""
        return float(self._rows[worker]["alive_at"])

    def reset_alive(self, worker: int) -> None:
        """Forget what a worker of this number said before."""
        self._rows[worker]["alive_at"] = 0

    def rejected(self, reason: str) -> None:
        """Count a request that was refused or given up."""
        self.add(f"rejected.{reason if reason in _REASONS else 'other'}")

    def request(self, path: str, status: int, seconds: float) -> None:
        i = self._paths.get(path, len(self._paths) - 1)
        self._row["requests"][i, self._statuses.get(status, len(self._statuses) - 1)] += 1
        self._row["buckets"][i, bisect_left(self._bounds, seconds)] += 1
        self._row["seconds"][i] += seconds

    def add(self, name: str, amount: float = 1) -> None:
        self._row[name] += amount

    def set(self, name: str, value: float) -> None:
        self._row[name] = value

    def total(self, name: str) -> float:
        """The sum over all workers."""
        return float(self._rows[name].sum())

    def text(self) -> str:
        """All metrics in Prometheus' text format."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        requests, buckets, sums = (self._rows[name].sum(axis=0) for name in ("requests", "buckets", "seconds"))
        yield from _head("erukg_requests_total", "counter", "Requests answered, by path and status.")
        for path, i in self._paths.items():
            for status, j in self._statuses.items():
                if count := requests[i, j]:
                    yield f'erukg_requests_total{{path="{path}",status="{status or "other"}"}} {count:.0f}'
        yield from _head("erukg_request_seconds", "histogram", "Time from headers to the end of the answer.")
        for path, i in self._paths.items():
            counts = np.cumsum(buckets[i])
            if not counts[-1]:
                continue
            for bound, count in zip((*self._bounds, "+Inf"), counts, strict=True):
                yield f'erukg_request_seconds_bucket{{path="{path}",le="{bound}"}} {count:.0f}'
            yield f'erukg_request_seconds_sum{{path="{path}"}} {sums[i]:.6f}'
            yield f'erukg_request_seconds_count{{path="{path}"}} {counts[-1]:.0f}'
        yield from _head("erukg_rejected_total", "counter", "Requests refused or given up, by reason.")
        for reason in _REASONS:
            yield f'erukg_rejected_total{{reason="{reason}"}} {self.total(f"rejected.{reason}"):.0f}'
        for name, metric, kind, help in _SINGLE:
            yield from _head(metric, kind, help)
            yield f"{metric} {self.total(name):.0f}"
        yield from _head("erukg_memory_bytes", "gauge", "Resident memory of a worker process.")
        for worker, memory in enumerate(self._rows["memory"]):
            yield f'erukg_memory_bytes{{worker="{worker}"}} {memory:.0f}'


def _head(name: str, kind: str, help: str) -> tuple[str, str]:
    return f"# HELP {name} {help}", f"# TYPE {name} {kind}"


def resident_bytes() -> int:
    """The memory this process holds at the moment; 0 where the system does not say."""
    status = Path("/proc/self/statm")
    try:
        return int(status.read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0
