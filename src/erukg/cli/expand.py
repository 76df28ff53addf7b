"""`erukg expand`: keyphrases into the documents or queries of any search engine."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from erukg.cli._cluster import Job, run_on_ray
from erukg.cli._common import SOME_SKIPPED, choose_device, say
from erukg.cli._expansion import ExpandFormat, Phrases, Target
from erukg.cli._options import InputOptions, option, options
from erukg.cli._own import build_own
from erukg.cli._work import Source, asked, output_path, process
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.io import find_form
from erukg.io.parquet import open_parquet

__all__ = ["app"]

app = typer.Typer()

_APPENDED = {
    False: "Phrases added to the text change its word statistics and lower precision; index them as a field of their "
    "own instead, as --format does for search engines.",
    True: "Phrases added to the text of a query count as much as its own words and lower precision; search for them "
    "with their weights instead, as --format does for search engines.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows(InputOptions):
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATHS",
            help="JSON Lines files such as BEIR's corpus.jsonl and queries.jsonl, or .csv, .tsv and .parquet (also "
            ".gz and .xz), or - for JSON Lines on standard input.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job(Job):
    documents: _Rows


def _base(style: Settings, values: Mapping[str, Any]) -> Settings:
    # Whoever names a collection to expand with searches its documents.
    return style.for_own_corpus() if values["own"] or values["collection"] is not None else style.for_search()


@app.command()
@options(
    without={"format", "explain", "input_format", "max_pdf_seconds", "min_confidence", "text", "top_k"}, base=_base
)
def expand(
    phrases: Phrases,
    target: Target,
    job: _Job,
    own: Annotated[
        bool,
        option(
            "--own",
            help="Take absent phrases from the documents themselves: a collection of them is built first, in "
            "OUTPUT.collection or --collection, and each is expanded with those of the others.",
        ),
    ] = False,
) -> None:
    """Add keyphrases to documents or queries: every row again, with the fields 'present' and 'absent'.

    Rows need an '_id' (or 'id') and a 'text' (or 'title', 'abstract'); all their fields are kept. For example:
    erukg expand corpus.jsonl --own --output expanded.jsonl
    """
    folder = _own_folder(job, phrases) if own else None
    if job.on_ray:
        _expand_on_ray(job, phrases, target)
        return
    if target.append:
        say(_APPENDED[phrases.queries])
    rows_in = replace(job.documents, input_format=_form_of(job.documents.paths or ["-"]))
    source = Source(rows_in)
    for name in source.paths:
        if Path(name).is_dir():
            raise InputError(f"{name} is a folder; name the JSON Lines file in it that is to be expanded.")
    source.fields = _columns_of(source.paths)
    rows = target.open(source, output_path(job.out.output), phrases, job.out.resume)
    source.check = rows.check
    rows.write_schema()
    parts, settings = job.parts, job.settings
    if folder is not None:
        if "-" in source.paths:
            raise typer.BadParameter("It reads the documents twice, so name a file.", param_hint="--own")
        parts = replace(parts, collection=str(folder), device=choose_device(parts.device) or "cpu")
        build_own(folder, source.paths, rows_in.input_format, parts, settings, job.threads, rows_in.limits)
    generator = parts.load()

    def work(items: Any) -> Any:
        if phrases.queries:
            return generator.expand_queries(items, phrases.options, settings, threads=job.threads)
        return generator.stream(items, max(phrases.most), settings, threads=job.threads)

    try:
        process(source, rows.open(asked("expand", job, generator)), work, rows.row_of())
    except typer.Exit as end:
        if end.exit_code == SOME_SKIPPED:
            _tell_own(folder, parts.model)
        raise
    _tell_own(folder, parts.model)


def _form_of(paths: Sequence[str]) -> str | None:
    """None where every file is a table, which its ending tells; others are JSON Lines, whatever they are called."""
    forms = [None if path == "-" else find_form(path) for path in paths]
    tables = [form is not None and form.name in ("jsonl", "csv", "parquet") for form in forms]
    return None if all(tables) else "jsonl"


def _columns_of(paths: Sequence[str]) -> tuple[str, ...]:
    """Every column of the Parquet files among these; other forms are read whole anyway."""
    names: dict[str, None] = {}
    for path in paths:
        form = None if path == "-" else find_form(path)
        if form is not None and form.name == "parquet" and Path(path).is_file():
            with open_parquet(path) as file:
                names |= dict.fromkeys(file.schema_arrow.names)
    return tuple(names)


def _own_folder(job: _Job, phrases: Phrases) -> Path:
    """Where the collection of the documents themselves goes."""
    if phrases.queries:
        raise typer.BadParameter(
            "It is for documents; expand queries with the collection that it made: --collection FOLDER.",
            param_hint="--own",
        )
    if job.on_ray:
        raise typer.BadParameter(
            "It works in this process; with --engine ray, run 'erukg collection build' first and give its folder with "
            "--collection.",
            param_hint="--own",
        )
    if job.parts.no_collection:
        raise typer.BadParameter("It makes a collection, so --no-collection cannot be.", param_hint="--own")
    output = output_path(job.out.output)
    if job.parts.collection is not None:
        return Path(job.parts.collection)
    if output is None:
        raise typer.BadParameter(
            "Its collection lies beside the output; name that with --output, or a folder with --collection.",
            param_hint="--own",
        )
    return output.with_name(f"{output.name}.collection")


def _tell_own(folder: Path | None, model: str | None) -> None:
    if folder is not None:
        named = "" if model is None else f" --model {shlex.quote(model)}"
        say(
            f"The collection of these documents is in {folder}; expand queries with it: "
            f"erukg expand QUERIES --queries --collection {shlex.quote(str(folder))}{named}"
        )


def _expand_on_ray(job: _Job, phrases: Phrases, target: Target) -> None:
    if phrases.queries:
        raise typer.BadParameter("It expands documents; expand queries without it.", param_hint="--engine ray")
    if target.form not in (None, ExpandFormat.jsonl) or target.schema is not None or target.index is not None:
        raise typer.BadParameter(
            "--engine ray writes rows in the form they have; for another, expand without it.",
            param_hint="--format",
        )
    if target.append:
        say(_APPENDED[False])
    present, absent = phrases.most
    run_on_ray(job, "expand", append=target.append, present=present, absent=absent)
