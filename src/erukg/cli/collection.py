"""`erukg collection`: build background collections, let them grow, check and search them."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from erukg.cli._building import BuildCluster, EncodingOptions, build_on_ray, finish, is_paper, paper_encoding, take_in
from erukg.cli._cluster import Engine
from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, printable, say
from erukg.cli._options import UNUSED_ALONE, options
from erukg.errors import CollectionError
from erukg.io.forms import SUFFIXES

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


@app.command()
@options(without=UNUSED_ALONE)
def build(
    out: Annotated[Path, typer.Argument(help="Folder to make the collection in.")],
    sources: Sources,
    encoding: EncodingOptions,
    cluster: BuildCluster,
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
    if is_paper(context):
        encoding, least = paper_encoding(encoding, context), PAPER_DOCUMENTS
    if cluster.engine is Engine.ray:
        finish(build_on_ray(out, sources, encoding, cluster, least, restart), out, encoding.tags)
        return
    take_in(run, out, sources, encoding, restart=restart, glossary_documents=least)


@app.command()
@options(without=UNUSED_ALONE)
def add(
    folder: Folder,
    sources: Sources,
    encoding: EncodingOptions,
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

    if is_paper(context):
        encoding = paper_encoding(encoding, context)
        if not read_manifest(folder).paper:
            raise CollectionError(f"{folder} was not built with --paper; add to it as it was built.")
    take_in(run, folder, sources, encoding, replace=replace, restart=restart)


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
        print(f"{name.replace('_', ' '):<18}{printable(str(shown))}".rstrip())


@app.command()
def search(
    folder: Folder,
    text: Annotated[str, typer.Argument(help="A text, which may be a whole document; - reads standard input.")],
    n: Annotated[int, typer.Option("--top-k", "-k", min=1, help="How many documents.")] = 10,
    exclude: Annotated[str | None, typer.Option(help="Id of a document to pass over.")] = None,
) -> None:
    """Find the documents most similar to a text: one line of JSON for each, with its id, BM25 score, title and tags."""
    from erukg.collection import Collection

    collection = Collection.open(folder)
    query = sys.stdin.read() if text == "-" else text
    hits = collection.search(query, n, exclude=exclude)
    documents = hits.documents
    found = collection.ids(documents), hits.scores.tolist(), collection.titles(documents), collection.tags_of(documents)
    for id, score, title, tags in zip(*found, strict=True):
        shown = [tag.uri if tag.label == tag.uri else tag._asdict() for tag in tags]
        row = {"id": id, "score": round(score, 4)} | ({"title": title} if title else {})
        print(json.dumps(row | ({"tags": shown} if shown else {}), ensure_ascii=False))


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


def _lines(file: Path) -> list[str]:
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip()]
