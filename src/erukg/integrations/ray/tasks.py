"""Ray tasks: one per partition, with its retries, and the search for documents that crash them.

A task runs in whichever worker process is free. Ray keeps these processes for the tasks that follow, so the model is
loaded once per process, and starts new ones in place of those that died or whose node was lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import CancelledError, Semaphore
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any
from uuid import uuid4

from erukg._version import __version__
from erukg.backends import ModelFolder, find_model
from erukg.errors import ErukgError, InputError
from erukg.integrations.ray.node_cache import local_copy
from erukg.integrations.ray.partitions import Partition, read_partition
from erukg.integrations.ray.plan import CRASHED, DONE, FAILED, Outcome, mark_name
from erukg.integrations.ray.storage import Discarding, Store
from erukg.io import BadDocument, InputDocument, Limits

__all__ = ["Job", "OnBad", "Resources", "TaskRunner", "Written"]

OnBad = Callable[[BadDocument], None]
Written = tuple[int, tuple[dict[str, Any], ...]]
"""How many results there are, and a description of the files they are in."""

# Problems of one partition that are sent to the driver; its mark holds all of them.
_PROBLEMS_SENT = 20
# Tasks submitted at a time; Ray runs as many of them as there is room for.
_SUBMITTED = 10_000
# Processes that a partition may cost before its documents are suspected: nodes are lost, and run out of memory.
_LOSSES = 3
# More crashing documents than this in one partition are not the documents' fault, and the partition fails.
_MOST_CRASHING = 32
# For a partition whose rows were not counted; bisecting is quick about rows that do not exist.
_MOST_ROWS = 1 << 32
_PROCESS_ENDED = "Worker processes ended while working on it, twice, so it was left out."


@dataclass(frozen=True, slots=True)
class Resources:
    """Most workers at a time (None: as many as the cluster has room for), and the cores and GPUs of each."""

    workers: int | None = None
    cpus: int = 1
    gpus: float = 0.0

    def check(self, ray: Any) -> None:
        """Refuse a cluster with no node large enough, unless a number of workers was given: nodes may still join."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if self.workers is None and not any(
            have.get("CPU", 0) >= self.cpus and have.get("GPU", 0) >= self.gpus for have in nodes
        ):
            what = f"{self.cpus} cores" + (f" and {self.gpus:g} GPUs" if self.gpus else "")
            raise InputError(f"No node of the cluster has the {what} that a worker needs; ask for less, or add nodes.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(ABC):
    """What to do with every partition, with which model; it travels to the workers.

    `threads` documents are processed at a time; with `device` by a GPU, and `threads` processes beside it.
    """

    model: str | None = None
    device: str | None = None
    threads: int = 1
    limits: Limits = field(default_factory=Limits)

    @property
    def keeps_rows(self) -> bool:
        """Whether the rows themselves are written again, so that all their columns are read."""
        return False

    @property
    def fields(self) -> tuple[str, ...]:
        """Columns that are read beside id and text, where not all of them are."""
        return ()

    def model_folder(self) -> ModelFolder:
        return ModelFolder.open(find_model(local_copy(self.model)))

    def settings(self) -> dict[str, Any]:
        """All that decides the output, as plain data."""
        model = self.model_folder()
        return {
            "version": __version__,
            "model": model.fingerprint,
            "precision": model.precision,
            "document_bytes": self.limits.document_bytes,
            **({"fields": named} if (named := self.limits.names.given()) else {}),
        }

    @abstractmethod
    def load(self) -> Any:
        """What `process` works with; loaded once per worker process."""

    @abstractmethod
    def process(
        self, loaded: Any, partition: Partition, documents: Iterator[InputDocument], store: Store, on_bad: OnBad
    ) -> Written:
        """Write the results of a partition's documents to the store."""


@lru_cache(maxsize=1)
def _load(job: Job, run: str) -> Any:
    """Loaded again for every run of a job, since files may have changed in between."""
    return job.load()


def run_partition(
    job: Job, run: str, store: Store, partition: Partition, left_out: Mapping[int, str], rows: range = range(_MOST_ROWS)
) -> Outcome:
    """The Ray task: process `rows` of a partition, except those `left_out` for the reasons given.

    Raises when there is a reason why no worker could load the job; all else is in the outcome.
    """
    try:
        loaded = _load(job, run)
    except OSError as error:  # a disk or a network, which may recover
        return Outcome.of_error(partition, FAILED, error)
    problems: list[tuple[str, str]] = []

    def report(bad: BadDocument) -> None:
        problems.append((bad.place, bad.message))

    def documents() -> Iterator[InputDocument]:
        items = read_partition(partition, job.limits, every_column=job.keeps_rows, fields=job.fields)
        for row, item in islice(enumerate(items), rows.start, rows.stop):
            if isinstance(item, BadDocument):
                report(item)
            elif row in left_out:
                report(BadDocument(item.place, left_out[row]))
            else:
                yield item

    try:
        count, files = job.process(loaded, partition, documents(), store, report)
        outcome = Outcome(partition.number, DONE, count, len(problems), tuple(problems), files)
        store.write(mark_name(partition.number), outcome.to_json().encode())
    except (ErukgError, OSError, MemoryError) as error:  # something around the documents, which may pass
        return Outcome.of_error(partition, FAILED, error)
    except Exception as error:
        return Outcome.of_error(partition, CRASHED, error)
    return replace(outcome, problems=outcome.problems[:_PROBLEMS_SENT])


def probe_rows(job: Job, run: str, partition: Partition, rows: range) -> Outcome:
    """A Ray task that processes rows only to see whether they crash it."""
    return run_partition(job, run, Discarding(), partition, {}, rows)


class TaskRunner:
    """Runs the tasks of one job for the driver, in its event loop."""

    def __init__(self, ray: Any, job: Job, store: Store, resources: Resources) -> None:
        resources.check(ray)
        self._ray, self._store, self._job = ray, store, (job, uuid4().hex)
        self._slots = Semaphore(resources.workers or _SUBMITTED)
        # Ray would retry for ever what its memory monitor ended, so retries are ours. `max_calls` keeps processes with
        # a GPU for more than one task.
        remote = ray.remote(num_cpus=resources.cpus, num_gpus=resources.gpus or None, max_retries=0, max_calls=0)
        self._run_partition, self._probe_rows = remote(run_partition), remote(probe_rows)

    async def process(self, partition: Partition) -> Outcome:
        """The last outcome of a partition: what went wrong is tried again, without the documents that crash it."""
        left_out: dict[int, str] = {}
        arguments = *self._job, self._store, partition
        outcome = await self._run(_LOSSES, partition, self._run_partition, *arguments, left_out)
        if outcome.status == CRASHED:
            left_out = await self._find_crashing(partition)
        if outcome.status != DONE:
            outcome = await self._run(_LOSSES, partition, self._run_partition, *arguments, left_out)
        return outcome

    async def _find_crashing(self, partition: Partition) -> dict[int, str]:
        """The rows that crash a task, each by itself, and how; found by bisecting. None when all or none seem to."""
        found: dict[int, str] = {}
        # No rows at all come first: when loading the model crashes, documents are not to blame.
        suspects = [range(_MOST_ROWS if partition.rows < 0 else partition.rows), range(0)]
        while suspects:
            rows = suspects.pop()
            losses = 2 if len(rows) == 1 else 1
            outcome = await self._run(losses, partition, self._probe_rows, *self._job, partition, rows)
            if outcome.status != CRASHED:
                continue
            if not rows or len(found) == _MOST_CRASHING:
                return {}
            if len(rows) == 1:
                found[rows.start] = outcome.problems[0][1] if outcome.problems else _PROCESS_ENDED
            else:
                middle = len(rows) // 2
                suspects += [rows[middle:], rows[:middle]]
        return found

    async def _run(self, losses: int, partition: Partition, function: Any, *arguments: object) -> Outcome:
        """What a task returns; a task whose process ends is submitted again, until there are so many losses."""
        errors = self._ray.exceptions
        async with self._slots:
            for _ in range(losses):
                reference = function.remote(*arguments)
                try:
                    outcome: Outcome = await reference
                except CancelledError:
                    self._ray.cancel(reference, force=True)
                    raise
                except (errors.RayTaskError, errors.RuntimeEnvSetupError, errors.TaskUnschedulableError) as error:
                    raise ErukgError(f"A worker could not start: {getattr(error, 'cause', error)}") from error
                except errors.RayError:
                    # Should the process live on out of our sight, it writes the same as the next one.
                    continue
                return outcome
        return Outcome(partition.number, CRASHED)
