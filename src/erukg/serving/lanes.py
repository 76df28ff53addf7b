"""A lane of the queue: requests of a kind that wait, what they cost, and how long such costs take."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from erukg.serving.document_queue import Batch

__all__ = ["Lane"]

# Seconds for a unit of cost until the first documents have shown it, and how much each document changes that.
_FIRST_GUESS, _STEP = 4e-5, 0.05


class Lane:
    """Requests by when they are due. Not thread-safe: the queue's lock is held around every call."""

    def __init__(self) -> None:
        self.waiting = 0
        """Documents."""
        self.used = 0.0
        """Seconds that threads have worked for this lane, counted so that lanes can be compared."""
        self.seconds_per_cost = _FIRST_GUESS
        """Of one thread that does nothing else."""
        self.running: dict[tuple[int, int], tuple[Batch, float]] = {}
        self._heap: list[tuple[float, int, Batch]] = []
        self._number = 0

    @property
    def active(self) -> bool:
        return bool(self.waiting or self.running)

    def running_batches(self) -> Iterator[Batch]:
        """One for each document that is being processed."""
        return (batch for batch, _ in self.running.values())

    def put(self, batch: Batch) -> None:
        self._number += 1
        heapq.heappush(self._heap, (batch.due, self._number, batch))
        self.waiting += len(batch.tasks)

    def take(self) -> tuple[Batch, int]:
        """The next document; only when one is waiting."""
        while not (batch := self._heap[0][2]).waiting:
            heapq.heappop(self._heap)
        i = batch.started
        batch.started += 1
        self.waiting -= 1
        self.running[id(batch), i] = batch, time.monotonic()
        return batch, i

    def learn(self, batch: Batch, seconds: float) -> None:
        """One of the documents took so long."""
        self.seconds_per_cost += _STEP * (seconds / batch.cost_each - self.seconds_per_cost)

    def end(self, batch: Batch, i: int) -> None:
        """The work on a document has ended."""
        del self.running[id(batch), i]

    def cost_before(self, due: float, now: float, seconds_per_cost: float) -> float:
        """What is to be done before a request that is due then: what is due earlier, and the rest of what is running,
        where a unit of cost takes so long."""
        waiting = sum(batch.waiting * batch.cost_each for when, _, batch in self._heap if when <= due)
        begun = ((batch.cost_each, now - begin) for batch, begin in self.running.values())
        return waiting + sum(max(0.0, cost - elapsed / seconds_per_cost) for cost, elapsed in begun)
