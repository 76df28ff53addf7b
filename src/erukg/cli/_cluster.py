"""The options of `--engine ray`, and what the commands that have it do with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, printable, say
from erukg.cli._options import Format, InputOptions, ModelOptions, OutputOptions, Threads, TopK, given, option
from erukg.core.settings import Settings
from erukg.errors import require
from erukg.io import BadDocument
from erukg.io.progress import progress

if TYPE_CHECKING:
    from erukg.integrations.ray.driver import Summary
    from erukg.integrations.ray.tasks import Resources

__all__ = ["Cluster", "ClusterOptions", "Engine", "Job", "PartitionDocuments", "partitions_bar", "run_on_ray"]

_PANEL = "Cluster"


class Engine(StrEnum):
    local = "local"
    ray = "ray"


PartitionDocuments: TypeAlias = Annotated[
    int,
    option(
        "--partition",
        min=1,
        max=10_000_000,
        help="Ray: documents that are worked on, written and marked as done together.",
        panel=_PANEL,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """Where the work is done."""

    engine: Engine = given(  # noqa: RUF009 (it is a field)
        Engine.local, "This process, or Ray: on the cluster of RAY_ADDRESS, else on this machine.", panel=_PANEL
    )
    workers: int | None = given(
        None,
        "Ray: how many workers, each with --threads cores.",
        min=1,
        show_default="all there is room for",
        panel=_PANEL,
    )
    gpus: float = given(0.0, "Ray: GPUs per worker; 0.5 lets two share one.", min=0, max=1, panel=_PANEL)
    partition: PartitionDocuments = 10_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """The options of the cluster, checked."""

    workers: int | None
    gpus: float
    partition: int
    threads: int | None
    device: str

    def __post_init__(self) -> None:
        require("ray", "ray", "--engine ray")
        if self.device not in ("cpu", "auto", "cuda"):
            raise typer.BadParameter("Ray chooses the GPU; say cuda, or --gpus.", param_hint="--device")

    @property
    def pool(self) -> Resources:
        from erukg.integrations.ray.tasks import Resources

        return Resources(self.workers, self.threads or 1, self.gpus or float(self.device == "cuda"))

    @property
    def worker_device(self) -> str | None:
        return "cuda" if self.pool.gpus else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the commands that find keyphrases in documents are asked to do."""

    documents: InputOptions
    out: OutputOptions
    parts: ModelOptions
    cluster: ClusterOptions
    settings: Settings
    top_k: TopK = 10
    threads: Threads = None

    @property
    def on_ray(self) -> bool:
        return self.cluster.engine is Engine.ray


def run_on_ray(job: Job, command: str, **choices: Any) -> None:
    """Run the job on Ray as this command does it, with these `choices` of its own; leaves with the right exit code."""
    given, out, parts = job.cluster, job.out, job.parts
    cluster = Cluster(given.workers, given.gpus, given.partition, job.threads, parts.device)
    collection = parts.chosen_collection
    if out.output is None or out.output == "-":
        raise typer.BadParameter("--engine ray writes a folder of files; name it.", param_hint="--output")
    if out.format not in (None, Format.json, Format.parquet):
        raise typer.BadParameter("--engine ray writes json or parquet.", param_hint="--format")
    if job.documents.text:
        raise typer.BadParameter("--engine ray reads files that every node can reach.", param_hint="--text")
    from erukg.integrations.ray.driver import run_job
    from erukg.integrations.ray.keyphrase_job import KeyphraseJob
    from erukg.integrations.ray.node_cache import on_any_node
    from erukg.integrations.ray.storage import Store

    task = KeyphraseJob(
        command=command,
        model=on_any_node(parts.model),
        collection=on_any_node(collection) if isinstance(collection, str) else collection,
        tagger=parts.tagger.value,
        device=cluster.worker_device,
        threads=cluster.pool.cpus,
        language=parts.chosen_language,
        top_k=job.top_k,
        explain=out.explain,
        form="parquet" if out.format is Format.parquet else "jsonl",
        choices=job.settings,
        limits=job.documents.limits,
        **choices,
    )
    with partitions_bar() as (on_bad, on_progress):
        summary = run_job(
            task,
            job.documents.paths or [],
            Store(out.output),
            cluster.pool,
            form=job.documents.input_format,
            partition_documents=cluster.partition,
            on_bad=on_bad,
            on_progress=on_progress,
        )
    _finish(summary, out.output)


@contextmanager
def partitions_bar() -> Iterator[tuple[Callable[[BadDocument], None], Callable[[int, int], None]]]:
    """A way to report bad documents, and one to show how many partitions are done."""
    with progress("partitions") as bar:

        def report(bad: BadDocument) -> None:
            line = f"{bad.place}: {bad.message}"
            say(line) if bar.console is None else bar.say(printable(line))

        yield report, bar.update


def _finish(summary: Summary, output: str) -> None:
    if summary.resumed:
        say(f"{summary.resumed} of {summary.partitions} partitions were done by an earlier run.")
    say(f"{summary.documents} documents in {summary.partitions} partitions are in {output}.")
    if summary.failed:
        say(f"{summary.failed} of {summary.partitions} partitions failed; the same command tries them again.")
    if summary.bad:
        say(f"{summary.bad} of {summary.bad + summary.documents} documents skipped.")
    if not summary.documents:
        raise typer.Exit(NOTHING_DONE)
    if summary.bad or summary.failed:
        raise typer.Exit(SOME_SKIPPED)
