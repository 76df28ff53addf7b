"""The workers as Ray actors: kept busy, replaced when they are lost, and suspicious of documents that end them.

Ray's own pools either try a lost worker's task again when that worker is back, which may be never after a node is lost,
or go on without it for good. Here a partition whose worker is lost goes to whichever is free next.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from erukg.errors import ErukgError, InputError
from erukg.integrations.ray.plan import BROKEN, DONE, Outcome
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Task
from erukg.integrations.ray.worker import Assignment, Worker, note_name

__all__ = ["Crew", "Pool"]

# A partition is given up, until the command is run again, when so many tries have ended its worker, or have failed:
# an error comes again sooner than a node is lost again.
_LOSSES = 6
_FAILURES = 2
# Workers that end while they start, one after the other, before the cluster is held to be unfit.
_FALSE_STARTS = 20
_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Pool:
    """The workers: how many (None for all that the cluster has room for), and the cores and GPUs of each."""

    workers: int | None = None
    cpus: int = 1
    gpus: float = 0.0

    def size(self, ray: Any, most: int) -> int:
        """How many workers to ask for now, when there is work for `most`."""
        have = ray.cluster_resources()
        room = int(have.get("CPU", 0) // self.cpus)
        if self.gpus:
            room = min(room, int(have.get("GPU", 0) / self.gpus + 1e-9))
        return min(self.workers or max(1, room), most)

    def check(self, ray: Any) -> None:
        """Say so when no node could hold a worker, unless their number was given: then nodes may be on their way."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if self.workers is None and not any(
            have.get("CPU", 0) >= self.cpus and have.get("GPU", 0) >= self.gpus for have in nodes
        ):
            what = f"{self.cpus} cores" + (f" and {self.gpus:g} GPUs" if self.gpus else "")
            raise InputError(f"No node of the cluster has the {what} that a worker needs; ask for less, or add nodes.")


class Crew:
    """The workers of one job."""

    def __init__(self, ray: Any, task: Task, store: Store, pool: Pool, most: int) -> None:
        pool.check(ray)
        self._ray, self._store, self._pool = ray, store, pool
        self._most = most
        actor = ray.remote(num_cpus=pool.cpus, num_gpus=pool.gpus or None, max_restarts=0, max_task_retries=0)
        self._class = actor(Worker)
        # Sent once, not with every worker.
        self._arguments = ray.put(task), store
        self._starting: dict[Any, Any] = {}
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, Assignment]] = {}
        self._false_starts = 0
        self._losses: Counter[int] = Counter()
        self._failures: Counter[int] = Counter()
        self._notes: dict[int, str] = {}

    def work_off(self, assignments: Sequence[Assignment]) -> Iterator[tuple[Assignment, Outcome | None]]:
        """Every partition with its last outcome: done, failed for good, or None when its workers ended every time."""
        todo = deque(assignments)
        while todo or self._busy:
            self._hire(len(todo) + len(self._busy))
            while todo and self._idle:
                worker, assignment = self._idle.pop(), todo.popleft()
                self._busy[worker.work.remote(assignment.to_json())] = worker, assignment
            # Not for ever: nodes may have come that can hold more workers.
            ready, _ = self._ray.wait([*self._starting, *self._busy], timeout=_PATIENCE)
            for reference in ready:
                if reference in self._starting:
                    self._started(reference)
                    continue
                assignment, outcome = self._finished(reference)
                if outcome is not None and outcome.status == BROKEN:
                    raise ErukgError(f"A worker could not start: {outcome.problems[0][1]}")
                if outcome is not None and outcome.status == DONE:
                    yield assignment, outcome
                elif (again := self._again(assignment, outcome)) is not None:
                    todo.append(again)
                else:
                    yield assignment, outcome

    def _hire(self, work: int) -> None:
        have = len(self._starting) + len(self._idle) + len(self._busy)
        for _ in range(self._pool.size(self._ray, min(work, self._most)) - have):
            worker = self._class.remote(*self._arguments)
            self._starting[worker.ready.remote()] = worker

    def _started(self, reference: Any) -> None:
        worker = self._starting.pop(reference)
        try:
            self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            self._false_starts += 1
            if self._false_starts >= _FALSE_STARTS:
                raise ErukgError(f"Workers cannot start on this cluster: {error}") from error
        else:
            self._false_starts = 0
            self._idle.append(worker)

    def _finished(self, reference: Any) -> tuple[Assignment, Outcome | None]:
        worker, assignment = self._busy.pop(reference)
        try:
            outcome = Outcome.from_json(self._ray.get(reference))
        except self._ray.exceptions.RayError:
            # Should it live on out of our sight, what it writes is the same as the next one's.
            self._dismiss(worker)
            return assignment, None
        self._idle.append(worker)
        return assignment, outcome

    def _again(self, assignment: Assignment, outcome: Outcome | None) -> Assignment | None:
        """The partition for another try, or None when it had enough of them.

        After an error, or the second loss of a worker, it is gone through document by document, so that the one whose
        fault it is can be named: the one at which two workers have ended.
        """
        number = assignment.partition.number
        if outcome is not None:
            self._failures[number] += 1
            return replace(assignment, careful=True) if self._failures[number] < _FAILURES else None
        self._losses[number] += 1
        if self._losses[number] >= _LOSSES:
            return None
        if assignment.careful:
            at = (self._store.read(note_name(number)) or b"").decode("utf-8")
            if at and self._notes.pop(number, "") == at:
                self._losses[number] = 1
                return replace(assignment, poisoned=(*assignment.poisoned, at))
            self._notes[number] = at
        return replace(assignment, careful=assignment.careful or self._losses[number] >= 2)

    def _dismiss(self, worker: Any) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(worker)

    def close(self) -> None:
        """End all workers."""
        for worker in [*self._starting.values(), *self._idle, *(worker for worker, _ in self._busy.values())]:
            self._dismiss(worker)
