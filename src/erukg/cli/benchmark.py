"""`erukg benchmark`: how fast, as ratios between systems in one run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from erukg.research.benchmark.timing import Progress

__all__ = ["app"]

app = typer.Typer(
    name="benchmark",
    help="Measure speed and memory, and compare with other systems.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """Measure speed and memory, and compare with other systems."""


@app.command()
def run(
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="DOCUMENTS",
            help="Files or folders to measure with. [default: built-in texts]",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Minutes for steadier figures and texts of up to 50,000 words.")
    ] = False,
    parts: Annotated[
        str | None,
        typer.Option(
            help="Only these, with commas: throughput, stages, cold, memory, length, against. [default: all]",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Competitors, with commas: paper, yake, keybert:FOLDER, embedrank:FOLDER, multipartiterank, or any "
            "other baseline of `erukg evaluate`; also variants of this package, as erukg-extract:model=tiny."
        ),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="For 'paper': folder with the same weights for torch (SparseEncoder layout).")
    ] = None,
    tagger: Annotated[str, typer.Option(help="For competitors that tag words: spacy, spacy:NAME or nltk.")] = "spacy",
    lucene: Annotated[
        str | None, typer.Option(metavar="JAR", help="For 'paper': search with this Lucene (4.10 or 9), not bm25s.")
    ] = None,
    cores: Annotated[int, typer.Option(min=1, help="Cores for the comparison with competitors.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first LIMIT documents.")] = None,
    streamed: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Documents of the stream whose memory is measured. [default: 200; full: 5,000]",
            show_default=False,
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model folder or name instead of the bundled one.")] = None,
    collection: Annotated[str | None, typer.Option(help="Collection folder instead of the bundled one.")] = None,
    no_collection: Annotated[bool, typer.Option("--no-collection", help="Extraction only.")] = False,
    device: Annotated[
        str, typer.Option(help="With cuda: streams and single documents on the GPU instead, and how near the CPU's.")
    ] = "cpu",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write everything as JSON to this file.")
    ] = None,
) -> None:
    """Documents a second, latency, time by stage, cold start, memory, growth with length, and competitors.

    Competitors take turns on the same documents and cores, so that their ratios hold on a busy machine too. Prints
    tables to standard output and progress to standard error.
    """
    import dataclasses

    from erukg.research.benchmark import Plan, run_benchmark
    from erukg.research.benchmark.competitors import split_names
    from erukg.research.benchmark.report import print_report
    from erukg.research.evaluation.report import write_json

    if no_collection and collection is not None:
        raise typer.BadParameter("Give a collection or --no-collection, not both.", param_hint="--no-collection")
    if device != "cpu":
        _measure_gpu(documents, full, limit, model, collection, no_collection, device, output)
        return
    plan = dataclasses.replace(
        Plan.full() if full else Plan.quick(),
        model=model,
        collection=collection,
        no_collection=no_collection,
        against=split_names(against),
        cores=cores,
        lucene=lucene,
        paths=tuple(documents or ()),
        weights=weights,
        tagger=tagger,
    )
    if parts is not None:
        plan = plan.with_parts([part.strip() for part in parts.split(",") if part.strip()])
    if limit is not None:
        plan = dataclasses.replace(plan, documents=limit)
    if streamed is not None:
        plan = dataclasses.replace(plan, streamed=streamed)
    texts = _texts(documents, limit or plan.documents) if documents else None
    with _progress() as progress:
        report = run_benchmark(plan, texts, progress)
    print_report(_console(), report)
    if output is not None:
        write_json(report, output)


def _measure_gpu(
    paths: list[str] | None,
    full: bool,
    limit: int | None,
    model: str | None,
    collection: str | None,
    no_collection: bool,
    device: str,
    output: Path | None,
) -> None:
    import dataclasses

    from erukg.research.benchmark.gpu import GpuPlan, measure_gpu
    from erukg.research.benchmark.report import print_gpu
    from erukg.research.evaluation.report import write_json

    plan = GpuPlan(model=model, collection=collection, no_collection=no_collection, device=device)
    if not full:
        plan = dataclasses.replace(plan, streamed=10_000, compared=100)
    with _progress() as progress:
        report = measure_gpu(plan, _texts(paths, limit or 5000) if paths else None, progress)
    print_gpu(_console(), report)
    if output is not None:
        write_json(report, output)


@app.command()
def search(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCES", help="Documents to index: files or folders of them.")
    ],
    sizes: Annotated[
        str, typer.Option(help="Sizes of D, with commas; the sources must hold as many documents.")
    ] = "140000,280000,560000",
    queries: Annotated[int, typer.Option(min=1, help="Documents of D used as queries.")] = 1000,
    against: Annotated[
        str | None,
        typer.Option(help="Engines, with commas: bm25s, tantivy. [default: those installed]", show_default=False),
    ] = None,
    lucene: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JAR[:JAR…]",
            help="Also a Lucene of version 4.10 or 9: its lucene-core jar. Needs javac. Can be given more than once.",
            show_default=False,
        ),
    ] = None,
    neighbours: Annotated[int, typer.Option("--neighbours", "-n", min=1, help="Documents found for each.")] = 100,
    folder: Annotated[
        Path | None, typer.Option(help="Where the collection is built for the while. [default: the system's]")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write everything as JSON to this file.")
    ] = None,
) -> None:
    """BM25 search against other engines over the same documents, one thread each, as the collection grows.

    Shows time a query, how it grows with D, and how well the results agree. The engines take turns every 50 queries.
    """
    from erukg.research.benchmark.report import print_search
    from erukg.research.benchmark.searching import run_search
    from erukg.research.evaluation.report import write_json

    try:
        wanted = [int(size) for size in sizes.split(",") if size.strip()]
    except ValueError:
        wanted = []
    if not wanted or min(wanted) < 1:
        raise typer.BadParameter("Give whole numbers with commas, for instance 10000,20000.", param_hint="--sizes")
    with _progress() as progress:
        progress("sizes of D", 0, len(set(wanted)))
        report = run_search(
            sources,
            wanted,
            against=against,
            lucene=lucene or (),
            queries=queries,
            neighbours=neighbours,
            folder=folder,
            step=lambda done, total: progress("sizes of D", done, total),
        )
    print_search(_console(), report)
    if output is not None:
        write_json(report, output)


def _texts(paths: list[str], limit: int) -> list[str]:
    from erukg.cli._common import say
    from erukg.io import BadDocument, read_documents

    texts: list[str] = []
    for item in read_documents(paths):
        if isinstance(item, BadDocument):
            say(f"{item.place}: {item.message}")
        elif item.text.strip():
            texts.append(item.text)
        if len(texts) == limit:
            break
    return texts


def _console() -> Console:
    from rich.console import Console

    console = Console(soft_wrap=False)
    # In a file or pipe nothing bounds the width.
    return console if console.is_terminal else Console(width=160)


@contextmanager
def _progress() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done)

        yield progress
