"""`erukg generate`, `erukg extract` and `erukg rank`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from erukg.backends.threads import ordered_map
from erukg.cli._cluster import Cluster, Engine, EngineOption, Gpus, Job, PartitionDocuments, Workers, run_on_ray
from erukg.cli._common import choose_device, say
from erukg.cli._options import (
    CollectionFolder,
    Device,
    Explain,
    Format,
    InputFormat,
    MaxMb,
    MaxPdfSeconds,
    Model,
    NoCollection,
    Output,
    OutputFormat,
    Paths,
    Resume,
    TaggerName,
    TaggerOption,
    Threads,
    TopK,
    settings_options,
)
from erukg.cli._output import Output as OutputFile
from erukg.cli._output import choose_format
from erukg.cli._render import RankedPhrases, Result
from erukg.cli._work import Source, process
from erukg.core.settings import Settings
from erukg.io import InputDocument, Limits, read_phrases

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator
    from erukg.taggers import Tagger

__all__ = ["app", "choose_collection", "load_generator"]

app = typer.Typer()

_MAX_MB = Limits().document_bytes / 1e6
_PDF_SECONDS = Limits().pdf_seconds
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
@settings_options()
def generate(
    paths: Paths = None,
    format: OutputFormat = None,
    top_k: TopK = 10,
    explain: Explain = False,
    output: Output = None,
    resume: Resume = False,
    threads: Threads = None,
    model: Model = None,
    collection: CollectionFolder = None,
    no_collection: NoCollection = False,
    tagger: TaggerOption = TaggerName.model,
    device: Device = "cpu",
    input_format: InputFormat = None,
    max_mb: MaxMb = _MAX_MB,
    max_pdf_seconds: MaxPdfSeconds = _PDF_SECONDS,
    engine: EngineOption = Engine.local,
    workers: Workers = None,
    gpus: Gpus = 0.0,
    partition: PartitionDocuments = 10_000,
    *,
    settings: Settings,
) -> None:
    """Keyphrases of documents: those in the text and those not in it.

    For example: erukg generate paper.pdf, or erukg generate abstracts.jsonl --output phrases.jsonl
    """
    if engine is Engine.ray:
        cluster = Cluster(workers, gpus, partition, threads, device)
        chosen = choose_collection(collection, no_collection)
        job = Job("generate", paths, output, model, chosen, tagger, top_k, settings, max_mb)
        run_on_ray(replace(job, explain=explain, format=format, input_format=input_format), cluster)
        return
    source = Source(paths, input_format, max_mb, max_pdf_seconds)
    generator = load_generator(model, collection, no_collection, tagger, device)
    if generator.background is None and not no_collection:
        say("There is no collection for this model, so no absent phrases are found; see: erukg collection build --help")
    sink = _open_output(source, format, output, resume, explain)

    def work(documents: Iterable[InputDocument]) -> Iterator[Result]:
        pairs = ((document.id, document.text) for document in documents)
        return generator.generate_batch(pairs, top_k, settings, explain=explain, threads=threads)

    process(source, sink, work)


@app.command()
@settings_options(without=_ABSENT)
def extract(
    paths: Paths = None,
    format: OutputFormat = None,
    top_k: TopK = 10,
    explain: Explain = False,
    output: Output = None,
    resume: Resume = False,
    threads: Threads = None,
    model: Model = None,
    tagger: TaggerOption = TaggerName.model,
    device: Device = "cpu",
    input_format: InputFormat = None,
    max_mb: MaxMb = _MAX_MB,
    max_pdf_seconds: MaxPdfSeconds = _PDF_SECONDS,
    engine: EngineOption = Engine.local,
    workers: Workers = None,
    gpus: Gpus = 0.0,
    partition: PartitionDocuments = 10_000,
    *,
    settings: Settings,
) -> None:
    """Keyphrases in the text only, without a background collection (α = β = 1)."""
    if engine is Engine.ray:
        cluster = Cluster(workers, gpus, partition, threads, device)
        job = Job("extract", paths, output, model, False, tagger, top_k, settings, max_mb)
        run_on_ray(replace(job, explain=explain, format=format, input_format=input_format), cluster)
        return
    source = Source(paths, input_format, max_mb, max_pdf_seconds)
    generator = load_generator(model, None, True, tagger, device)
    sink = _open_output(source, format, output, resume, explain)

    def work(documents: Iterable[InputDocument]) -> Iterator[Result]:
        pairs = ((document.id, document.text) for document in documents)
        return generator.extract_batch(pairs, top_k, settings, explain=explain, threads=threads)

    process(source, sink, work)


@app.command()
@settings_options(without=_FINDING)
def rank(
    paths: Paths = None,
    phrases: Annotated[
        Path | None,
        typer.Option(
            "--phrases",
            help="File of phrases: one a line, or .csv or .jsonl with a field 'phrase'.",
            show_default=False,
        ),
    ] = None,
    phrase: Annotated[
        list[str] | None, typer.Option("--phrase", help="A phrase; may be repeated.", show_default=False)
    ] = None,
    format: OutputFormat = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", min=1, help="How many phrases.", show_default="all")
    ] = None,
    explain: Explain = False,
    output: Output = None,
    resume: Resume = False,
    threads: Threads = None,
    model: Model = None,
    collection: CollectionFolder = None,
    no_collection: NoCollection = False,
    input_format: InputFormat = None,
    max_mb: MaxMb = _MAX_MB,
    max_pdf_seconds: MaxPdfSeconds = _PDF_SECONDS,
    *,
    settings: Settings,
) -> None:
    """Score your own phrases (a thesaurus, subject headings, tags) against documents, present in them or not.

    For example: erukg rank paper.txt --phrases thesaurus.txt --top-k 20
    """
    wanted = [*(phrase or ()), *(read_phrases(phrases) if phrases is not None else ())]
    if not wanted:
        raise typer.BadParameter("Give the phrases to rank with --phrases FILE or --phrase.", param_hint="--phrases")
    source = Source(paths, input_format, max_mb, max_pdf_seconds)
    generator = load_generator(model, collection, no_collection, TaggerName.model)
    listed = generator.phrase_list(wanted)
    sink = _open_output(source, format, output, resume, explain)

    def work(documents: Iterable[InputDocument]) -> Iterator[Result]:
        def one(document: InputDocument) -> Result:
            id, text = document.id, document.text
            return RankedPhrases(id, tuple(generator.rank(text, listed, settings, top_k=top_k, explain=explain, id=id)))

        return ordered_map(one, documents, threads)

    process(source, sink, work)


def _open_output(source: Source, format: Format | None, output: str | None, resume: bool, explain: bool) -> OutputFile:
    path = None if output is None or output == "-" else Path(output)
    chosen = choose_format(format, path)
    if chosen is Format.parquet:
        raise typer.BadParameter("Parquet is written by --engine ray.", param_hint="--format")
    if resume and (path is None or chosen.value != "json"):
        raise typer.BadParameter("It goes with --output FILE in the format json.", param_hint="--resume")
    source.refuse(path)
    return OutputFile(chosen, path, resume=resume, explain=explain)


def load_generator(
    model: str | None, collection: str | None, no_collection: bool, tagger: TaggerName, device: str = "cpu"
) -> KeyphraseGenerator:
    """The generator that the options of a command describe."""
    choose_collection(collection, no_collection)
    from erukg.generator import KeyphraseGenerator

    return KeyphraseGenerator.from_pretrained(
        model, choose_collection(collection, no_collection), tagger=_tagger(tagger), device=choose_device(device)
    )


def choose_collection(collection: str | None, no_collection: bool) -> str | Literal[False] | None:
    """The collection that the two options name: a folder, False for none, None for the bundled one."""
    if no_collection and collection is not None:
        raise typer.BadParameter("Give a collection or --no-collection, not both.", param_hint="--no-collection")
    return False if no_collection else collection


def _tagger(name: TaggerName) -> Tagger | None:
    if name is TaggerName.model:
        return None
    from erukg import taggers

    return taggers.SpacyTagger() if name is TaggerName.spacy else taggers.NltkTagger()
