"""The driver: cuts the input into partitions, has the workers go through them, and counts what came of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from erukg.errors import InputError, require
from erukg.integrations.ray.crew import Crew, Pool
from erukg.integrations.ray.inputs import InputFile, list_inputs
from erukg.integrations.ray.partitions import Partition, scan
from erukg.integrations.ray.plan import DONE, Outcome, Plan, read_marks
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Task
from erukg.integrations.ray.worker import Assignment
from erukg.io import BadDocument

__all__ = ["PARTITION_DOCUMENTS", "Pool", "Summary", "connect", "run_job"]

PARTITION_DOCUMENTS = 10_000
_PURPOSE = "Working on a cluster"


@dataclass(slots=True)
class Summary:
    """What came of a job.

    documents  results there are now, of this and earlier runs
    bad        documents (or whole files) that could not be used
    failed     partitions that were given up; the same command tries them again
    resumed    partitions that an earlier run had finished
    """

    partitions: int = 0
    documents: int = 0
    bad: int = 0
    failed: int = 0
    resumed: int = 0
    resumed_rows: int = 0
    outcomes: dict[int, Outcome] = field(default_factory=dict, repr=False)

    def add(self, outcome: Outcome) -> None:
        self.documents += outcome.documents
        self.bad += outcome.bad
        self.outcomes[outcome.number] = outcome


def connect() -> Any:
    """The module `ray`, connected to the cluster that RAY_ADDRESS or `ray start` tells, else to one on this machine."""
    ray = require("ray", "ray", _PURPOSE)
    if not ray.is_initialized():
        # Whoever runs a command here has not been asked whether it may report home.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init()
    return ray


def run_job(
    task: Task,
    sources: Sequence[str],
    store: Store,
    pool: Pool,
    *,
    form: str | None = None,
    partition_documents: int = PARTITION_DOCUMENTS,
    on_bad: Callable[[BadDocument], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    strict: bool = False,
) -> Summary:
    """Run a task over all documents of the sources, into `store`; finished partitions are not touched again.

    Documents that cannot be used, and partitions given up, are told to `on_bad`; `on_progress` gets the number of
    partitions that are dealt with, and that of all. With `strict` a source that is not there stops the job before it
    begins.
    """
    report = on_bad or (lambda bad: None)
    found = list_inputs(sources, form)
    if strict and (missing := [item for item in found if isinstance(item, BadDocument)]):
        raise InputError(f"{missing[0].place}: {missing[0].message}")
    settings = task.settings()
    files = [item for item in found if isinstance(item, InputFile)]
    if inside := [file.name for file in files if file.uri.startswith(f"{store.root}/")]:
        raise InputError(f"The output folder {store.root} holds the input {inside[0]}; name another one.")
    plan = Plan.load(store)
    if plan is not None:
        plan.check(settings, files, store)
    ray = connect()
    if plan is None:
        plan = Plan(settings, tuple(files), tuple(_scan_all(ray, files, partition_documents, task.expands)))
        plan.save(store)
    summary = Summary(len(plan.partitions))
    for item in found:
        if isinstance(item, BadDocument):
            summary.bad += 1
            report(item)
    done = read_marks(store)
    for earlier in done.values():
        summary.add(earlier)
    summary.resumed = len(done)
    summary.resumed_rows = sum(outcome.documents + outcome.bad for outcome in done.values())
    todo = [Assignment(partition) for partition in plan.partitions if partition.number not in done]
    if todo:
        with contextlib.closing(Crew(ray, task, store, pool, len(todo))) as crew:
            for assignment, outcome in crew.work_off(todo):
                _take(assignment, outcome, summary, report)
                if on_progress is not None:
                    on_progress(len(summary.outcomes) + summary.failed, summary.partitions)
    store.tidy()
    store.remove_folder("_erukg/at")
    return summary


def _scan_all(ray: Any, files: Sequence[InputFile], documents: int, expand: bool) -> Iterator[Partition]:
    """The partitions of all files; as many files are looked through at once as there are cores."""
    remote = ray.remote(num_cpus=1, max_retries=3)(scan)
    most = max(1, int(ray.cluster_resources().get("CPU", 1))) * 2
    rest = iter(files)
    waiting = [remote.remote(file, documents, expand=expand) for file in islice(rest, most)]
    number = 0
    while waiting:
        try:
            found: list[Partition] = ray.get(waiting.pop(0))
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", error)
            raise InputError(f"A file could not be read to plan the work: {cause}; try again.") from error
        for partition in found:
            yield replace(partition, number=number)
            number += 1
        waiting.extend(remote.remote(file, documents, expand=expand) for file in islice(rest, 1))


def _take(
    assignment: Assignment, outcome: Outcome | None, summary: Summary, report: Callable[[BadDocument], None]
) -> None:
    """Count what came of a partition, None when its workers ended again and again."""
    if outcome is None or outcome.status != DONE:
        summary.failed += 1
        why = outcome.problems[0][1] if outcome is not None else "Its worker processes ended again and again."
        report(BadDocument(assignment.partition.place, f"{why} The same command tries it again."))
        return
    summary.add(outcome)
    for place, message in outcome.problems:
        report(BadDocument(place, message))
    if outcome.bad > len(outcome.problems):
        more = outcome.bad - len(outcome.problems)
        report(BadDocument(assignment.partition.place, f"{more} more documents could not be used."))
