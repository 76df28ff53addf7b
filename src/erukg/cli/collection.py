"""`erukg collection`: build background collections, let them grow, check and search them."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from erukg.cli._cluster import Cluster, ClusterOptions, Engine, PartitionDocuments, partitions_bar
from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, choose_device, printable, say
from erukg.cli._options import UNUSED_ALONE, Style, given, max_mb, option, options
from erukg.core.settings import Settings
from erukg.errors import CollectionError
from erukg.io import Limits
from erukg.io.forms import SUFFIXES

if TYPE_CHECKING:
    from erukg.collection import Analyser
    from erukg.collection.build import IngestReport
    from erukg.io import BadDocument

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
        help=f"Documents: files ({' '.join(SUFFIXES)}, also .gz and .xz), folders of these, or URIs.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Encoding:
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
    max_mb: float = max_mb(20.0)
    settings: Settings

    @property
    def limits(self) -> Limits:
        return Limits(document_bytes=int(self.max_mb * 1e6))

    def analyser(self) -> Analyser:
        from erukg.generator import load_analyser

        device = choose_device(self.device)
        weighed = self.terms > 0
        return load_analyser(
            self.model, device, self.threads, phrases=self.phrases, settings=self.settings, term_weights=weighed
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _BuildCluster(ClusterOptions):
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


@app.command()
@options(without=UNUSED_ALONE)
def build(
    out: Annotated[Path, typer.Argument(help="Folder to make the collection in.")],
    sources: Sources,
    encoding: _Encoding,
    cluster: _BuildCluster,
    context: typer.Context,
    glossary_documents: Annotated[
        int | None,
        typer.Option(
            "--glossary-documents",
            min=1,
            help="How many documents must have a phrase that is lent.",
            show_default="by the number of documents: 1 up to 20,000, 2 up to 100,000, then 3; with --paper 3",
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw an unfinished build in OUT away and begin again.")
    ] = False,
) -> None:
    """Make a collection. Stopped or killed, the same command goes on from where it was.

    The settings decide which phrases of a document are kept. With --paper they are those of the paper's collection: of
    each document the ten best noun phrases by f, those that at least three documents have, and its term weights.
    """
    from erukg.collection.analyser import PAPER_DOCUMENTS
    from erukg.collection.build import build as run
    from erukg.collection.encoded import BY_SIZE

    least = glossary_documents or BY_SIZE
    if _is_paper(context):
        encoding, least = _as_the_paper(encoding, context), PAPER_DOCUMENTS
    if cluster.engine is Engine.ray:
        _finish(_build_on_ray(out, sources, encoding, cluster, least, restart), out)
        return
    _ingest(run, out, sources, encoding, restart=restart, glossary_documents=least)


@app.command()
@options(without=UNUSED_ALONE)
def add(
    folder: Folder,
    sources: Sources,
    encoding: _Encoding,
    context: typer.Context,
    replace: Annotated[
        bool, typer.Option("--replace", help="Documents whose id is there already take the old one's place.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Do not go on with an unfinished addition of other sources.")
    ] = False,
) -> None:
    """Add documents. Results are the same as if the collection had been built with them, with the same options."""
    from erukg.collection.build import add as run
    from erukg.collection.manifest import read_manifest

    if _is_paper(context):
        encoding = _as_the_paper(encoding, context)
        if not read_manifest(folder).paper:
            raise CollectionError(f"{folder} was not built with --paper; add to it as it was built.")
    _ingest(run, folder, sources, encoding, replace=replace, restart=restart)


@app.command()
def remove(
    folder: Folder,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Ids of documents.")] = None,
    file: Annotated[
        Path | None, typer.Option("--from", help="A file with one id per line; - for standard input.")
    ] = None,
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
def slim(
    folder: Folder,
    out: Annotated[Path, typer.Argument(help="Folder to make the copy in.")],
    rare: Annotated[
        int,
        typer.Option(min=1, help="Leave out words that fewer documents have: smaller still, nearly the same results."),
    ] = 1,
    words: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=250,
            help="Words that a document keeps; 40 make a copy of half the size. [default: all]",
        ),
    ] = None,
) -> None:
    """Copy a collection without what only growing needs: smaller, same results, read-only."""
    from erukg.collection import info as look
    from erukg.collection import slim as run

    run(folder, out, rare=rare, words=words)
    print(f"{look(out).bytes / 1e6:.1f} MB (the original: {look(folder).bytes / 1e6:.1f} MB).")


@app.command()
def calibrate(folder: Folder) -> None:
    """Learn from the collection's documents which texts are like them; others get no absent phrases.

    Building does this, and adding when a quarter is new. It is for collections made before, and writes nothing but the
    manifest.
    """
    from erukg.collection import calibrate as run

    if run(folder) is None:
        say(f"{folder} holds too few documents with phrases to say what is like them, so every text counts as such.")
        raise typer.Exit(NOTHING_DONE)
    print(f"{folder} knows which texts are like its documents.")


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
    """Find the documents most similar to a text: one line of JSON for each, with its id, BM25 score and title."""
    from erukg.collection import Collection

    collection = Collection.open(folder)
    query = sys.stdin.read() if text == "-" else text
    hits = collection.search(query, n, exclude=exclude)
    found = collection.ids(hits.documents), hits.scores.tolist(), collection.titles(hits.documents)
    for id, score, title in zip(*found, strict=True):
        row = {"id": id, "score": round(score, 4)} | ({"title": title} if title else {})
        print(json.dumps(row, ensure_ascii=False))


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


def _is_paper(context: typer.Context) -> bool:
    return bool(context.params["paper"]) or context.params["style"] is Style.paper


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _as_the_paper(encoding: _Encoding, context: typer.Context) -> _Encoding:
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


def _build_on_ray(
    out: Path,
    sources: list[str],
    encoding: _Encoding,
    given: _BuildCluster,
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


def _lines(file: Path) -> list[str]:
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _ingest(
    run: Callable[..., IngestReport], folder: Path, sources: list[str], encoding: _Encoding, **choices: int
) -> None:
    """Build or add, with a bar that counts documents on a terminal, and say what came of it."""
    from erukg.io import count_rows
    from erukg.io.progress import progress

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
            limits=encoding.limits,
            on_bad=report_bad,
            on_progress=bar.update,
            **choices,
        )
    _finish(report, folder)


def _finish(report: IngestReport, folder: Path) -> None:
    from erukg.collection import info as look

    found = look(folder)
    if report.resumed:
        say(f"Went on after {report.resumed} rows of an earlier run.")
    print(f"{found.documents} documents, {found.phrases} phrases, {found.bytes / 1e6:.1f} MB in {folder}.")
    if report.bad:
        say(f"{report.bad} of {report.rows} rows skipped.")
        raise typer.Exit(SOME_SKIPPED)
