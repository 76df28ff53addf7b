"""`erukg vocabulary`: prepare vocabularies for `suggest`, and look at them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from erukg.cli._common import printable, say

if TYPE_CHECKING:
    from erukg.subjects.vocabulary import Vocabulary

__all__ = ["app"]

app = typer.Typer(
    name="vocabulary",
    help="Prepare vocabularies (SKOS, TSV, CSV, JSON Lines, tag lists) and look at them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_FORMS = "turtle|rdfxml|ntriples|tsv|csv|jsonl|list"
_EXAMPLES = 5
_COLUMNS = "Columns"

Language = Annotated[
    str, typer.Option("--language", help="Language of the labels to take, where a file has them in several.")
]
FormName = Annotated[
    str | None,
    typer.Option("--form", metavar=f"<{_FORMS}>", help="What the file is.", show_default="by its ending"),
]


def _column(what: str, help: str) -> Any:
    return typer.Option(
        f"--{what}-column",
        metavar="NAME|NUMBER",
        help=help,
        show_default="by the usual names",
        rich_help_panel=_COLUMNS,
    )


@app.command()
def build(
    file: Annotated[Path, typer.Argument(help="The vocabulary, also .gz or .xz.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="Folder to make; a vocabulary there is replaced.")],
    language: Language = "en",
    translations: Annotated[
        list[str] | None,
        typer.Option("--translation", help="Another language whose preferred labels are kept, for show (repeatable)."),
    ] = None,
    form: FormName = None,
    name: Annotated[str, typer.Option("--name", help="Name of the vocabulary.", show_default="the file's")] = "",
    uri_column: Annotated[str | None, _column("uri", "Column of the URI or id.")] = None,
    label_column: Annotated[str | None, _column("label", "Column of the preferred label.")] = None,
    alternatives_column: Annotated[str | None, _column("alternatives", "Column of synonyms.")] = None,
    notation_column: Annotated[str | None, _column("notation", "Column of the notation.")] = None,
    broader_column: Annotated[str | None, _column("broader", "Column of the URIs of broader concepts.")] = None,
    separator: Annotated[
        str,
        typer.Option("--separator", help="What stands between several labels in a cell.", rich_help_panel=_COLUMNS),
    ] = "|",
    max_mb: Annotated[
        float, typer.Option("--max-mb", min=0.001, max=100_000, help="Largest file of RDF, in megabytes.")
    ] = 300.0,
) -> None:
    """Read a vocabulary once and save it in a folder that opens at once.

    It may be SKOS in Turtle (.ttl), RDF/XML (.rdf) or N-Triples (.nt), Annif's .tsv, any .csv or .jsonl with a URI and
    a label, or a .txt with a tag on each line. Deprecated concepts are left out.
    """
    from erukg.subjects.vocabulary import Columns, Vocabulary, VocabularyLimits

    if not separator:
        raise typer.BadParameter("It must not be empty.", param_hint="--separator")
    columns = Columns(uri_column, label_column, alternatives_column, notation_column, broader_column, separator)
    vocabulary = Vocabulary.read(
        file,
        form=form,
        language=language,
        translations=translations or (),
        columns=columns,
        limits=VocabularyLimits(bytes=int(max_mb * 1e6)),
        name=name,
    )
    vocabulary.save(out)
    _say_left_out(vocabulary)
    print(f"{len(vocabulary):,} concepts with {vocabulary.label_count:,} labels in {printable(str(out))}.")


@app.command()
def info(
    path: Annotated[Path, typer.Argument(help="Folder or file of a vocabulary.")],
    language: Language = "en",
    form: FormName = None,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Say what a vocabulary holds, with some of its concepts; a folder's files are checked byte by byte."""
    from erukg.subjects.storage import verify_folder
    from erukg.subjects.vocabulary import Vocabulary

    if path.is_dir():
        verify_folder(path)
    vocabulary = Vocabulary.load(path, **({} if path.is_dir() else {"form": form, "language": language}))
    if not path.is_dir():
        _say_left_out(vocabulary)
    found = _summary(vocabulary)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    examples = found.pop("examples")
    for what, value in found.items():
        shown = ", ".join(value) if isinstance(value, list) else f"{value:,}" if type(value) is int else value
        print(f"{what.replace('_', ' '):<24}{printable(str(shown))}")
    print("for instance")
    for example in examples:
        others = f" ({'; '.join(example['alternatives'])})" if example["alternatives"] else ""
        print(printable(f"  <{example['uri']}> {example['label']}{others}"))


def _say_left_out(vocabulary: Vocabulary) -> None:
    """What the reader did not take, if anything."""
    if vocabulary.left_out:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in vocabulary.left_out.items())
        say(f"Concepts left out: {kinds}.")


def _summary(vocabulary: Vocabulary) -> dict[str, Any]:
    numbers = range(0, len(vocabulary), max(1, len(vocabulary) // _EXAMPLES))
    concepts = [vocabulary[i] for i in list(numbers)[:_EXAMPLES]]
    return {
        "name": vocabulary.name,
        "languages": list(vocabulary.languages),
        "concepts": len(vocabulary),
        "labels": vocabulary.label_count,
        "broader_links": vocabulary.broader_links,
        **{f"left_out_{kind.replace(' ', '_')}": count for kind, count in vocabulary.left_out.items()},
        "fingerprint": vocabulary.fingerprint,
        "examples": [
            {"uri": concept.uri, "label": concept.label, "alternatives": list(concept.alternatives[:_EXAMPLES])}
            for concept in concepts
        ],
    }
