"""How documents get into a collection from the command line: the options of `build` and `add`, here or on a cluster."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erukg.cli._cluster import Cluster, ClusterOptions, PartitionDocuments, partitions_bar
from erukg.cli._common import SOME_SKIPPED, choose_device, printable, say
from erukg.cli._options import FieldOptions, Style, given, max_mb, option
from erukg.core.settings import Settings
from erukg.io import Limits

if TYPE_CHECKING:
    from erukg.collection import Analyser
    from erukg.collection.build import IngestReport
    from erukg.io import BadDocument

__all__ = ["BuildCluster", "EncodingOptions", "build_on_ray", "finish", "is_paper", "paper_encoding", "take_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingOptions:
    """How documents become part of a collection."""

    model: str | None = given(None, "Model folder.", show_default="the bundled model")
    threads: int | None = given(None, "Documents encoded at once.", min=1, show_default="one per core")
    device: str = given("auto", "Where the model runs: cpu, cuda, cuda:NUMBER, or auto for a GPU if there is one.")
    terms: int = given(
        128,
        "Most term weights kept of a document; 0 for none, as settings with α = 1 read none.",
        min=0,
        max=255,
        show_default="128; with --paper 255",
    )
    phrases: int = given(10, "Most phrases that a document lends.", min=1, max=1000)
    titles: Annotated[
        bool,
        option("--titles/--no-titles", help="Keep the documents' titles, for people to read where phrases come from."),
    ] = True
    tags: str | None = given(
        None,
        "Field with the documents' tags, to be kept: a string, or a list of strings or of objects with uri and label.",
        metavar="FIELD",
        show_default="none; when adding, the field that the collection was built with",
    )
    fields: FieldOptions
    max_mb: float = max_mb(20.0)
    settings: Settings

    @property
    def limits(self) -> Limits:
        return Limits(document_bytes=int(self.max_mb * 1e6), names=self.fields.names)

    def analyser(self) -> Analyser:
        from erukg.generator import load_analyser

        device = choose_device(self.device)
        weighed = self.terms > 0
        return load_analyser(
            self.model, device, self.threads, phrases=self.phrases, settings=self.settings, term_weights=weighed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCluster(ClusterOptions):
    partition: PartitionDocuments = 16_384
    work: Annotated[
        str | None,
        option(
            "--work",
            help="Ray: folder or URI for parts until the collection is complete; all nodes must reach it.",
            show_default="OUT.work",
            panel="Cluster",
        ),
    ] = None


def is_paper(context: typer.Context) -> bool:
    return bool(context.params["paper"]) or context.params["style"] is Style.paper


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def paper_encoding(encoding: EncodingOptions, context: typer.Context) -> EncodingOptions:
    """The paper's way of taking documents in; an option that asks for another one is refused."""
    from erukg.collection.analyser import PAPER_DOCUMENTS, PAPER_TERMS
    from erukg.collection.encoded import TOP_PHRASES
    from erukg.collection.weights import MOST_TERMS

    settings = Settings.paper_collection()
    wanted = settings.to_dict() | {"phrases": TOP_PHRASES, "glossary_documents": PAPER_DOCUMENTS, "style": Style.paper}
    given = {name: value for name, value in context.params.items() if _is_given(context, name)}
    other = [name for name, value in given.items() if name in wanted and value != wanted[name]]
    if given.get("terms", MOST_TERMS) < PAPER_TERMS:
        other.append("terms")
    if other:
        flags = ", ".join("--" + name.replace("_", "-") for name in other)
        raise typer.BadParameter(
            f"It stands for ten phrases a document by f alone, in a glossary of {PAPER_DOCUMENTS} documents, with "
            f"{PAPER_TERMS} term weights or more, so it does not go with {flags}; leave one of them out.",
            param_hint="--paper",
        )
    terms = given.get("terms", MOST_TERMS)
    return dataclasses.replace(encoding, settings=settings, phrases=TOP_PHRASES, terms=terms)


def build_on_ray(
    out: Path,
    sources: list[str],
    encoding: EncodingOptions,
    given: BuildCluster,
    glossary_documents: int,
    restart: bool,
) -> IngestReport:
    cluster = Cluster(given.workers, given.gpus, given.partition, encoding.threads, encoding.device)
    from erukg.integrations.ray.collection_job import CollectionJob, build_collection
    from erukg.integrations.ray.node_cache import on_any_node

    job = CollectionJob(
        model=on_any_node(encoding.model),
        device=cluster.worker_device,
        threads=cluster.pool.cpus,
        most_terms=encoding.terms,
        phrases=encoding.phrases,
        choices=encoding.settings,
        glossary_documents=glossary_documents,
        titles=encoding.titles,
        tags=encoding.tags,
        limits=encoding.limits,
    )
    with partitions_bar() as (on_bad, on_progress):
        return build_collection(
            out,
            sources,
            job,
            cluster.pool,
            work=given.work,
            restart=restart,
            partition_documents=cluster.partition,
            on_bad=on_bad,
            on_progress=on_progress,
        )


def take_in(
    run: Callable[..., IngestReport], folder: Path, sources: list[str], encoding: EncodingOptions, **choices: int
) -> None:
    """Build or add, with a bar that counts documents on a terminal, and say what came of it."""
    from erukg.io import check_extras, count_rows
    from erukg.io.progress import progress

    check_extras(sources)

    with progress("documents", count_rows(sources) if sys.stderr.isatty() else None) as bar:

        def report_bad(bad: BadDocument) -> None:
            line = f"{bad.place}: {bad.message}"
            say(line) if bar.console is None else bar.say(printable(line))

        report = run(
            folder,
            sources,
            encoding.analyser(),
            most_terms=encoding.terms,
            titles=encoding.titles,
            tags=encoding.tags,
            limits=encoding.limits,
            on_bad=report_bad,
            on_progress=bar.update,
            **choices,
        )
    finish(report, folder, encoding.tags)


def finish(report: IngestReport, folder: Path, tags: str | None = None) -> None:
    """Say what came of taking documents in, with their tags from this field."""
    from erukg.collection import info as look

    found = look(folder)
    if report.resumed:
        say(f"Went on after {report.resumed} rows of an earlier run.")
    print(f"{found.documents} documents, {found.phrases} phrases, {found.bytes / 1e6:.1f} MB in {folder}.")
    if found.tags:
        print(f"{found.tagged_documents} of the documents are tagged, with {found.tags} tags.")
    elif tags is not None:
        say(f"No document has a tag in the field '{tags}'.")
    if report.bad:
        say(f"{report.bad} of {report.rows} rows skipped.")
        raise typer.Exit(SOME_SKIPPED)
