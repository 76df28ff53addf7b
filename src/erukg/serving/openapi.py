"""The OpenAPI document, made from the models that requests are checked with and that answers are made of."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core.core_schema import DataclassSchema
from starlette.requests import Request
from starlette.responses import Response

from erukg._version import __version__
from erukg.io.extraction import KINDS
from erukg.serving.answers import ProblemDetails, StreamLine
from erukg.serving.problems import PROBLEM_TYPE, STATUSES
from erukg.serving.request_models import EXAMPLE_TEXT

__all__ = ["FILE", "JSON_LINES", "NDJSON", "TAGS", "TEXT", "Operation", "describe"]

TAGS = {
    "Keyphrases": "Phrases that describe a text, from it and from texts like it.",
    "Search": "What a search engine is given.",
    "Subjects": "Concepts of vocabularies.",
    "Jobs": "A corpus at a time, worked off in the background; for a service started with --jobs-folder.",
    "Files": "From a file to its text.",
    "Comparison": "What other extractors find.",
    "Service": "The service itself.",
    "Annif": "Annif's REST API, for what speaks to Annif; its errors are as Annif has them.",
}
_ABOUT = (
    "Keyphrases, present in a text and absent from it, and concepts of vocabularies. Errors are problems (RFC 9457) "
    "with stable codes. Bodies may come with Content-Encoding: gzip. Spans count Unicode code points of the text as it "
    "was sent (JavaScript counts UTF-16 units: a character outside the Basic Multilingual Plane counts as one here)."
)
_ALWAYS = (400, 421, 431, 500)
_WITH_BODY = (403, 408, 413, 415, 422, 429, 504)
_JSON, NDJSON = "application/json", "application/x-ndjson"
_BYTES = {"type": "string", "format": "binary"}
FILE = {
    "multipart/form-data": {"schema": {"type": "object", "properties": {"file": _BYTES}, "required": ["file"]}},
    **{kind.media_type: {"schema": _BYTES} for kind in KINDS.values()},
    "text/plain": {"schema": {"type": "string", "minLength": 1, "examples": [EXAMPLE_TEXT]}},
}
_LINES = "".join(json.dumps({"id": id, "title": "Sea ice", "text": EXAMPLE_TEXT}) + "\n" for id in "ab")
JSON_LINES = {
    NDJSON: {"schema": {"type": "string", "minLength": 1, "examples": [_LINES], "description": "A document per line."}},
    "application/octet-stream": {"schema": _BYTES},
}
TEXT = {"text/plain": {"schema": {"type": "string"}}}
_KEYS: dict[str, Any] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


@dataclass(frozen=True)
class Operation:
    """A method on a path: its handler, whose name and docstring it goes by, and the models of its body and its answer.

    Bodies and answers without a model are the content of each media type. `query` is the model of the query's
    parameters, `names` are the known values of a parameter in the path, `stream` says that JSON Lines can be asked for.
    """

    tag: str
    method: str
    path: str
    handler: Callable[[Request], Awaitable[Response | BaseModel]]
    answer: type[BaseModel] | Mapping[str, Any]
    body: type[BaseModel] | Mapping[str, Any] | None = None
    statuses: tuple[int, ...] = (401,)
    form: bool = False
    stream: bool = False
    query: type[BaseModel] | None = None
    names: tuple[str, ...] = ()
    success: int = 200
    error: type[BaseModel] = ProblemDetails

    @property
    def errors(self) -> list[int]:
        changing = _WITH_BODY if self.body else (403,) if self.method != "GET" else (422,) if self.query else ()
        return sorted({*self.statuses, *_ALWAYS, *changing})


class _Schemas(GenerateJsonSchema):
    """Dataclasses as their `to_dict` writes them: what one with nothing in it has is always there."""

    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        out, made = super().dataclass_schema(schema), schema["cls"]
        fields = dataclasses.fields(made)
        missing = dataclasses.MISSING
        needed = [f for f in fields if f.default is missing and f.default_factory is missing]
        always = list(made(*[None] * len(needed)).to_dict() if hasattr(made, "to_dict") else out["properties"])
        out["description"], notes = _documented(made.__doc__ or "")
        for name, each in out["properties"].items():
            each.pop("default", None)
            if name not in always and "anyOf" in each:  # left out rather than null
                each |= next(one for one in each.pop("anyOf") if one != {"type": "null"})
            if name in notes and "$ref" not in each:
                each["description"] = notes[name]
        return {**out, "required": always}


def _documented(text: str) -> tuple[str, dict[str, str]]:
    """The first words of a class's docstring, and what it says of each field: lines of a name, two spaces and more."""
    about, _, table = text.partition("\n\n")
    notes = re.findall(r"^ *(\w+)  +(\S.*(?:\n {12,}\S.*)*)", table, re.MULTILINE)
    return " ".join(about.split()), {name: " ".join(words.split()) for name, words in notes}


def describe(operations: Sequence[Operation], *, keys: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these operations, guarded by API `keys` or not."""
    classes: list[tuple[Any, Any]] = [(StreamLine, "serialization")]
    for o in operations:
        classes += [(model, "serialization") for model in (o.answer, o.error) if isinstance(model, type)]
        classes += [(model, "validation") for model in (o.body, o.query) if isinstance(model, type)]
    _, made = models_json_schema(classes, ref_template="#/components/schemas/{model}", schema_generator=_Schemas)
    schemas = {name: _without_defaults(schema) for name, schema in made["$defs"].items()}
    paths: dict[str, Any] = {}
    for o in operations:
        paths.setdefault(o.path, {})[o.method.lower()] = _operation(o, schemas)
    for query in {o.query.__name__ for o in operations if o.query}:
        del schemas[query]
    shapes = {o.error: o.error.__name__ for o in operations}
    return {
        "openapi": "3.1.0",
        "info": {"title": "erukg", "version": __version__, "description": _ABOUT},
        "tags": [{"name": name, "description": about} for name, about in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                f"{name}{status}": _problem(shape, status) for shape, name in shapes.items() for status in STATUSES
            },
            "securitySchemes": _KEYS if keys else {},
        },
        "security": [{name: []} for name in _KEYS] if keys else [],
    }


def _operation(operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "tags": [operation.tag],
        "summary": operation.handler.__doc__,
    }
    if operation.body:
        kind = "application/x-www-form-urlencoded" if operation.form else _JSON
        out["requestBody"] = {"required": True, "content": _content(operation.body, kind)}
    if parameters := _parameters(operation, schemas):
        out["parameters"] = parameters
    if 401 not in operation.statuses:
        out["security"] = []
    content = _content(operation.answer)
    if operation.stream and isinstance(operation.answer, type):
        item = schemas[operation.answer.__name__]["properties"]["results"]["items"]
        content[NDJSON] = {"schema": {"allOf": [_reference(StreamLine), item]}}
        out["description"] = f"With Accept: {NDJSON}, a line for each document as soon as it is ready."
    out["responses"] = {str(operation.success): {"description": "The answer.", "content": content}}
    for status in operation.errors:
        out["responses"][str(status)] = {"$ref": f"#/components/responses/{operation.error.__name__}{status}"}
    return out


def _problem(shape: type[BaseModel], status: int) -> dict[str, Any]:
    seconds = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    more = {"headers": seconds} if status == 429 else {}
    _, meaning = STATUSES[status]
    return {"description": f"{meaning[0].upper()}{meaning[1:]}.", "content": _content(shape, PROBLEM_TYPE), **more}


def _parameters(operation: Operation, schemas: Mapping[str, Any]) -> list[dict[str, Any]]:
    known = {"enum": list(operation.names)} if operation.names else {}
    out: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", **known}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    asked = schemas[operation.query.__name__]["properties"] if operation.query else {}
    return out + [{"name": name, "in": "query", "schema": each} for name, each in asked.items()]


def _without_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with defaults in words: generated clients would send them, and override what goes by others."""
    for each in schema.get("properties", {}).values():
        default = each.pop("default", None)
        if default is not None and default != "":
            about = each.get("description", "").rstrip(".")
            each["description"] = f"{about} (by default {json.dumps(default)})".strip()
    return schema


def _content(model: type[BaseModel] | Mapping[str, Any], kind: str = _JSON) -> dict[str, Any]:
    return {kind: {"schema": _reference(model)}} if isinstance(model, type) else dict(model)


def _reference(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
