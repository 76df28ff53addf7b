"""`erukg benchmark`: how fast, as ratios between systems in one run."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from erukg.cli._common import say
from erukg.cli._research import CollectionFolder, Model, Output, console, task_progress, write_report

__all__ = ["app"]

app = typer.Typer(
    name="benchmark",
    help="Measure speed and memory, and compare with other systems.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


# Options of `run`, apart from it so that the command can be read at a glance.
Documents: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DOCUMENTS", help="Files or folders to measure with. [default: built-in texts]", show_default=False
    ),
]
Full: TypeAlias = Annotated[
    bool, typer.Option("--full/--quick", help="Minutes for steadier figures and texts of up to 50,000 words.")
]
Parts: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Only these, with commas: throughput, stages, cold, memory, length, cores, against. [default: all]",
        show_default=False,
    ),
]
Against: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Competitors, with commas: paper, yake, keybert:FOLDER, embedrank:FOLDER, multipartiterank, or any "
        "other baseline of `erukg evaluate`; also variants of this package, as erukg-extract:model=small."
    ),
]
Weights: TypeAlias = Annotated[
    Path | None, typer.Option(help="For 'paper': folder with the same weights for torch (SparseEncoder layout).")
]
TaggerName: TypeAlias = Annotated[str, typer.Option(help="For competitors that tag words: spacy, spacy:NAME or nltk.")]
PaperLucene: TypeAlias = Annotated[
    str | None, typer.Option(metavar="JAR", help="For 'paper': search with this Lucene (4.10 or 9), not bm25s.")
]
Streamed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=1, help="Documents of the stream whose memory is measured. [default: 200; full: 5,000]", show_default=False
    ),
]
DeviceName: TypeAlias = Annotated[
    str, typer.Option(help="With cuda: streams and single documents on the GPU instead, and how near the CPU's.")
]


@app.command()
def run(
    documents: Documents = None,
    full: Full = False,
    parts: Parts = None,
    against: Against = None,
    weights: Weights = None,
    tagger: TaggerName = "spacy",
    lucene: PaperLucene = None,
    cores: Annotated[int, typer.Option(min=1, help="Cores for the comparison with competitors.")] = 1,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Only the first LIMIT documents of each file or folder. [default: 40; full: 300]",
            show_default=False,
        ),
    ] = None,
    streamed: Streamed = None,
    model: Model = None,
    collection: CollectionFolder = None,
    no_collection: Annotated[bool, typer.Option("--no-collection", help="Extraction only.")] = False,
    device: DeviceName = "cpu",
    output: Output = None,
) -> None:
    """Documents per second, latency, time by stage, cold start, memory, growth with length, and competitors.

    Extraction, and generation with 10, 50, 100 and 400 neighbours. Competitors take turns on the same documents and
    cores, so that their ratios hold on a busy machine too; they are shown by file or folder as well. Prints tables to
    standard output and progress to standard error.
    """
    from erukg.research.benchmark import Plan, run_benchmark
    from erukg.research.benchmark.competitors import competitor_names
    from erukg.research.benchmark.plan import split_names
    from erukg.research.benchmark.tables import print_report

    if no_collection and collection is not None:
        raise typer.BadParameter("Give a collection or --no-collection, not both.", param_hint="--no-collection")
    generator = {"model": model, "collection": collection, "no_collection": no_collection}
    if device != "cpu":
        _measure_gpu(documents, full, limit, output, device=device, **generator)
        return
    plan = (Plan.full() if full else Plan.quick()).with_changes(
        **generator,
        documents=limit,
        streamed=streamed,
        against=competitor_names(against),
        cores=cores,
        lucene=lucene,
        paths=tuple(documents or ()),
        weights=weights,
        tagger=tagger,
    )
    if parts is not None:
        plan = plan.with_parts(split_names(parts))
    texts = _texts(documents, plan.documents)
    with task_progress() as progress:
        report = run_benchmark(plan, texts, progress)
    print_report(console(), report)
    write_report(report, output)


def _measure_gpu(paths: list[str] | None, full: bool, limit: int | None, output: Path | None, **options: Any) -> None:
    from erukg.research.benchmark.gpu import GpuPlan, measure_gpu
    from erukg.research.benchmark.tables import print_gpu

    plan = GpuPlan(**options) if full else GpuPlan(**options, streamed=10_000, compared=100)
    with task_progress() as progress:
        texts = _texts(paths, limit or 5000)
        report = measure_gpu(plan, None if texts is None else [t for part in texts.values() for t in part], progress)
    print_gpu(console(), report)
    write_report(report, output)


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
            help="Also a Lucene of version 4.10 or 9: its lucene-core jar. Needs javac. May be repeated.",
            show_default=False,
        ),
    ] = None,
    neighbours: Annotated[int, typer.Option("--neighbours", "-n", min=1, help="Documents found for each.")] = 100,
    folder: Annotated[
        Path | None, typer.Option(help="Where the collection is built for the while. [default: the system's]")
    ] = None,
    output: Output = None,
) -> None:
    """BM25 search against other engines over the same documents, one thread each, as the collection grows.

    Shows the time per query, how it grows with D, and how well the results agree. Engines take turns every 50 queries.
    """
    from erukg.research.benchmark.search_timing import run_search
    from erukg.research.benchmark.tables import print_search

    try:
        wanted = [int(size) for size in sizes.split(",") if size.strip()]
    except ValueError:
        wanted = []
    if not wanted or min(wanted) < 1:
        raise typer.BadParameter("Give whole numbers with commas, for instance 10000,20000.", param_hint="--sizes")
    with task_progress() as progress:
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
    print_search(console(), report)
    write_report(report, output)


def _texts(paths: list[str] | None, limit: int) -> dict[str, list[str]] | None:
    """The first texts of each file or folder, by its name without endings."""
    from erukg.research.benchmark.texts import read_texts

    if not paths:
        return None
    out: dict[str, list[str]] = {}
    for path in paths:
        name = Path(path).name.partition(".")[0] or path
        out[name if name not in out else path] = list(islice(read_texts([path], say), limit))
    return out
