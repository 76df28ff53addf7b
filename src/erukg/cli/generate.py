"""`erukg generate`, `erukg extract` and `erukg rank`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from erukg.cli._cluster import ClusterOptions, RayJob
from erukg.cli._options import InputOptions, ModelOptions, OutputOptions, Threads, TopK, option, options
from erukg.cli._work import Source, open_output, process
from erukg.core.results import Keyphrases, RankedPhrases
from erukg.core.settings import Settings
from erukg.io import read_phrases

__all__ = ["app"]

app = typer.Typer()

# What the collection or absent phrases alone make use of.
_ABSENT = {"alpha", "beta", "neighbours", "neighbour_candidates"} | {
    name for name in Settings().to_dict() if name.startswith("absent_")
}
# The caller vouches for the phrases given to rank, so how they would be found does not matter.
_FINDING = {
    "beta",
    "phraseness",
    "absent_phraseness",
    "neighbour_candidates",
    "frequency",
    "drop_contained",
    "max_words",
}


@app.command()
@options()
def generate(
    documents: InputOptions,
    out: OutputOptions,
    parts: ModelOptions,
    cluster: ClusterOptions,
    settings: Settings,
    top_k: TopK = 10,
    threads: Threads = None,
) -> None:
    """Keyphrases of documents: those in the text and those not in it.

    For example: erukg generate paper.pdf, or erukg generate abstracts.jsonl --output phrases.jsonl
    """
    _run("generate", documents, out, parts, cluster, settings, top_k, threads)


@app.command()
@options(without=_ABSENT | {"collection", "no_collection"})
def extract(
    documents: InputOptions,
    out: OutputOptions,
    parts: ModelOptions,
    cluster: ClusterOptions,
    settings: Settings,
    top_k: TopK = 10,
    threads: Threads = None,
) -> None:
    """Keyphrases in the text only, without a background collection (α = β = 1)."""
    parts = replace(parts, no_collection=True)
    _run("extract", documents, out, parts, cluster, settings.extraction(), top_k, threads)


def _run(
    command: str,
    documents: InputOptions,
    out: OutputOptions,
    parts: ModelOptions,
    cluster: ClusterOptions,
    settings: Settings,
    top_k: int,
    threads: int | None,
) -> None:
    if cluster.on_ray:
        RayJob(command, documents, out, parts, top_k, settings, threads).run(cluster)
        return
    source = Source(documents)
    generator = parts.load(absent=True)
    process(
        source,
        open_output(source, out, Keyphrases),
        lambda items: generator.stream(items, top_k, settings, explain=out.explain, threads=threads),
    )


@app.command()
@options(without=_FINDING | {"tagger", "device"})
def rank(
    documents: InputOptions,
    out: OutputOptions,
    parts: ModelOptions,
    settings: Settings,
    phrases: Annotated[
        Path | None,
        option(
            "--phrases",
            help="File of phrases: one per line, or .csv or .jsonl with a field 'phrase'.",
            show_default=False,
        ),
    ] = None,
    phrase: Annotated[
        list[str] | None, option("--phrase", help="A phrase; may be repeated.", show_default=False)
    ] = None,
    top_k: Annotated[int | None, option("--top-k", "-k", min=1, help="How many phrases.", show_default="all")] = None,
    threads: Threads = None,
) -> None:
    """Score your own phrases (a thesaurus, subject headings, tags) against documents, present in them or not.

    For example: erukg rank paper.txt --phrases thesaurus.txt --top-k 20
    """
    wanted = [*(phrase or ()), *(read_phrases(phrases) if phrases is not None else ())]
    if not wanted:
        raise typer.BadParameter("Give the phrases to rank with --phrases FILE or --phrase.", param_hint="--phrases")
    source = Source(documents)
    generator = parts.load()
    listed = generator.phrase_list(wanted)
    process(
        source,
        open_output(source, out, RankedPhrases),
        lambda items: generator.rank_stream(items, listed, settings, top_k=top_k, explain=out.explain, threads=threads),
    )
