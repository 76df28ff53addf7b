"""The options of `--engine ray`, and what the commands that have it do with them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, printable, say
from erukg.cli._options import Format, InputForm, TaggerName
from erukg.core.settings import Settings
from erukg.errors import require
from erukg.io import BadDocument, Limits

if TYPE_CHECKING:
    from erukg.integrations.ray.driver import Summary
    from erukg.integrations.ray.tasks import Resources

__all__ = [
    "Cluster",
    "Engine",
    "EngineOption",
    "Gpus",
    "Job",
    "PartitionDocuments",
    "Workers",
    "partitions_bar",
    "run_on_ray",
]

_PANEL = "Cluster"


class Engine(StrEnum):
    local = "local"
    ray = "ray"


EngineOption: TypeAlias = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="This process, or Ray: on the cluster of RAY_ADDRESS, else on this machine.",
        rich_help_panel=_PANEL,
    ),
]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Ray: how many workers, each with --threads cores.",
        show_default="all there is room for",
        rich_help_panel=_PANEL,
    ),
]
Gpus: TypeAlias = Annotated[
    float,
    typer.Option("--gpus", min=0, max=1, help="Ray: GPUs of a worker; 0.5 lets two share one.", rich_help_panel=_PANEL),
]
PartitionDocuments: TypeAlias = Annotated[
    int,
    typer.Option(
        "--partition",
        min=1,
        max=10_000_000,
        help="Ray: documents that are worked on, written and marked as done together.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The options of the cluster, as they were given."""

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


@dataclass(frozen=True, slots=True)
class Job:
    """What `generate`, `extract` and `expand` want done."""

    command: str
    paths: list[str] | None
    output: str | None
    model: str | None
    collection: str | bool | None
    tagger: TaggerName
    top_k: int
    settings: Settings
    max_mb: float
    explain: bool = False
    append: bool = False
    format: Format | None = None
    input_format: InputForm | None = None


def run_on_ray(job: Job, cluster: Cluster) -> None:
    """Run the job and leave with the right exit code."""
    if job.output is None or job.output == "-":
        raise typer.BadParameter("--engine ray writes a folder of files; name it.", param_hint="--output")
    if job.format not in (None, Format.json, Format.parquet):
        raise typer.BadParameter("--engine ray writes json or parquet.", param_hint="--format")
    if job.explain and job.format is Format.parquet:
        raise typer.BadParameter("Explanations are written as json only.", param_hint="--explain")
    from erukg.integrations.ray.driver import run_job
    from erukg.integrations.ray.keyphrase_job import KeyphraseJob
    from erukg.integrations.ray.node_cache import on_any_node
    from erukg.integrations.ray.storage import Store

    task = KeyphraseJob(
        command=job.command,
        model=on_any_node(job.model),
        collection=on_any_node(job.collection) if isinstance(job.collection, str) else job.collection,
        tagger=job.tagger.value,
        device=cluster.worker_device,
        threads=cluster.pool.cpus,
        top_k=job.top_k,
        explain=job.explain,
        append=job.append,
        form="parquet" if job.format is Format.parquet else "jsonl",
        choices=job.settings,
        limits=Limits(document_bytes=int(job.max_mb * 1e6)),
    )
    with partitions_bar() as (on_bad, on_progress):
        summary = run_job(
            task,
            job.paths or [],
            Store(job.output),
            cluster.pool,
            form=job.input_format.value if job.input_format is not None else None,
            partition_documents=cluster.partition,
            on_bad=on_bad,
            on_progress=on_progress,
        )
    _finish(summary, job.output)


@contextmanager
def partitions_bar() -> Iterator[tuple[Callable[[BadDocument], None], Callable[[int, int], None] | None]]:
    """A way to report bad documents, and on a terminal a bar that counts partitions."""
    if not sys.stderr.isatty():
        yield (lambda bad: say(f"{bad.place}: {bad.message}")), None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), "partitions", TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def report(bad: BadDocument) -> None:
            bar.console.print(printable(f"{bad.place}: {bad.message}"), markup=False, highlight=False)

        yield report, lambda done, total: bar.update(task, completed=done, total=total)


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
