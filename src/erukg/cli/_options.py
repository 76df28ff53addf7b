"""Options that several commands share: groups of them as dataclasses, and the decorator that adds them to a command."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from erukg.cli._common import choose_device, say
from erukg.core.settings import Settings
from erukg.errors import did_you_mean
from erukg.io import FORMS, Limits

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator

__all__ = [
    "Format",
    "InputOptions",
    "MaxMb",
    "ModelOptions",
    "OutputOptions",
    "Paths",
    "Resume",
    "Threads",
    "TopK",
    "option",
    "options",
]


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"


class TaggerName(StrEnum):
    model = "model"
    spacy = "spacy"
    nltk = "nltk"


def _known_form(name: str | None) -> str | None:
    if name is not None and name not in FORMS:
        raise typer.BadParameter(f"There is no '{name}'; {did_you_mean(name, FORMS)}")
    return name


def option(*names: str, panel: str | None = None, **settings: Any) -> Any:
    """A `typer.Option`, in this panel of the help."""
    return typer.Option(*names, rich_help_panel=panel, **settings)


Paths: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATHS",
        help="Files (.txt .md .jsonl .csv .tsv .pdf .parquet, also .gz and .xz), folders, URIs, or - for standard "
        "input.",
        show_default=False,
    ),
]
TopK: TypeAlias = Annotated[int, option("--top-k", "-k", min=1, help="How many present and how many absent phrases.")]
Resume: TypeAlias = Annotated[
    bool, option("--resume", help="Go on with an interrupted --output (JSON Lines): skip documents already in it.")
]
Threads: TypeAlias = Annotated[
    int | None, option("--threads", min=1, help="How many documents at a time.", show_default="one per core")
]
MaxMb: TypeAlias = Annotated[
    float, option("--max-mb", min=0.001, max=2000, help="Largest document, in megabytes.", panel="Input")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """What to read."""

    paths: Paths = None
    input_format: Annotated[
        str | None,
        option(
            "--input-format",
            metavar="|".join(FORMS),
            callback=_known_form,
            help="What - and the files named here are, whatever their endings.",
            show_default="by ending; - is text",
            panel="Input",
        ),
    ] = None
    max_mb: MaxMb = Limits().document_bytes / 1e6
    max_pdf_seconds: Annotated[
        float, option("--max-pdf-seconds", min=0.1, max=86_400, help="Longest time for one PDF.", panel="Input")
    ] = Limits().pdf_seconds

    @property
    def limits(self) -> Limits:
        return Limits(document_bytes=int(self.max_mb * 1e6), pdf_seconds=self.max_pdf_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where and how to write results."""

    format: Annotated[
        Format | None,
        option(
            "--format",
            "-f",
            help="How to write results; json is JSON Lines.",
            show_default="as --output ends; else table on a terminal, json in a pipe",
        ),
    ] = None
    output: Annotated[
        str | None,
        option(
            "--output",
            "-o",
            help="Write here; the file appears when it is complete. For --engine ray a folder or URI.",
            show_default="the terminal",
        ),
    ] = None
    resume: Resume = False
    explain: Annotated[bool, option("--explain", help="Show what each score is made of: factors and term weights.")] = (
        False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What to work with."""

    model: Annotated[
        str | None, option("--model", help="Model folder.", show_default="the bundled model", panel="Parts")
    ] = None
    collection: Annotated[
        str | None,
        option(
            "--collection",
            help="Folder of the background collection.",
            show_default="the bundled collection",
            panel="Parts",
        ),
    ] = None
    no_collection: Annotated[
        bool, option("--no-collection", help="Work without a collection: no absent phrases.", panel="Parts")
    ] = False
    tagger: Annotated[
        TaggerName, option("--tagger", help="Who tags the words: the model itself, spaCy or NLTK.", panel="Parts")
    ] = TaggerName.model
    device: Annotated[
        str,
        option(
            "--device",
            help="Where the model runs: cpu, cuda, cuda:NUMBER, or auto for a GPU if there is one.",
            panel="Parts",
        ),
    ] = "cpu"

    @property
    def chosen_collection(self) -> str | Literal[False] | None:
        """A folder, False for none, None for the bundled collection."""
        if self.no_collection and self.collection is not None:
            raise typer.BadParameter("Give a collection or --no-collection, not both.", param_hint="--no-collection")
        return False if self.no_collection else self.collection

    def load(self, settings: Settings | None = None, *, absent: bool = False) -> KeyphraseGenerator:
        """The generator that the options describe; with `absent`, it is said when it cannot find absent phrases."""
        collection = self.chosen_collection
        from erukg.generator import KeyphraseGenerator
        from erukg.taggers import load_tagger

        generator = KeyphraseGenerator.from_pretrained(
            self.model,
            collection,
            tagger=load_tagger(self.tagger.value),
            settings=settings,
            device=choose_device(self.device),
        )
        if absent and generator.background is None and collection is not False:
            say(
                "There is no collection for this model, so no absent phrases are found; "
                "see: erukg collection build --help"
            )
        return generator


Command: TypeAlias = Callable[..., None]


def options(*, without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Give a command the options of every dataclass among its parameters; it is called with the dataclasses.

    A field is an option as its annotation says. Those of `Settings` and of limits, which say no more than a range and
    a help, become one too. Fields named in `without` are no options and keep their defaults.
    """

    def decorate(command: Command) -> Command:
        parameters: list[inspect.Parameter] = []
        groups: dict[str, tuple[type, list[str]]] = {}
        for own in inspect.signature(command, eval_str=True).parameters.values():
            if dataclasses.is_dataclass(own.annotation):
                made = [p for p in _parameters(own.annotation) if p.name not in without]
                groups[own.name] = (own.annotation, [p.name for p in made])  # type: ignore[assignment]
                parameters.extend(made)
            else:
                parameters.append(own.replace(kind=inspect.Parameter.KEYWORD_ONLY))

        def run(**given: Any) -> None:
            for name, (group, names) in groups.items():
                given[name] = _make(group, {each: given.pop(each) for each in names})
            command(**given)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def _make(group: type, values: dict[str, Any]) -> object:
    if group is not Settings:
        return group(**values)
    base = Settings.paper() if values.pop("paper") else Settings()
    return base.replace(**{name: value for name, value in values.items() if value is not None})


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    made = {f.name: (hints[f.name], f.default) for f in dataclasses.fields(group)}
    for f in dataclasses.fields(group):
        if group is Settings:
            made[f.name] = _setting(f, hints[f.name]), None
        elif f.metadata:
            made[f.name] = Annotated[hints[f.name], _limit(f)], f.default
    if group is Settings:
        paper = option("--paper", help="Start from the paper's values instead.", panel="Settings")
        made = {"paper": (Annotated[bool, paper], False), **made}
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(name, kind, default=default, annotation=hint) for name, (hint, default) in made.items()]


def _limit(f: dataclasses.Field[Any]) -> object:
    return option("--max-" + f.name.replace("_", "-"), help=f.metadata["help"], panel="Limits")


def _setting(f: dataclasses.Field[Any], kind: Any) -> object:
    """The option for a setting, from its type, default and metadata; `Settings` itself checks the range."""
    names = "--" + f.name.replace("_", "-")
    help, default = str(f.metadata["help"]), str(f.default)
    if kind is bool:
        names, default = f"{names}/--no-{names[2:]}", "yes" if f.default else "no"
    else:
        help += f" ({f.metadata['low']} to {f.metadata['high']})"
    return Annotated[kind | None, option(names, help=help.replace("[", "\\["), show_default=default, panel="Settings")]
