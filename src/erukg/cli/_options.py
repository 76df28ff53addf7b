"""Options that several commands share: groups of them as dataclasses, and the decorator that adds them to a command."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_type_hints

import typer

from erukg.cli._common import choose_device, say
from erukg.core.inputs import FieldNames
from erukg.core.settings import Settings
from erukg.errors import did_you_mean
from erukg.io import FORMS, Limits
from erukg.io.forms import SUFFIXES

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator

__all__ = [
    "ABSENT_SETTINGS",
    "UNUSED_ALONE",
    "FieldOptions",
    "Format",
    "InputOptions",
    "ModelOptions",
    "OutputOptions",
    "Paths",
    "Threads",
    "TopK",
    "given",
    "max_mb",
    "option",
    "options",
]


#: What the collection or absent phrases alone make use of.
ABSENT_SETTINGS = {"alpha", "beta", "neighbours", "search_words", "neighbour_candidates", "abstain"} | {
    name for name in Settings().to_dict() if name.startswith("absent_")
}


#: What a document that is read alone, for a collection, makes no use of: of its phrases the best ones are kept.
UNUSED_ALONE = ABSENT_SETTINGS | {"known", "embedded", "min_confidence"}


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


class Language(StrEnum):
    auto = "auto"
    en = "en"


class Style(StrEnum):
    balanced = "balanced"
    complete = "complete"
    short = "short"
    long = "long"
    paper = "paper"


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


def given(default: object, help: str, *short: str, **settings: Any) -> Any:
    """A field of a group of options: `--name` (and `short`), with what else `option` takes."""
    return field(default=default, metadata={"help": help, "short": short, "settings": settings})


Paths: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATHS",
        help=f"Files ({' '.join(SUFFIXES)}, also .gz and .xz), folders, URIs, or - for standard input.",
        show_default=False,
    ),
]
TopK: TypeAlias = Annotated[int, option("--top-k", "-k", min=1, help="How many present and how many absent phrases.")]
Threads: TypeAlias = Annotated[
    int | None, option("--threads", min=1, help="How many documents at a time.", show_default="one per core")
]


def max_mb(default: float) -> Any:
    """The option `--max-mb` with this default."""
    return given(default, "Largest document, in megabytes.", min=0.001, max=2000, panel="Input")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOptions:
    """What the fields of JSON, CSV and Parquet are called."""

    text_field: str | None = given(
        None, "Field with the text, of JSON, CSV and Parquet.", metavar="FIELD", show_default="text", panel="Input"
    )
    title_field: str | None = given(
        None, "Field with the title, put before the text.", metavar="FIELD", show_default="title", panel="Input"
    )
    id_field: str | None = given(
        None, "Field with the document's id.", metavar="FIELD", show_default="id or _id", panel="Input"
    )

    @property
    def names(self) -> FieldNames:
        return FieldNames(self.text_field, self.title_field, self.id_field)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputOptions:
    """What to read."""

    paths: Paths = None
    text: list[str] | None = given(  # noqa: RUF009 (it is a field)
        None, "A text itself, in place of a file; may be repeated.", show_default=False, panel="Input"
    )
    input_format: str | None = given(
        None,
        "What - and the files named here are, whatever their endings.",
        metavar=f"<{'|'.join(FORMS)}>",
        callback=_known_form,
        show_default="by ending; - is text",
        panel="Input",
    )
    fields: FieldOptions = field(default_factory=FieldOptions)
    max_mb: float = max_mb(Limits().document_bytes / 1e6)
    max_pdf_seconds: float = given(
        Limits().pdf_seconds,
        "Longest time for one PDF, HTML page or office document.",
        min=0.1,
        max=86_400,
        panel="Input",
    )

    @property
    def limits(self) -> Limits:
        return Limits(document_bytes=int(self.max_mb * 1e6), pdf_seconds=self.max_pdf_seconds, names=self.fields.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Where and how to write results."""

    format: Format | None = given(  # noqa: RUF009 (it is a field)
        None,
        "How to write results; json is JSON Lines.",
        "-f",
        show_default="as --output ends; else table on a terminal, json in a pipe",
    )
    output: str | None = given(
        None,
        "Write here, compressed when the name ends in .gz or .xz; the file appears when it is complete. "
        "For --engine ray a folder or URI.",
        "-o",
        show_default="the terminal",
    )
    resume: bool = given(
        False, "Go on with an interrupted --output: skip documents already in it. JSON Lines; expand: all but Parquet."
    )
    explain: bool = given(False, "Show what each score is made of: factors and term weights.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What to work with."""

    model: str | None = given(None, "Model folder.", show_default="the bundled model", panel="Parts")
    collection: str | None = given(
        None, "Folder of the background collection.", show_default="the bundled collection", panel="Parts"
    )
    no_collection: bool = given(False, "Work without a collection: no absent phrases.", panel="Parts")
    tagger: TaggerName = given(  # noqa: RUF009 (it is a field)
        TaggerName.model, "What tags the words: the model itself, spaCy or NLTK.", panel="Parts"
    )
    language: Language = given(  # noqa: RUF009 (it is a field)
        Language.auto,
        "auto: texts that are not English are pointed out and get no absent phrases; en: all are, do not look.",
        panel="Parts",
    )
    device: str = given(
        "cpu", "Where the model runs: cpu, cuda, cuda:NUMBER, or auto for a GPU if there is one.", panel="Parts"
    )

    @property
    def chosen_collection(self) -> str | Literal[False] | None:
        """A folder, False for none, None for the bundled collection."""
        if self.no_collection and self.collection is not None:
            raise typer.BadParameter("Give a collection or --no-collection, not both.", param_hint="--no-collection")
        return False if self.no_collection else self.collection

    @property
    def chosen_language(self) -> Literal["en"] | None:
        return "en" if self.language is Language.en else None

    def load(
        self, settings: Settings | None = None, *, absent: bool = False, processes: bool = False
    ) -> KeyphraseGenerator:
        """The generator that the options describe; with `absent`, it is said when it cannot find absent phrases.

        With `processes` it works through long streams in several of them.
        """
        collection = self.chosen_collection
        from erukg.generator import KeyphraseGenerator
        from erukg.taggers import load_tagger

        generator = KeyphraseGenerator.from_pretrained(
            self.model,
            collection,
            tagger=load_tagger(self.tagger.value),
            settings=settings,
            device=choose_device(self.device),
            language=self.chosen_language,
            processes=processes,
        )
        if absent and generator.background is None and collection is not False:
            say(
                "There is no collection for this model, so no absent phrases are found; "
                "see: erukg collection build --help"
            )
        return generator


Command: TypeAlias = Callable[..., None]


Base: TypeAlias = Callable[[Settings, Mapping[str, Any]], Settings]
"""From the settings of a style and the values of all options to what settings that are given change."""


def _as_it_is(style: Settings, values: Mapping[str, Any]) -> Settings:
    return style


def options(*, without: Collection[str] = (), base: Base = _as_it_is) -> Callable[[Command], Command]:
    """Give a command the options of every dataclass among its parameters; it is called with the dataclasses.

    Each field is one: as its annotation says, or from its metadata, as in the groups here, in `Settings` and in limits.
    A field that is a dataclass stands for the options of that. Fields named in `without` keep their defaults. Settings
    start from `base`.
    """

    def decorate(command: Command) -> Command:
        own = inspect.signature(command, eval_str=True).parameters
        made = [p for parameter in own.values() for p in _parameters(parameter) if p.name not in without]

        def run(**values: Any) -> None:
            command(**{name: _value(name, parameter.annotation, values, base) for name, parameter in own.items()})

        run.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in made}
        run.__name__, run.__doc__ = command.__name__, command.__doc__
        return run

    return decorate


def _value(name: str, hint: Any, values: dict[str, Any], base: Base) -> Any:
    """The value of a parameter, or the dataclass for it, from the values of all options."""
    if not dataclasses.is_dataclass(hint):
        return values[name]
    hints = get_type_hints(hint)
    names = [name for name in hints if name in values or dataclasses.is_dataclass(hints[name])]
    fields = {name: _value(name, hints[name], values, base) for name in names}
    if hint is not Settings:
        return hint(**fields)  # type: ignore[operator]
    styled = Settings.styled("paper" if values["paper"] else values["style"])
    return base(styled, values).replace(**{name: value for name, value in fields.items() if value is not None})


def _parameters(own: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The options that a parameter stands for: itself, or all those of the dataclass that it is."""
    own, group = own.replace(kind=inspect.Parameter.KEYWORD_ONLY), own.annotation
    if not dataclasses.is_dataclass(group):
        yield own
        return
    if group is Settings:
        style = option("--style", help="Lists for different readers; what the settings below start from.")
        yield own.replace(name="style", annotation=Annotated[Style, style], default=Style.balanced)
        paper = option("--paper", help="The same as --style paper.", panel="Settings")
        yield own.replace(name="paper", annotation=Annotated[bool, paper], default=False)
    hints = get_type_hints(group, include_extras=True)
    for f in dataclasses.fields(group):
        hint, default, flag = hints[f.name], f.default, "--" + f.name.replace("_", "-")
        if group is Settings:  # what is not given is as in the base, so the default is only shown
            hint, default = Annotated[hint | None, _setting(f, flag, hint is bool)], None
        elif "settings" in f.metadata:
            hint = Annotated[
                hint, option(flag, *f.metadata["short"], help=f.metadata["help"], **f.metadata["settings"])
            ]
        elif f.metadata:
            hint = Annotated[hint, option(f"--max-{flag[2:]}", help=f.metadata["help"], panel="Limits")]
        yield from _parameters(own.replace(name=f.name, annotation=hint, default=default))


def _setting(f: dataclasses.Field[Any], flag: str, switch: bool) -> Any:
    """The option for a setting; `Settings` itself checks the range."""
    help, default = str(f.metadata["help"]).replace("[", "\\["), str(f.default)
    if switch:
        flag, default = f"{flag}/--no-{flag[2:]}", "yes" if f.default else "no"
    else:
        help += f" ({f.metadata['low']} to {f.metadata['high']})"
    return option(flag, help=help, show_default=default, panel="Settings")
