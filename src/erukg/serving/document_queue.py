"""One queue of documents for all requests, and the threads that process them.

A request's documents are a `Batch`. Requests wait in lanes by what they cost. Short ones have threads of their own, so
that they never wait for a long one. The other threads divide their time evenly between requests of medium cost
(batches, texts of some pages) and long texts: a long text pauses between its windows, and documents of medium requests
are processed on its thread meanwhile. Within a lane, requests are taken by when they came plus some times what they
cost: a small one overtakes a large one, but one that has waited is not overtaken for ever. Between two windows of any
but a short text, short requests have the cores for themselves, for up to the time that the window took.

A request that could not be answered within the time limit is refused at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from erukg.core.pauses import pausing
from erukg.serving.lanes import Lane
from erukg.serving.problems import Problem

__all__ = ["Abandoned", "Batch", "DocumentQueue", "Task"]

Task: TypeAlias = Callable[[], bytes]
"""Processes one document and returns its result as JSON."""

_MAX_RETRY_SECONDS = 60
# Costs are in bytes of a request's body; what a document costs beside its text is worth so many.
_DOCUMENT_COST = 500
# Short: a request of at most so much, an abstract or a handful of titles. Medium: documents of at most so much each.
_SHORT, _MEDIUM = 4_000, 40_000
# A request is due when it came plus so many times the time it takes alone.
_STRETCH = 2.0
# Estimates err: a request is refused when it is expected to take more than this part of the limit.
_MARGIN = 0.8


class Abandoned(BaseException):
    """Ends the work on a document that nobody waits for. Not an Exception: no part of that work is to catch it."""


@dataclass(eq=False)
class Batch:
    """The tasks of one request; `results` holds JSON or the exception raised, in the same order."""

    tasks: Sequence[Task]
    results: list[bytes | BaseException]
    done: asyncio.Future[None]
    cost: float = 0.0
    due: float = 0.0
    started: int = 0
    finished: int = 0
    cancelled_at: float | None = None

    @property
    def cancelled(self) -> bool:
        return self.cancelled_at is not None

    @property
    def waiting(self) -> int:
        """Documents that have not started and still may."""
        return 0 if self.cancelled else len(self.tasks) - self.started

    @property
    def cost_each(self) -> float:
        return self.cost / len(self.tasks)


class DocumentQueue:
    """The queue and its threads. `add`, `cancel` and `close` are called on the event loop."""

    def __init__(
        self,
        threads: int,
        limit: int,
        warm_up: Callable[[], object],
        on_ready: Callable[[], object],
        on_failure: Callable[[BaseException], None],
        *,
        seconds: float = math.inf,
        on_finished: Callable[[], object] = bool,
    ) -> None:
        """`threads` process short requests and as many all others; in each lane `limit` documents may wait, and none
        longer than `seconds`.

        `warm_up` runs on every thread before its first document; `on_ready` is called when it has succeeded on all
        of them, `on_failure` when it raised on one, `on_finished` after every document that was processed."""
        self.limit = limit
        self._seconds = seconds
        self._per_kind = threads
        self._warm_up = warm_up
        self._on_ready = on_ready
        self._on_failure = on_failure
        self._on_finished = on_finished
        self._lock = threading.Lock()
        self._short, self._medium, self._long = lanes = Lane(), Lane(), Lane()
        self._lanes, self._sharers = lanes, lanes[1:]
        self._work_for_short = threading.Condition(self._lock)
        self._work_for_others = threading.Condition(self._lock)
        self._no_short = threading.Condition(self._lock)
        self._closed = False
        kinds = ((self._take_short, "short"), (self._take_other, "other"))
        self._threads = [
            threading.Thread(target=self._run, args=(take,), name=f"erukg-{name}-{i}", daemon=True)
            for take, name in kinds
            for i in range(threads)
        ]
        self._cold = len(self._threads)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def ready(self) -> bool:
        """Whether all threads are warm."""
        return self._cold == 0

    @property
    def waiting(self) -> int:
        return sum(lane.waiting for lane in self._lanes)

    @property
    def running(self) -> int:
        return sum(len(lane.running) for lane in self._lanes)

    def check_room(self, size: int = 0) -> None:
        """Raise a Problem (429) when a request with a body of so many bytes, of which no more is known, could not be
        taken."""
        cost = size + _DOCUMENT_COST
        with self._lock:
            if cost <= _SHORT:
                self._check(self._short, cost, 1)
                return
            with contextlib.suppress(Problem):
                self._check(self._medium, cost, 1)
                return
            self._check(self._long, cost, 1)

    def add(self, tasks: Sequence[Task], size: int = 0) -> Batch:
        """Put all the documents of a request, at least one, into the queue; raises a Problem when they do not fit.

        `size` is that of the request's body, in bytes."""
        cost = size + _DOCUMENT_COST * len(tasks)
        batch = Batch(tasks, [b""] * len(tasks), asyncio.get_running_loop().create_future(), cost)
        with self._lock:
            lane = self._lane_for(cost, len(tasks))
            batch.due = self._check(lane, cost, len(tasks))
            if not lane.active:
                # Time that a lane did not use while it was empty is not owed to it. Short ones have their own threads.
                lane.used = max([lane.used, *(each.used for each in self._sharers if each.active)])
            lane.put(batch)
            work = self._work_for_short if lane is self._short else self._work_for_others
            work.notify(len(tasks))
        return batch

    def cancel(self, batch: Batch) -> None:
        """Take what has not started out of the queue, and end what has; nobody waits for it any more."""
        with self._lock:
            if not batch.cancelled:
                lane = self._lane_for(batch.cost, len(batch.tasks))
                lane.waiting -= batch.waiting
                batch.cancelled_at = time.monotonic()

    def close(self) -> None:
        """Let the threads finish what is in the queue, and end."""
        with self._lock:
            self._closed = True
            self._work_for_short.notify_all()
            self._work_for_others.notify_all()

    def hung(self, seconds: float) -> bool:
        """Whether all threads of a kind have worked for so long on what nobody waits for."""
        with self._lock:
            before = time.monotonic() - seconds
            short = sum(1 for batch in self._short.running_batches() if (batch.cancelled_at or math.inf) < before)
            others = (*self._medium.running_batches(), *self._long.running_batches())
            other = sum(1 for batch in others if (batch.cancelled_at or math.inf) < before)
            return max(short, other) >= self._per_kind

    # Lanes; called with the lock held.

    def _lane_for(self, cost: float, documents: int) -> Lane:
        if cost <= _SHORT:
            return self._short
        return self._medium if cost / documents <= _MEDIUM else self._long

    def _sharing(self, lane: Lane) -> int:
        """How many lanes share the threads of this one at the moment; short requests, which the others give way to,
        are one of them."""
        if lane is self._short:
            return 1
        return sum(1 for each in self._lanes if each is lane or each.active)

    def _check(self, lane: Lane, cost: float, documents: int) -> float:
        """When the request will be due; raises a Problem when there is no room for it, or no time."""
        now = time.monotonic()
        second = self._sharing(lane) * lane.seconds_per_cost  # of the work of one thread
        alone = cost * second / min(self._per_kind, documents)
        due = now + min(_STRETCH * alone, self._seconds / 2)
        wait = lane.cost_before(due, now, second) * second / self._per_kind
        again = str(min(_MAX_RETRY_SECONDS, max(1, math.ceil(wait))))
        headers = {"Retry-After": again}
        if lane.waiting + documents > self.limit:
            sentence = f"The service is busy with {lane.waiting} documents waiting; try again in {again} s."
            raise Problem(429, sentence, headers, "queue_full")
        if lane.waiting and wait + alone > _MARGIN * self._seconds:
            sentence = (
                f"The service is busy: the answer would take some {wait + alone:.0f} s and may take {self._seconds:g}; "
                f"try again in {again} s, or send less at a time."
            )
            raise Problem(429, sentence, headers, "expected_wait")
        return due

    # Threads.

    def _take_short(self) -> tuple[Lane, Batch, int] | None:
        with self._lock:
            while not self._short.waiting:
                if self._closed:
                    return None
                self._work_for_short.wait()
            return (self._short, *self._short.take())

    def _take_other(self) -> tuple[Lane, Batch, int] | None:
        with self._lock:
            while True:
                some = [lane for lane in self._sharers if lane.waiting]
                if some:
                    lane = min(some, key=lambda lane: lane.used)
                    return (lane, *lane.take())
                if self._closed:
                    return None
                self._work_for_others.wait()

    def _run(self, take: Callable[[], tuple[Lane, Batch, int] | None]) -> None:
        try:
            self._warm_up()
        except BaseException as error:
            self._on_failure(error)
            return
        with self._lock:
            if self._cold == 1:
                self._on_ready()
            self._cold -= 1
        while (taken := take()) is not None:
            self._process(*taken)

    def _process(self, lane: Lane, batch: Batch, i: int, *, nested: bool = False) -> None:
        clock = _Clock()
        resumed = time.monotonic()

        def pause() -> None:
            nonlocal resumed
            if lane is not self._short:
                self._give_way(time.monotonic() - resumed)
            if lane is self._long and not nested:
                self._between(lane, clock)
            if batch.cancelled:
                raise Abandoned
            resumed = time.monotonic()

        try:
            with pausing(pause):
                batch.results[i] = batch.tasks[i]()
        except BaseException as error:  # raised again where the request waits
            batch.results[i] = error
        with self._lock:
            lane.used += clock.lap()
            if isinstance(batch.results[i], bytes):  # errors take less time than results
                lane.learn(batch, clock.own)
            lane.end(batch, i)
            batch.finished += 1
            if not isinstance(batch.results[i], Abandoned):
                self._on_finished()
            if batch.finished == len(batch.tasks):
                _set_done(batch.done)
            if not self._short.active:
                self._no_short.notify_all()

    def _give_way(self, window: float) -> None:
        """Wait until no short request is waiting or processed, though not longer than the last window took."""
        end = time.monotonic() + window
        with self._lock:
            while self._short.active and (left := end - time.monotonic()) > 0:
                self._no_short.wait(left)

    def _between(self, lane: Lane, clock: _Clock) -> None:
        """Between two windows of a long text: process documents of medium requests until both had the same time."""
        while True:
            with self._lock:
                lane.used += clock.lap()
                if not self._medium.waiting or self._medium.used > lane.used:
                    return
                taken = self._medium.take()
            self._process(self._medium, *taken, nested=True)
            clock.skip()


class _Clock:
    """How long a document has been processed, without what was processed between its windows."""

    def __init__(self) -> None:
        self.own = 0.0
        self._since = time.perf_counter()

    def lap(self) -> float:
        """The time since the last call."""
        now = time.perf_counter()
        lap, self._since = now - self._since, now
        self.own += lap
        return lap

    def skip(self) -> None:
        """Do not count the time since the last call."""
        self._since = time.perf_counter()


def _set_done(done: asyncio.Future[None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        done.get_loop().call_soon_threadsafe(lambda: None if done.done() else done.set_result(None))
