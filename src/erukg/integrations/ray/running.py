"""The driver: cuts the input into partitions, has the workers go through them, and counts what came of it."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from erukg.errors import ErukgError, InputError, require
from erukg.integrations.ray.inputs import InputFile, list_inputs
from erukg.integrations.ray.partitions import Partition, scan
from erukg.integrations.ray.plan import BROKEN, DONE, Outcome, Plan, read_marks
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Task
from erukg.integrations.ray.worker import Assignment, Worker, note_name
from erukg.readers import BadDocument

__all__ = ["PARTITION_DOCUMENTS", "Pool", "Summary", "connect", "run_job"]

PARTITION_DOCUMENTS = 10_000
# A partition is given up, until the command is run again, when so many tries have ended its worker, or have failed:
# an error comes again sooner than a node is lost again.
_LOSSES = 6
_FAILURES = 2
_PURPOSE = "Working on a cluster"
# Workers come back, but Ray does not try by itself what they lost: it would wait for a lost node to come back. Ray
# 2.64 takes these options away, so that the extra asks for an earlier one.
_ACTORS = {"max_restarts": -1, "max_task_retries": 0}


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
        if room < 1 and self.workers is None:
            what = f"{self.cpus} cores" + (f" and {self.gpus:g} GPUs" if self.gpus else "")
            raise InputError(f"No node of the cluster has the {what} that a worker needs; ask for less, or add nodes.")
        return max(1, min(self.workers or room, most))


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
    require("ray.data", "ray", _PURPOSE)
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
    strict: bool = False,
) -> Summary:
    """Run a task over all documents of the sources, into `store`; finished partitions are not touched again.

    Documents that cannot be used, and partitions given up, are told to `on_bad`. With `strict` a source that is not
    there stops the job before it begins.
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
    for outcome in done.values():
        summary.add(outcome)
    summary.resumed = len(done)
    summary.resumed_rows = sum(outcome.documents + outcome.bad for outcome in done.values())
    todo = [Assignment(partition) for partition in plan.partitions if partition.number not in done]
    _work_off(ray, task, store, pool, todo, summary, report)
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
        except ray.exceptions.RayTaskError as error:
            cause = error.as_instanceof_cause()
            raise InputError(f"A file could not be read to plan the work: {cause.__cause__ or cause}.") from error
        for partition in found:
            yield replace(partition, number=number)
            number += 1
        waiting.extend(remote.remote(file, documents, expand=expand) for file in islice(rest, 1))


def _work_off(
    ray: Any,
    task: Task,
    store: Store,
    pool: Pool,
    todo: list[Assignment],
    summary: Summary,
    report: Callable[[BadDocument], None],
) -> None:
    """Rounds of work until every partition is done or given up.

    A round ends with all its partitions worked on or lost with their worker. The lost are tried again with the workers
    there are then; from the second loss on document by document, so that one that ends its worker is found out.
    """
    losses: Counter[int] = Counter()
    failures: Counter[int] = Counter()
    notes: dict[int, str] = {}
    while todo:
        failed: dict[int, Outcome] = {}
        for outcome in _round(ray, task, store, pool, todo):
            if outcome.status == BROKEN:
                raise ErukgError(f"A worker could not start: {outcome.problems[0][1]}")
            if outcome.status == DONE:
                summary.add(outcome)
                for place, message in outcome.problems:
                    report(BadDocument(place, message))
                if outcome.bad > len(outcome.problems):
                    more = outcome.bad - len(outcome.problems)
                    report(BadDocument(f"partition {outcome.number}", f"{more} more documents could not be used."))
            else:
                failed[outcome.number] = outcome
        again: list[Assignment] = []
        for assignment in todo:
            number = assignment.partition.number
            if number in summary.outcomes:
                continue
            (failures if number in failed else losses)[number] += 1
            if losses[number] >= _LOSSES or failures[number] >= _FAILURES:
                _give_up(assignment, failed.get(number), summary, report)
                continue
            at = (store.read(note_name(number)) or b"").decode("utf-8")
            if assignment.careful and number not in failed and at and notes.get(number) == at:
                assignment = replace(assignment, poisoned=(*assignment.poisoned, at))
                losses[number], at = 0, ""
            notes[number] = at
            again.append(replace(assignment, careful=True))
        todo = again


def _give_up(
    assignment: Assignment, last: Outcome | None, summary: Summary, report: Callable[[BadDocument], None]
) -> None:
    summary.failed += 1
    why = last.problems[0][1] if last is not None else "Its worker processes ended again and again."
    report(BadDocument(assignment.partition.place, f"{why} The same command tries it again."))


def _round(ray: Any, task: Task, store: Store, pool: Pool, todo: Sequence[Assignment]) -> Iterator[Outcome]:
    """The outcomes of all partitions but those whose worker ended."""
    size = pool.size(ray, len(todo))
    context = ray.data.DataContext.get_current()
    before = context.max_errored_blocks
    # A lost worker costs its partition one try, and must not stop the others.
    context.max_errored_blocks = -1
    try:
        rows = ray.data.from_items([{"assignment": a.to_json()} for a in todo], override_num_blocks=len(todo))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            outcomes = rows.map_batches(
                Worker,
                fn_constructor_args=(task, store),
                batch_size=None,
                compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
                num_cpus=pool.cpus,
                num_gpus=pool.gpus or None,
                **_ACTORS,
            )
        for row in outcomes.iter_rows():
            yield Outcome.from_json(row["outcome"])
    except ray.exceptions.RayError as error:
        raise ErukgError(
            f"The cluster ended the work ({type(error).__name__}); what is done is kept, and the same command goes on."
        ) from error
    finally:
        context.max_errored_blocks = before
