"""`erukg expand`: keyphrases into the documents or queries of any search engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from erukg.cli._cluster import Job, run_on_ray
from erukg.cli._options import InputOptions, option, options
from erukg.cli._work import Source, asked, keep_part, output_path, process, written_as
from erukg.core.expansion import check_row, expand_row
from erukg.core.results import Keyphrases
from erukg.errors import InputError
from erukg.io import InputDocument
from erukg.io.outputs import Output
from erukg.io.writers import JsonWriter

__all__ = ["app"]

app = typer.Typer()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows(InputOptions):
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATHS",
            help="JSON Lines files such as BEIR's corpus.jsonl and queries.jsonl (also .gz and .xz), or - for "
            "standard input.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job(Job):
    documents: _Rows


@app.command()
@options(without={"format", "explain", "input_format", "max_pdf_seconds", "abstain", "min_confidence"})
def expand(
    job: _Job,
    append: Annotated[
        bool, option("--append", help="Also add the phrases to the text, on a line of their own.")
    ] = False,
) -> None:
    """Add keyphrases to documents or queries: every line again, with the fields 'present' and 'absent'.

    Lines need an '_id' (or 'id') and a 'text' (or 'title', 'abstract'); all their fields are kept. For example:
    erukg expand corpus.jsonl --output expanded.jsonl.gz
    """
    job = replace(job, settings=job.settings.for_search())
    if job.on_ray:
        run_on_ray(job, "expand", append=append)
        return
    path = output_path(job.out.output)
    if job.out.resume and path is None:
        raise typer.BadParameter("It goes with --output FILE.", param_hint="--resume")
    if path is not None:
        written_as(path)
    lines = replace(job.documents, input_format="jsonl")
    source = Source(lines, lambda document: check_row(document.fields or {}))
    for name in source.paths:
        if Path(name).is_dir():
            raise InputError(f"{name} is a folder; name the JSON Lines file in it that is to be expanded.")
    source.refuse(path)
    generator = job.parts.load()

    def row(document: InputDocument, found: Keyphrases) -> dict[str, Any]:
        present, absent = ([k.phrase for k in kind if k.score > 0] for kind in (found.present, found.absent))
        return expand_row(document.fields or {}, present, absent, append=append)

    process(
        source,
        Output(
            path,
            JsonWriter,
            resume=job.out.resume,
            keep=keep_part,
            asked=asked("expand", job, generator, append=append),
        ),
        lambda items: generator.stream(items, job.top_k, job.settings, threads=job.threads),
        row,
    )
