"""`erukg expand`: keyphrases into the documents or queries of any search engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from erukg.cli._cluster import Cluster, Engine, EngineOption, Gpus, Job, PartitionDocuments, Workers, run_on_ray
from erukg.cli._options import (
    CollectionFolder,
    Device,
    Format,
    InputForm,
    MaxMb,
    Model,
    NoCollection,
    Resume,
    TaggerName,
    TaggerOption,
    Threads,
    TopK,
    settings_options,
)
from erukg.cli._output import Output as OutputFile
from erukg.cli._render import ExpandedRow, Result
from erukg.cli._work import Source, process
from erukg.cli.generate import choose_collection, load_generator
from erukg.core.expansion import check_row, expand_row
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.io import InputDocument, Limits

__all__ = ["app"]

app = typer.Typer()

_LIMITS = Limits()


class _Rows(Source):
    """Lines to expand; those that cannot be are reported before any work is done on them."""

    def __iter__(self) -> Iterator[InputDocument]:
        for document in super().__iter__():
            try:
                check_row(document.fields or {})
            except InputError as error:
                self.good -= 1
                self.report(document.place, str(error))
            else:
                yield document


@app.command()
@settings_options()
def expand(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATHS",
            help="JSON Lines files such as BEIR's corpus.jsonl and queries.jsonl (also .gz and .xz), or - for "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Write here, packed when the name ends in .gz or .xz; the file appears when it is complete. For "
            "--engine ray a folder or URI.",
            show_default="the terminal",
        ),
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Also add the phrases to the text, on a line of their own.")
    ] = False,
    top_k: TopK = 10,
    resume: Resume = False,
    threads: Threads = None,
    model: Model = None,
    collection: CollectionFolder = None,
    no_collection: NoCollection = False,
    tagger: TaggerOption = TaggerName.model,
    device: Device = "cpu",
    max_mb: MaxMb = _LIMITS.document_bytes / 1e6,
    engine: EngineOption = Engine.local,
    workers: Workers = None,
    gpus: Gpus = 0.0,
    partition: PartitionDocuments = 10_000,
    *,
    settings: Settings,
) -> None:
    """Add keyphrases to documents or queries: every line again, with the fields 'present' and 'absent'.

    Lines need an '_id' (or 'id') and a 'text' (or 'title', 'abstract'); all their fields are kept. For example:
    erukg expand corpus.jsonl --output expanded.jsonl.gz
    """
    if engine is Engine.ray:
        chosen = choose_collection(collection, no_collection)
        job = Job("expand", paths, output, model, chosen, tagger, top_k, settings, max_mb, append=append)
        run_on_ray(job, Cluster(workers, gpus, partition, threads, device))
        return
    path = None if output is None or output == "-" else Path(output)
    if resume and path is None:
        raise typer.BadParameter("It goes with --output FILE.", param_hint="--resume")
    source = _Rows(paths, InputForm.jsonl, max_mb, _LIMITS.pdf_seconds)
    for name in source.paths:
        if Path(name).is_dir():
            raise InputError(f"{name} is a folder; name the JSON Lines file in it that is to be expanded.")
    source.refuse(path)
    generator = load_generator(model, collection, no_collection, tagger, device)

    def work(documents: Iterable[InputDocument]) -> Iterator[Result]:
        waiting: deque[InputDocument] = deque()

        def pairs() -> Iterator[tuple[str, str]]:
            for document in documents:
                waiting.append(document)
                yield document.id, document.text

        for found in generator.generate_batch(pairs(), top_k, settings, threads=threads):
            document = waiting.popleft()
            present, absent = ([k.phrase for k in kind if k.score > 0] for kind in (found.present, found.absent))
            yield ExpandedRow(document.id, expand_row(document.fields or {}, present, absent, append=append))

    process(source, OutputFile(Format.json, path, resume=resume), work)
