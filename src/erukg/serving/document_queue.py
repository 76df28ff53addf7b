"""One queue of documents for all requests, and the threads that process them.

A request's documents are a `Batch`. Threads take one document at a time, round-robin over the waiting batches: a
request with a hundred documents does not hold up others until it is done, and the documents of many small requests
keep all cores busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from erukg.serving.problems import Problem

__all__ = ["Batch", "DocumentQueue", "Task"]

Task: TypeAlias = Callable[[], bytes]
"""Processes one document and returns its result as JSON."""

_MAX_RETRY_SECONDS = 60


@dataclass(eq=False)
class Batch:
    """The tasks of one request; `results` holds JSON or the exception raised, in the same order."""

    tasks: Sequence[Task]
    results: list[bytes | BaseException]
    done: asyncio.Future[None]
    started: int = 0
    finished: int = 0
    cancelled: bool = False


class DocumentQueue:
    """The queue and its threads. `add`, `cancel` and `close` are called on the event loop."""

    def __init__(
        self,
        threads: int,
        limit: int,
        warm_up: Callable[[], object],
        on_ready: Callable[[], object],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        """`warm_up` runs on every thread before its first document; `on_ready` is called when it has succeeded on all
        of them, `on_failure` when it raised on one."""
        self.limit = limit
        self.waiting = 0
        self.running = 0
        self._warm_up = warm_up
        self._on_ready = on_ready
        self._on_failure = on_failure
        self._batches: deque[Batch] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._mean_seconds = 0.02
        self._cold = threads
        self._threads = [threading.Thread(target=self._run, name=f"erukg-{i}", daemon=True) for i in range(threads)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def ready(self) -> bool:
        """Whether all threads are warm."""
        return self._cold == 0

    def check_room(self, documents: int = 1) -> None:
        """Raise a Problem (429) when so many documents do not fit."""
        if self.waiting + documents <= self.limit:
            return
        seconds = self.waiting * self._mean_seconds / len(self._threads)
        wait = min(_MAX_RETRY_SECONDS, max(1, math.ceil(seconds)))
        sentence = f"The service is busy with {self.waiting} documents waiting; try again in {wait} s."
        raise Problem(429, sentence, {"Retry-After": str(wait)}, "queue_full")

    def add(self, tasks: Sequence[Task]) -> Batch:
        """Put all the documents of a request, at least one, into the queue; raises a Problem when they do not fit."""
        batch = Batch(tasks, [b""] * len(tasks), asyncio.get_running_loop().create_future())
        with self._changed:
            self.check_room(len(tasks))
            self.waiting += len(tasks)
            self._batches.append(batch)
            self._changed.notify(len(tasks))
        return batch

    def cancel(self, batch: Batch) -> None:
        """Take what has not started out of the queue; nobody waits for it any more."""
        with self._changed:
            if not batch.cancelled:
                batch.cancelled = True
                self.waiting -= len(batch.tasks) - batch.started

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
                i = batch.started
                batch.started += 1
                self.waiting -= 1
                self.running += 1
                if batch.started < len(batch.tasks):
                    self._batches.append(batch)
                return batch, i

    def _run(self) -> None:
        try:
            self._warm_up()
        except BaseException as error:
            self._on_failure(error)
            return
        with self._changed:
            if self._cold == 1:
                self._on_ready()
            self._cold -= 1
        while (taken := self._take()) is not None:
            batch, i = taken
            begin = time.perf_counter()
            try:
                batch.results[i] = batch.tasks[i]()
            except BaseException as error:  # raised again where the request waits
                batch.results[i] = error
            seconds = time.perf_counter() - begin
            with self._changed:
                self.running -= 1
                self._mean_seconds += 0.05 * (seconds - self._mean_seconds)
                batch.finished += 1
                if batch.finished == len(batch.tasks):
                    _set_done(batch.done)


def _set_done(done: asyncio.Future[None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        done.get_loop().call_soon_threadsafe(lambda: None if done.done() else done.set_result(None))
