"""One queue of documents for all requests, and the threads that work on them.

A request's documents are a `Batch`. Threads take one document at a time, in turn from every batch that waits: a
request with a hundred documents does not keep others waiting until it is done, and documents of many small requests
fill all cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from erukg.serving.problems import Problem

__all__ = ["Batch", "Job", "Jobs"]

Job: TypeAlias = Callable[[], bytes]
"""Works on one document and returns its result as JSON."""

_LONGEST_WAIT = 60


@dataclass(eq=False)
class Batch:
    """The documents of one request; `results` holds JSON or what was raised, in the order of `jobs`."""

    jobs: Sequence[Job]
    results: list[bytes | BaseException]
    done: asyncio.Future[None]
    begun: int = 0
    left: int = field(init=False)
    cancelled: bool = False

    def __post_init__(self) -> None:
        self.left = len(self.jobs)


class Jobs:
    """The queue and its threads. `run` and `close` are called on the event loop."""

    def __init__(
        self,
        threads: int,
        limit: int,
        warm_up: Callable[[], object],
        warmed: Callable[[], object],
        broken: Callable[[BaseException], None],
    ) -> None:
        """`warm_up` runs once on every thread before its first document; `warmed` is told when all have, `broken`
        when one cannot."""
        self.limit = limit
        self._warmed = warmed
        self._broken = broken
        self.waiting = 0
        self.running = 0
        self._batches: deque[Batch] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._seconds = 0.02
        self._warm_up = warm_up
        self._unready = threads
        self._threads = [threading.Thread(target=self._work, name=f"erukg-{i}", daemon=True) for i in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def ready(self) -> bool:
        """Whether all threads are warm."""
        return self._unready == 0

    @property
    def full(self) -> bool:
        return self.waiting >= self.limit

    def rejection(self) -> Problem:
        """What a request is told that finds the queue full."""
        seconds = self.waiting * self._seconds / max(1, len(self._threads))
        wait = min(_LONGEST_WAIT, max(1, math.ceil(seconds)))
        sentence = f"The service is busy with {self.waiting} documents waiting; try again in {wait} s."
        return Problem(429, sentence, {"Retry-After": str(wait)}, "queue_full")

    def add(self, jobs: Sequence[Job]) -> Batch:
        """Put the documents into the queue, all or none; raises the rejection when they do not fit."""
        batch = Batch(jobs, [b""] * len(jobs), asyncio.get_running_loop().create_future())
        if not jobs:
            batch.done.set_result(None)
            return batch
        with self._changed:
            if self.waiting + len(jobs) > self.limit:
                raise self.rejection()
            self.waiting += len(jobs)
            self._batches.append(batch)
            self._changed.notify(len(jobs))
        return batch

    def cancel(self, batch: Batch) -> None:
        """Take what has not begun out of the queue; nobody waits for it any more."""
        with self._changed:
            if not batch.cancelled:
                batch.cancelled = True
                self.waiting -= len(batch.jobs) - batch.begun

    def close(self) -> None:
        """Let the threads finish what is in the queue, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self) -> tuple[Batch, int] | None:
        with self._changed:
            while True:
                while not self._batches:
                    if self._closed:
                        return None
                    self._changed.wait()
                batch = self._batches.popleft()
                if batch.cancelled:
                    continue
                i = batch.begun
                batch.begun += 1
                self.waiting -= 1
                self.running += 1
                if batch.begun < len(batch.jobs):
                    self._batches.append(batch)
                return batch, i

    def _work(self) -> None:
        try:
            self._warm_up()
        except BaseException as error:
            self._broken(error)
            return
        with self._changed:
            if self._unready == 1:
                self._warmed()
            self._unready -= 1
        while (taken := self._take()) is not None:
            batch, i = taken
            begin = time.perf_counter()
            try:
                result: bytes | BaseException = batch.jobs[i]()
            except BaseException as error:  # whatever it is, it is raised again where the request waits
                result = error
            seconds = time.perf_counter() - begin
            batch.results[i] = result
            with self._changed:
                self.running -= 1
                self._seconds += 0.05 * (seconds - self._seconds)
                batch.left -= 1
                finished = batch.left == 0
            if finished:
                _finish(batch.done)


def _finish(done: asyncio.Future[None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        done.get_loop().call_soon_threadsafe(lambda: None if done.done() else done.set_result(None))
