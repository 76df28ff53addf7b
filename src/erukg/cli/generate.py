"""`erukg generate`, `erukg extract` and `erukg rank`."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from erukg.cli._cluster import Job, run_on_ray
from erukg.cli._options import ABSENT_SETTINGS, option, options
from erukg.cli._work import Source, asked, check_output, open_output, process
from erukg.core.results import Keyphrases, RankedPhrases
from erukg.core.settings import Settings
from erukg.io import read_phrases

__all__ = ["app"]

app = typer.Typer()

# Phrases given to rank have factors of their own, so how others would be found and scored does not matter.
_FINDING = set(Settings().to_dict()) - {"alpha", "neighbours", "diversity"}
_NOT_FOR_RANK = {"tagger", "device", "top_k", "engine", "workers", "gpus", "partition"}


@app.command()
@options()
def generate(job: Job) -> None:
    """Keyphrases of documents: those in the text and those not in it.

    For example: erukg generate paper.pdf, or erukg generate abstracts.jsonl --output phrases.jsonl
    """
    _run(job, "generate")


@app.command()
@options(without=ABSENT_SETTINGS | {"collection", "no_collection"})
def extract(job: Job) -> None:
    """Keyphrases in the text only, without a background collection (α = β = 1)."""
    parts = replace(job.parts, no_collection=True)
    _run(replace(job, parts=parts, settings=job.settings.extraction()), "extract")


def _run(job: Job, command: str) -> None:
    if job.on_ray:
        run_on_ray(job, command)
        return
    source = Source(job.documents)
    check_output(source, job.out)
    # From a pipe documents may come slowly, and should not wait for one another.
    generator = job.parts.load(absent=True, processes="-" not in source.paths)
    process(
        source,
        open_output(source, job.out, Keyphrases, asked(command, job, generator)),
        lambda items: generator.stream(items, job.top_k, job.settings, explain=job.out.explain, threads=job.threads),
    )


@app.command()
@options(without=_FINDING | _NOT_FOR_RANK)
def rank(
    job: Job,
    phrases: Annotated[
        Path | None,
        option(
            "--phrases",
            help="File of phrases: one per line, or .csv, .tsv, .parquet or .jsonl with 'phrase'.",
            show_default=False,
        ),
    ] = None,
    phrase: Annotated[
        list[str] | None, option("--phrase", help="A phrase; may be repeated.", show_default=False)
    ] = None,
    most: Annotated[int | None, option("--top-k", "-k", min=1, help="How many phrases.", show_default="all")] = None,
) -> None:
    """Score your own phrases (a thesaurus, subject headings, tags) against documents, present in them or not.

    For example: erukg rank paper.txt --phrases thesaurus.txt --top-k 20
    """
    wanted = [*(phrase or ()), *(read_phrases(phrases) if phrases is not None else ())]
    if not wanted:
        raise typer.BadParameter("Give the phrases to rank with --phrases FILE or --phrase.", param_hint="--phrases")
    source = Source(job.documents)
    check_output(source, job.out)
    generator = job.parts.load()
    listed = generator.phrase_list(wanted)
    digest = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()
    process(
        source,
        open_output(source, job.out, RankedPhrases, asked("rank", job, generator, top_k=most, phrases=digest)),
        lambda items: generator.rank_stream(
            items, listed, job.settings, top_k=most, explain=job.out.explain, threads=job.threads
        ),
    )
