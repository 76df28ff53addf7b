"""`erukg collection`: build background collections, let them grow, check and search them."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erukg.cli._cluster import Cluster, Engine, EngineOption, Gpus, PartitionDocuments, Workers, partitions_bar
from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, choose_device, printable, say

if TYPE_CHECKING:
    from erukg.collection.build import Report
    from erukg.collection.encoded import Analyser
    from erukg.io import BadDocument, Limits

__all__ = ["app"]

app = typer.Typer(
    name="collection",
    help="Build, extend, check and search background collections.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Folder = Annotated[Path, typer.Argument(help="Folder of the collection.")]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Documents: .jsonl or .csv (also .gz and .xz) with id, title, abstract, text; .parquet; text "
        "files; folders of these.",
    ),
]
Model = Annotated[str | None, typer.Option("--model", help="Model folder.", show_default="the bundled model")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Documents encoded at once.", show_default="one a core")
]
Device = Annotated[
    str,
    typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:NUMBER, or auto for a GPU if there is one."),
]
Terms = Annotated[int, typer.Option("--terms", min=1, max=255, help="Most term weights kept of a document.")]
MaxMb = Annotated[float, typer.Option("--max-mb", min=0.001, max=2000, help="Largest document, in megabytes.")]


@app.command()
def build(
    out: Annotated[Path, typer.Argument(help="Folder to make the collection in.")],
    sources: Sources,
    model: Model = None,
    threads: Threads = None,
    device: Device = "auto",
    terms: Terms = 128,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw an unfinished build in OUT away and begin again.")
    ] = False,
    max_mb: MaxMb = 20.0,
    engine: EngineOption = Engine.local,
    workers: Workers = None,
    gpus: Gpus = 0.0,
    partition: PartitionDocuments = 16_384,
    work: Annotated[
        str | None,
        typer.Option(
            "--work",
            help="Ray: folder or URI for parts until the collection is complete; all nodes must reach it.",
            show_default="OUT.work",
            rich_help_panel="Cluster",
        ),
    ] = None,
) -> None:
    """Make a collection. Stopped or killed, the same command goes on from where it was."""
    if engine is Engine.ray:
        cluster = Cluster(workers, gpus, partition, threads, device)
        _finish(_build_on_ray(out, sources, model, terms, restart, max_mb, cluster, work), out)
        return
    from erukg.collection.build import build as run

    with _progress(sources) as (on_progress, on_bad):
        report = run(
            out,
            sources,
            _analyser(model, threads, device),
            most_terms=terms,
            restart=restart,
            limits=_limits(max_mb),
            on_bad=on_bad,
            on_progress=on_progress,
        )
    _finish(report, out)


@app.command()
def add(
    folder: Folder,
    sources: Sources,
    model: Model = None,
    threads: Threads = None,
    device: Device = "auto",
    terms: Terms = 128,
    replace: Annotated[
        bool, typer.Option("--replace", help="Documents whose id is there already take the old one's place.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Do not go on with an unfinished addition of other sources.")
    ] = False,
    max_mb: MaxMb = 20.0,
) -> None:
    """Add documents. Results are the same as if the collection had been built with them."""
    from erukg.collection.build import add as run

    with _progress(sources) as (on_progress, on_bad):
        report = run(
            folder,
            sources,
            _analyser(model, threads, device),
            replace=replace,
            most_terms=terms,
            restart=restart,
            limits=_limits(max_mb),
            on_bad=on_bad,
            on_progress=on_progress,
        )
    _finish(report, folder)


@app.command()
def remove(
    folder: Folder,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of documents.")] = None,
    file: Annotated[Path | None, typer.Option("--from", help="A file with an id a line; - for standard input.")] = None,
) -> None:
    """Remove documents. `merge` gives their space back."""
    from erukg.collection import Writer

    wanted = [*(ids or []), *(_lines(file) if file is not None else [])]
    if not wanted:
        raise typer.BadParameter("Name ids, or a file of ids with --from.")
    with Writer.open(folder) as writer:
        before = len(writer)
        missing = writer.remove(wanted)
        print(f"{before - len(writer)} documents removed, {len(writer)} left.")
    for id in missing:
        say(f"There is no document {id!r} in {folder}.")
    if missing:
        raise typer.Exit(SOME_SKIPPED if len(missing) < len(set(wanted)) else NOTHING_DONE)


@app.command()
def merge(folder: Folder) -> None:
    """Join the parts that additions left and drop removed documents: smaller and a little faster."""
    from erukg.collection import Writer
    from erukg.collection import info as look

    before = look(folder).bytes
    with Writer.open(folder) as writer:
        writer.merge()
    after = look(folder)
    print(f"{after.segments} segments, {after.bytes / 1e6:.1f} MB (before: {before / 1e6:.1f} MB).")


@app.command()
def slim(folder: Folder, out: Annotated[Path, typer.Argument(help="Folder to make the copy in.")]) -> None:
    """Copy a collection without what only growing needs: smaller, same results, read-only."""
    from erukg.collection import info as look
    from erukg.collection import slim as run

    run(folder, out)
    print(f"{look(out).bytes / 1e6:.1f} MB (the original: {look(folder).bytes / 1e6:.1f} MB).")


@app.command()
def info(folder: Folder, json_: Annotated[bool, typer.Option("--json", help="One line of JSON.")] = False) -> None:
    """Say what a collection holds."""
    from erukg.collection import info as look

    found = dataclasses.asdict(look(folder))
    if json_:
        print(json.dumps(found))
        return
    for name, value in found.items():
        shown = f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else value
        print(f"{name.replace('_', ' '):<18}{printable(str(shown))}")


@app.command()
def search(
    folder: Folder,
    text: Annotated[str, typer.Argument(help="A text, which may be a whole document; - reads standard input.")],
    n: Annotated[int, typer.Option("--top-k", "-k", min=1, help="How many documents.")] = 10,
    exclude: Annotated[str | None, typer.Option(help="Id of a document to pass over.")] = None,
) -> None:
    """Find the documents most similar to a text: an id and its BM25 score a line, as JSON."""
    from erukg.collection import Collection

    collection = Collection.open(folder)
    query = sys.stdin.read() if text == "-" else text
    hits = collection.search(query, n, exclude=exclude)
    for id, score in zip(collection.ids(hits.documents), hits.scores.tolist(), strict=True):
        print(json.dumps({"id": id, "score": round(score, 4)}, ensure_ascii=False))


@app.command()
def verify(folder: Folder) -> None:
    """Check every byte of a collection, and that its parts fit together."""
    from erukg.collection import verify as run

    faults = run(folder)
    for fault in faults:
        say(fault)
    if faults:
        raise typer.Exit(NOTHING_DONE)
    print(f"{folder} is in order.")


def _analyser(model: str | None, threads: int | None, device: str) -> Analyser:
    from erukg.backends import find_model, load_backend
    from erukg.backends.threads import cores
    from erukg.collection.analyser import ModelAnalyser
    from erukg.collection.gpu_analyser import GpuAnalyser

    encoder = load_backend(find_model(model), choose_device(device))
    if isinstance(encoder, BatchEncoder):
        return GpuAnalyser(encoder, workers=threads)
    return ModelAnalyser(encoder, threads=threads or cores())


def _build_on_ray(
    out: Path,
    sources: list[str],
    model: str | None,
    terms: int,
    restart: bool,
    max_mb: float,
    cluster: Cluster,
    work: str | None,
) -> Report:
    from erukg.integrations.ray.collection_job import CollectionJob, build_collection
    from erukg.integrations.ray.node_cache import on_any_node

    task = CollectionJob(
        model=on_any_node(model),
        device=cluster.worker_device,
        threads=cluster.pool.cpus,
        most_terms=terms,
        limits=_limits(max_mb),
    )
    with partitions_bar() as (on_bad, on_progress):
        return build_collection(
            out,
            sources,
            task,
            cluster.pool,
            work=work,
            restart=restart,
            partition_documents=cluster.partition,
            on_bad=on_bad,
            on_progress=on_progress,
        )


def _limits(max_mb: float) -> Limits:
    from erukg.io import Limits

    return Limits(document_bytes=int(max_mb * 1e6))


def _lines(file: Path) -> list[str]:
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip()]


@contextmanager
def _progress(
    sources: Sequence[str],
) -> Iterator[tuple[Callable[[int], None] | None, Callable[[BadDocument], None]]]:
    """A bar with rate and time left on a terminal, and a way to report a bad row above it."""
    if not sys.stderr.isatty():
        yield None, lambda bad: say(f"{bad.place}: {bad.message}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    from erukg.collection.records import count_rows

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.0f}/s" if task.speed is not None else "")

    columns = (BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("documents", total=count_rows(sources))

        def report(bad: BadDocument) -> None:
            bar.console.print(printable(f"{bad.place}: {bad.message}"), markup=False, highlight=False)

        yield lambda rows: bar.update(task, completed=rows), report


def _finish(report: Report, folder: Path) -> None:
    from erukg.collection import info as look

    found = look(folder)
    if report.resumed:
        say(f"Went on after {report.resumed} rows of an earlier run.")
    print(f"{found.documents} documents, {found.phrases} phrases, {found.bytes / 1e6:.1f} MB in {folder}.")
    if report.bad:
        say(f"{report.bad} of {report.rows} rows skipped.")
        raise typer.Exit(SOME_SKIPPED)
