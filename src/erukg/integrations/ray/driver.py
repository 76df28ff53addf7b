"""The driver: cuts the input into partitions, has them processed, and counts what came of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from erukg.errors import InputError, require
from erukg.integrations.ray.partitions import Partition, list_inputs, scan
from erukg.integrations.ray.plan import DONE, Outcome, Plan, read_marks
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Job, OnBad, Resources, TaskRunner
from erukg.io import BadDocument
from erukg.io.sources import SourceFile

__all__ = ["PARTITION_DOCUMENTS", "Summary", "run_job"]

PARTITION_DOCUMENTS = 10_000


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
        if outcome.status != DONE:
            self.failed += 1
            return
        self.documents += outcome.documents
        self.bad += outcome.bad
        self.outcomes[outcome.number] = outcome


def connect() -> Any:
    """The module `ray`, connected to the cluster of RAY_ADDRESS or `ray start`, else to a new one on this machine."""
    ray = require("ray", "ray", "Working on a cluster")
    if not ray.is_initialized():
        # Nobody who runs a command here was asked whether usage may be reported.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init()
    return ray


def run_job(
    job: Job,
    sources: Sequence[str],
    store: Store,
    resources: Resources,
    *,
    form: str | None = None,
    partition_documents: int = PARTITION_DOCUMENTS,
    on_bad: OnBad | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    strict: bool = False,
) -> Summary:
    """Run a job over all documents of the sources, into `store`; finished partitions are not touched again.

    Documents that cannot be used, and partitions given up, are told to `on_bad`; `on_progress` gets the number of
    partitions that are dealt with, and that of all. With `strict` a source that is not there stops the job before it
    begins.
    """
    report = on_bad or (lambda bad: None)
    found = list_inputs(sources, form)
    missing = [item for item in found if isinstance(item, BadDocument)]
    if strict and missing:
        raise InputError(f"{missing[0].place}: {missing[0].message}")
    settings = job.settings()
    inputs = [item for item in found if isinstance(item, SourceFile)]
    files = tuple(replace(item.file, named=False) for item in inputs)  # the same file, however it was found
    if inside := [file.name for file in files if file.uri.startswith(f"{store.root}/")]:
        raise InputError(f"The output folder {store.root} holds the input {inside[0]}; name another one.")
    plan = Plan.load(store)
    if plan is not None:
        plan.check(settings, files, store)
    ray = connect()
    if plan is None:
        plan = Plan(settings, files, tuple(_scan_all(ray, inputs, partition_documents, job)))
        plan.save(store)
    done = read_marks(store)
    summary = Summary(len(plan.partitions), bad=len(missing), resumed=len(done))
    for item in missing:
        report(item)
    for earlier in done.values():
        summary.add(earlier)
        summary.resumed_rows += earlier.documents + earlier.bad

    async def process(runner: TaskRunner, partition: Partition) -> None:
        outcome = await runner.process(partition)
        summary.add(outcome)
        for place, message in outcome.messages(partition):
            report(BadDocument(place, message))
        if on_progress is not None:
            on_progress(len(summary.outcomes) + summary.failed, summary.partitions)

    async def process_all(todo: Sequence[Partition]) -> None:
        runner = TaskRunner(ray, job, store, resources)
        await asyncio.gather(*(process(runner, partition) for partition in todo))

    if todo := [partition for partition in plan.partitions if partition.number not in done]:
        asyncio.run(process_all(todo))
    store.tidy()
    return summary


def _scan_all(ray: Any, inputs: Sequence[SourceFile], documents: int, job: Job) -> Iterator[Partition]:
    """The partitions of all files; Ray looks through as many files at once as there are cores."""
    remote = ray.remote(num_cpus=1, max_retries=3)(scan)
    try:
        names = job.limits.names
        begun = [remote.remote(source, documents, expand=job.keeps_rows, names=names) for source in inputs]
        scanned: list[list[Partition]] = ray.get(begun)
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", error)
        raise InputError(f"A file could not be read to plan the work: {cause}; try again.") from error
    for number, partition in enumerate(partition for found in scanned for partition in found):
        yield replace(partition, number=number)
