"""The options that generate, extract and rank have in common, each described once."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import typer

from erukg.core.settings import Settings

__all__ = [
    "CollectionFolder",
    "Device",
    "Explain",
    "Format",
    "InputForm",
    "InputFormat",
    "MaxMb",
    "MaxPdfSeconds",
    "Model",
    "NoCollection",
    "Output",
    "OutputFormat",
    "Paths",
    "Resume",
    "TaggerName",
    "TaggerOption",
    "Threads",
    "TopK",
    "settings_options",
]


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"


class InputForm(StrEnum):
    text = "text"
    markdown = "markdown"
    jsonl = "jsonl"
    csv = "csv"
    pdf = "pdf"


class TaggerName(StrEnum):
    model = "model"
    spacy = "spacy"
    nltk = "nltk"


Paths: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATHS",
        help="Files (.txt .md .jsonl .csv .tsv .pdf, also .gz and .xz), folders, or - for standard input.",
        show_default=False,
    ),
]
OutputFormat: TypeAlias = Annotated[
    Format | None,
    typer.Option(
        "--format",
        "-f",
        help="How to write results; json is JSON Lines, parquet goes with --engine ray.",
        show_default="as --output ends; else table on a terminal, json in a pipe",
    ),
]
TopK: TypeAlias = Annotated[
    int, typer.Option("--top-k", "-k", min=1, help="How many present and how many absent phrases.")
]
Explain: TypeAlias = Annotated[
    bool, typer.Option("--explain", help="Show what each score is made of: factors and term weights.")
]
Output: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="Write here; the file appears when it is complete. For --engine ray a folder or URI.",
        show_default="the terminal",
    ),
]
Resume: TypeAlias = Annotated[
    bool,
    typer.Option("--resume", help="Go on with an interrupted --output (JSON Lines): skip documents already in it."),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", help="Model folder.", show_default="the bundled model", rich_help_panel="Parts"),
]
CollectionFolder: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--collection",
        help="Folder of the background collection.",
        show_default="the bundled collection",
        rich_help_panel="Parts",
    ),
]
NoCollection: TypeAlias = Annotated[
    bool,
    typer.Option("--no-collection", help="Work without a collection: no absent phrases.", rich_help_panel="Parts"),
]
Device: TypeAlias = Annotated[
    str,
    typer.Option(
        "--device",
        help="Where the model runs: cpu, cuda, cuda:NUMBER, or auto for a GPU if there is one.",
        rich_help_panel="Parts",
    ),
]
TaggerOption: TypeAlias = Annotated[
    TaggerName,
    typer.Option("--tagger", help="Who tags the words: the model itself, spaCy or NLTK.", rich_help_panel="Parts"),
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="How many documents at a time.", show_default="one a core"),
]
InputFormat: TypeAlias = Annotated[
    InputForm | None,
    typer.Option(
        "--input-format",
        help="What - and the files named here are, whatever their endings.",
        show_default="by ending; - is text",
        rich_help_panel="Input",
    ),
]
MaxMb: TypeAlias = Annotated[
    float,
    typer.Option("--max-mb", min=0.001, max=2000, help="Largest document, in megabytes.", rich_help_panel="Input"),
]
MaxPdfSeconds: TypeAlias = Annotated[
    float,
    typer.Option("--max-pdf-seconds", min=0.1, max=86_400, help="Longest time for one PDF.", rich_help_panel="Input"),
]

_PANEL = "Settings"


def settings_options(*, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--paper` and an option for every field of `Settings` (but those `without`).

    The command itself takes one argument for all of them: `settings`.
    """
    fields = [field for field in dataclasses.fields(Settings) if field.name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            changes = {field.name: given.pop(field.name) for field in fields}
            changes = {name: value for name, value in changes.items() if value is not None}
            base = Settings.paper() if given.pop("paper") else Settings()
            command(**given, settings=base.replace(**changes))

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own if p.name != "settings"]
        paper = typer.Option("--paper", help="Start from the paper's values instead.", rich_help_panel=_PANEL)
        parameters.append(_parameter("paper", Annotated[bool, paper], False))
        parameters.extend(_parameter(field.name, _annotation(field), None) for field in fields)
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _annotation(field: dataclasses.Field[Any]) -> object:
    """The option for a setting, from its type, default and metadata; `Settings` itself checks the range."""
    flag = "--" + field.name.replace("_", "-")
    text = str(field.metadata["help"])
    kind: type = {"bool": bool, "int": int}.get(str(field.type), float)
    if kind is bool:
        names, default = f"{flag}/--no-{flag[2:]}", "yes" if field.default else "no"
    else:
        names, default = flag, f"{field.default}"
        text += f" ({field.metadata['low']} to {field.metadata['high']})"
    option = typer.Option(names, help=text.replace("[", "\\["), show_default=default, rich_help_panel=_PANEL)
    return Annotated[kind | None, option]
