"""The bodies of requests, as pydantic models with the limits and default settings of one service."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import ErrorDetails
from typing_extensions import TypeAliasType

from erukg.core.query_expansion import QueryOptions
from erukg.core.settings import STYLES, Settings
from erukg.errors import did_you_mean
from erukg.io.engines import Engine
from erukg.io.lucene import FIELD, parse_fields
from erukg.serving.limits import ServiceLimits
from erukg.serving.problems import Problem

__all__ = [
    "EXAMPLE_TEXT",
    "BaselineRequest",
    "DocumentBody",
    "DocumentsRequest",
    "ExpandRequest",
    "JobOptions",
    "KeyphrasesRequest",
    "RankRequest",
    "RequestModels",
    "SettingsBody",
    "SuggestRequest",
    "check",
    "shown",
    "with_fields",
]


EXAMPLE_TEXT = (
    "Sea ice thickness from passive microwave radiometry\nWe estimate the thickness of thin sea ice from brightness "
    "temperatures measured by satellites."
)


_Mode: TypeAlias = Literal["generate", "extract"]
_MODE: Any = Field("generate", description="extract: only phrases of the text itself, without the collection.")
_EXPLAIN = Field(False, description="Explain each score.")


def _config(*examples: dict[str, Any], **schema: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples), **schema})


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    place: ClassVar[str] = "The body"

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        # pydantic would collect an error for every unknown name, and a body has room for a million of them.
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                raise Problem(422, f"{cls.place} has no field {shown(name)}; {did_you_mean(name, cls.model_fields)}")
        return given


class SettingsBody(_Body):
    """Settings that differ from the service's own, or from those of a style; its fields are those of `Settings`."""

    place = "'settings'"

    style: str | None

    def apply(self, base: Settings) -> Settings:
        if not self.model_fields_set:
            return base
        start = base if self.style is None else Settings.styled(self.style)
        known = self.model_dump(exclude_unset=True, include=set(base.to_dict()))
        return start.replace(**known)


class DocumentBody(_Body):
    """One of many documents."""

    place = "The document"

    id: str | None = Field(None, max_length=1000, description="Your name for the document; it is returned.")
    text: str


class DocumentsRequest(_Body):
    """One `text` or many `documents`."""

    text: str
    documents: list[Any]
    top_k: int

    @model_validator(mode="after")
    def _one_or_many(self) -> DocumentsRequest:
        if len(self.model_fields_set & {"text", "documents"}) != 1:
            raise Problem(422, "The body must have either 'text' or 'documents'; give one of them.")
        return self

    @property
    def many(self) -> bool:
        return "documents" in self.model_fields_set

    @property
    def given(self) -> list[Any]:
        """The documents as they came; the only text is one."""
        return self.documents if self.many else [self.text]


# Not as alternatives: generated clients would have a class for each.
_EITHER: dict[str, Any] = {
    "if": {"required": ["text"]},
    "then": {"not": {"required": ["documents"]}},
    "else": {"required": ["documents"]},
}


class KeyphrasesRequest(DocumentsRequest):
    model_config = _config(
        {"text": EXAMPLE_TEXT, "top_k": 5},
        {"documents": [{"id": "a", "text": EXAMPLE_TEXT}, {"text": "Another one."}], "mode": "extract"},
        {"text": EXAMPLE_TEXT, "settings": {"alpha": 0.6, "diversity": 0.3}, "explain": True},
        **_EITHER,
    )

    settings: SettingsBody
    mode: _Mode = _MODE
    explain: bool = _EXPLAIN


def _search_field(written: str) -> str:
    parse_fields([written])
    return written


class ExpandRequest(DocumentsRequest):
    model_config = _config(
        {"documents": [{"_id": "1", "title": "Sea ice", "text": EXAMPLE_TEXT}]},
        {"documents": [{"_id": "q1", "text": "thickness of sea ice"}], "kind": "query", "format": "elasticsearch"},
        {"text": "thickness of sea ice", "kind": "query", "format": "lucene", "search_fields": ["text"], "weight": 0.2},
        **_EITHER,
    )

    settings: SettingsBody
    kind: Literal["document", "query"] = Field(
        "document", description="query: phrases come with weights to search with, in 'expansion'."
    )
    append: bool = Field(
        False,
        description="Also append the phrases to the text. This changes its word statistics and lowers precision; index "
        "'present' and 'absent' as a field of their own instead, or search for 'expansion' with its weights.",
    )
    fields: list[Literal["present", "absent"]] = Field(
        ["present", "absent"], min_length=1, max_length=2, description="Documents: which phrases to add."
    )
    present: int
    absent: int
    terms: int
    weight: float
    format: Engine | None
    search_fields: list[Annotated[str, AfterValidator(_search_field), Field(json_schema_extra={"pattern": FIELD})]] = (
        Field(
            default_factory=list,
            max_length=100,
            description="Queries with a format: the fields to search and what a match in each counts; by default text "
            "and keyphrases^0.4, for lucene the parser's default field.",
        )
    )

    @property
    def most(self) -> tuple[int, int]:
        """How many present and how many absent phrases; `top_k` is for both unless they are given."""
        given = self.model_fields_set
        present, absent = (
            self.top_k if "top_k" in given and name not in given else value
            for name, value in (("present", self.present), ("absent", self.absent))
        )
        return present, absent


class SuggestRequest(DocumentsRequest):
    model_config = _config(
        {"text": EXAMPLE_TEXT, "top_k": 5, "new_terms": 3},
        {"documents": [{"id": "a", "text": EXAMPLE_TEXT}], "min_confidence": 0.2},
        **_EITHER,
    )

    vocabulary: str
    min_confidence: float
    new_terms: int


class RankRequest(_Body):
    model_config = _config({"text": EXAMPLE_TEXT, "phrases": ["sea ice", "remote sensing", "databases"]})

    text: str
    phrases: list[str]
    top_k: int
    settings: SettingsBody
    explain: bool = _EXPLAIN


class BaselineRequest(_Body):
    model_config = _config({"text": EXAMPLE_TEXT, "system": "textrank", "top_k": 5})

    text: str
    system: str = Field(max_length=100, description="A name listed by /v1/baselines.")
    top_k: int


class JobOptions(SettingsBody):
    """What is wanted of a corpus, as the parameters of a query: strings."""

    model_config = ConfigDict(strict=False)
    place = "The query"

    top_k: int
    mode: _Mode = _MODE
    explain: bool = _EXPLAIN


class RequestModels:
    """The models above with the limits of a service put in: what it accepts, and what its OpenAPI document says."""

    def __init__(self, limits: ServiceLimits, defaults: Settings, vocabularies: Sequence[str] = ()) -> None:
        text = Annotated[str, Field(max_length=limits.characters, description="The document's text.")]
        short = Annotated[str, Field(max_length=limits.baseline_characters, description="The document's text.")]
        top_k = (_number("int", 0, limits.top_k, "How many phrases of each kind."), 10)
        settings = with_fields(SettingsBody, **_settings_fields(defaults))
        options: dict[str, Any] = {"top_k": top_k, "settings": (settings, Field(default_factory=settings))}
        # Items of any type: what is wrong with one document is reported in its place among the results.
        many: Any = Field(default_factory=list, min_length=1, max_length=limits.documents)
        one: dict[str, Any] = {"text": (text, Field(default_factory=str))}
        rows = {**one, "documents": (list[Any], many)}
        phrase = Annotated[str, Field(max_length=500)]
        phrases = Field(max_length=limits.phrases, fail_fast=True, description="The phrases to score.")

        self.document = with_fields(DocumentBody, text=(text, ...))
        given = list[Annotated[self.document | Any, SkipValidation]]  # type: ignore[name-defined]
        one_or_many = {**one, "documents": (given, many)}
        self.keyphrases = with_fields(KeyphrasesRequest, **one_or_many, **options)
        self.job = with_fields(JobOptions, top_k=top_k, **_settings_fields(defaults))
        self.expand = with_fields(ExpandRequest, **rows, **options, **_expansion(min(limits.top_k, 1000)))
        self.rank = with_fields(RankRequest, text=(text, ...), phrases=(list[phrase], phrases), **options)
        self.suggest = with_fields(SuggestRequest, **one_or_many, **_suggestion(limits.top_k, vocabularies))
        self.baseline = with_fields(BaselineRequest, text=(short, ...), top_k=top_k)


_Model = TypeVar("_Model", bound=BaseModel)


def with_fields(base: type[_Model], **fields: Any) -> type[_Model]:
    """The model with these fields, each a type and a default, put in."""
    return create_model(base.__name__, __base__=base, **fields)


def _expansion(most: int) -> dict[str, Any]:
    plain = QueryOptions()
    helps = {
        "present": "How many phrases of the text itself, at most; 'top_k' is for both.",
        "absent": "How many phrases of similar documents, at most.",
        "terms": "Queries: how many of the model's best words that the query does not have, at most.",
    }
    counts = {name: (_number("int", 0, most, help), min(getattr(plain, name), most)) for name, help in helps.items()}
    weight = _number("float", 0, 0.9, "Queries: the share of the longer query that its phrases have.")
    format = "Queries: also give, in 'query', what this engine takes: a string or the body of a request."
    return {**counts, "weight": (weight, plain.weight), "format": _choice("Engine", Engine, format)}


def _suggestion(most: int, vocabularies: Sequence[str]) -> dict[str, Any]:
    known = Literal[tuple(vocabularies)] if vocabularies else str
    name = Field(next(iter(vocabularies), ""), description="A name listed by /v1/info; the first one by default.")
    return {
        "vocabulary": (known, name),
        "top_k": (_number("int", 0, most, "How many concepts at most."), 10),
        "min_confidence": (_number("float", 0, 1, "The lowest confidence of a concept."), 0.0),
        "new_terms": (_number("int", 0, most, "How many terms that the vocabulary lacks, at most."), 0),
    }


def _settings_fields(defaults: Settings) -> dict[str, Any]:
    fields: dict[str, Any] = {"style": _choice("Style", Literal[tuple(STYLES)], "Lists for different readers.")}
    for f in dataclasses.fields(Settings):
        low, high, help = f.metadata.get("low"), f.metadata.get("high"), f.metadata["help"]
        fields[f.name] = _number(str(f.type), low, high, help), getattr(defaults, f.name)
    return fields


def _choice(name: str, values: Any, help: str) -> Any:
    """A field for one of these values, or null; the type has a name, which generated clients use."""
    return TypeAliasType(name, values) | None, Field(None, description=help)


def _number(kind: str, low: float | None, high: float | None, help: str) -> Any:
    if kind == "bool":
        return Annotated[bool, Field(description=help)]
    # In JSON 2.0 is a whole number too.
    whole = BeforeValidator(lambda value: int(value) if isinstance(value, float) and value.is_integer() else value)
    limited = Field(ge=low, le=high, description=help)
    return Annotated[int, limited, whole] if kind == "int" else Annotated[float, limited]


def check(model: type[_Model], given: Any, name: str = "") -> _Model:
    """The checked body; raises a Problem (422, or 413 for what is too long) that says what is wrong and where."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _problem(error.errors(include_url=False)[0], model, name) from None


_KINDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def _problem(error: ErrorDetails, model: type[BaseModel], name: str) -> Problem:
    path = name + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
    where = f"'{path.removeprefix('.')}'" if path else "The body"
    match error["type"]:
        case "missing":
            return Problem(422, f"{where} is missing; give it.")
        case "string_too_long":
            most = error["ctx"]["max_length"]
            return Problem(413, f"{where} is longer than {most} characters; shorten or split it.")
        case "too_long":
            return Problem(413, f"{where} has more than {error['ctx']['max_length']} entries; send fewer at a time.")
        case "too_short":
            return Problem(422, f"{where} is empty; give at least one entry.")
        case "value_error":
            return Problem(422, f"{where}: {error['ctx']['error']}")
        case "string_unicode":
            return Problem(422, f"{where} holds half of a surrogate pair; send valid Unicode.")
    schema, given = _schema_at(model, error["loc"]), shown(error["input"])
    if "enum" in schema and isinstance(error["input"], str):
        return Problem(422, f"{where} cannot be {given}; {did_you_mean(error['input'], schema['enum'])}")
    expected = _KINDS[schema["type"]]
    if "minimum" in schema:
        expected += f" from {schema['minimum']} to {schema['maximum']}"
    return Problem(422, f"{where} must be {expected}, not {given}.")


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _schema_at(model: type[BaseModel], place: tuple[int | str, ...]) -> dict[str, Any]:
    """The JSON Schema of a place in a body."""
    root = schema = _schema(model)
    for part in place:
        schema = schema["items"] if isinstance(part, int) else schema["properties"][part]
        # What may be null has another form, which is what to send.
        schema = schema.get("anyOf", [schema])[0]
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def shown(value: Any) -> str:
    """The value as JSON, shortened."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number that large"
    if isinstance(value, str) and len(value) > 40:
        value = f"{value[:40]}…"
    return json.dumps(value, ensure_ascii=False)
