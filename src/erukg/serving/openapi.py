"""The OpenAPI document, made from the models that requests are checked with and the classes that answers are made of.

Results are the dataclasses of `erukg.core.results` and `erukg.subjects.results`; nothing of them is repeated here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from erukg._version import __version__
from erukg.core.results import Keyphrase, Keyphrases
from erukg.serving.request_models import EXAMPLE_TEXT
from erukg.subjects.results import Suggestions

__all__ = ["Operation", "describe"]


class Error(BaseModel):
    error: str = Field(description="One sentence: what was wrong and what to do.")


class Status(BaseModel):
    status: str


class CollectionInfo(BaseModel):
    documents: int


class _Results(BaseModel):
    model: str
    collection: CollectionInfo | None
    took_ms: float


class KeyphraseResults(_Results):
    results: list[Keyphrases] = Field(description="One per document, in order; one that failed has only id and error.")


class ExpandResults(_Results):
    results: list[dict[str, Any]] = Field(
        description="The documents with 'present' and 'absent' added, or an 'error'. Queries with 'expansion', a list "
        "of {phrase, kind, weight}, and 'query' as the format takes it, null for one without words."
    )


class RankResults(BaseModel):
    results: list[Keyphrase]
    took_ms: float


class SuggestResults(_Results):
    results: list[Suggestions] = Field(description="One per document, in order; one that failed has only id and error.")
    vocabulary: str


class VocabularyInfo(BaseModel):
    name: str
    languages: list[str] = Field(description="That of the labels first.")
    concepts: int
    tagged: int = Field(description="How many documents carry tags that vote.")
    learned: bool = Field(description="Whether its ranking was learned from tagged documents.")


class BaselineList(BaseModel):
    results: list[dict[str, str]] = Field(description="The name of each, and a label for people.")


class FileText(BaseModel):
    text: str
    pages: int | None = None


class Info(BaseModel):
    version: str
    model: str
    collection: CollectionInfo | None
    settings: dict[str, dict[str, Any]] = Field(description="The value, range and help of each setting.")
    factors: dict[str, dict[str, str]] = Field(description="The label and help of each factor of a score.")
    vocabularies: list[VocabularyInfo]
    limits: dict[str, float]


@dataclass(frozen=True)
class Operation:
    """A method on a path: its handler, whose docstring describes it, and the models of its body and its answer.

    The body of a POST without a model is a file, with one it is JSON, or a form; an answer without one is plain text.
    `query` is the model of the query's parameters, and `names` are the known values of a parameter in the path.
    """

    method: str
    path: str
    handler: Callable[[Request], Awaitable[Response]]
    answer: type[BaseModel] | None
    body: type[BaseModel] | None = None
    statuses: tuple[int, ...] = (401,)
    form: bool = False
    query: type[BaseModel] | None = None
    names: tuple[str, ...] = ()
    error: type[BaseModel] = Error


_ABOUT = (
    'Keyphrases, present in a text and absent from it, and concepts of vocabularies. Errors are {"error": sentence}, '
    "on the paths of Annif's REST API as Annif has them. Spans count Unicode code points of the text as it was sent "
    "(JavaScript counts UTF-16 units: a character outside the Basic Multilingual Plane is one here and two there)."
)
_STATUSES = {
    400: "The body is not JSON in UTF-8, or not a form.",
    401: "An API key is needed.",
    404: "There is no such resource.",
    408: "The body took too long to arrive.",
    413: "The request exceeds a limit.",
    415: "The body has another media type.",
    422: "The body does not match the schema.",
    429: "The service is busy; Retry-After says for how many seconds.",
    503: "The service is warming up or stopping.",
    504: "The answer took too long.",
}
_POST_STATUSES = (400, 408, 413, 415, 422, 429, 504)
_JSON = "application/json"
_FILE = {"type": "string", "format": "binary"}
_FILE_BODY = {
    "application/pdf": {"schema": _FILE},
    "text/plain": {"schema": {"type": "string", "minLength": 1, "examples": [EXAMPLE_TEXT]}},
    "multipart/form-data": {"schema": {"type": "object", "properties": {"file": _FILE}, "required": ["file"]}},
}
_KEYS: dict[str, Any] = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}


def describe(operations: Sequence[Operation], *, keys: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these operations, guarded by API `keys` or not."""
    classes: list[tuple[Any, Any]] = [(Error, "serialization")]
    classes += [(o.answer, "serialization") for o in operations if o.answer]
    classes += [(o.body, "validation") for o in operations if o.body]
    classes += [(o.error, "serialization") for o in operations]
    _, schemas = models_json_schema(classes, ref_template="#/components/schemas/{model}")
    return {
        "openapi": "3.1.0",
        "info": {"title": "erukg", "version": __version__, "description": _ABOUT},
        "paths": {o.path: {o.method.lower(): _operation(o)} for o in operations},
        "components": {"schemas": schemas["$defs"], "securitySchemes": _KEYS if keys else {}},
        "security": [{name: []} for name in _KEYS] if keys else [],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    out: dict[str, Any] = {"summary": operation.handler.__doc__}
    statuses = operation.statuses
    if operation.method == "POST":
        kind = "application/x-www-form-urlencoded" if operation.form else _JSON
        content = _content(operation.body, kind) if operation.body else _FILE_BODY
        out["requestBody"] = {"required": True, "content": content}
        statuses += _POST_STATUSES
    if parameters := _parameters(operation):
        out["parameters"] = parameters
    if 401 not in statuses:
        out["security"] = []
    content = _content(operation.answer) if operation.answer else {"text/plain": {"schema": {"type": "string"}}}
    out["responses"] = {"200": {"description": "The answer.", "content": content}}
    kind = _JSON if operation.error is Error else "application/problem+json"
    for status in sorted(statuses):
        out["responses"][str(status)] = {"description": _STATUSES[status], "content": _content(operation.error, kind)}
    if 429 in statuses:
        seconds = {"schema": {"type": "integer"}, "description": "Seconds to wait."}
        out["responses"]["429"]["headers"] = {"Retry-After": seconds}
    return out


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    known = {"enum": list(operation.names)} if operation.names else {}
    out: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", **known}}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    schema = operation.query.model_json_schema() if operation.query else {"properties": {}}
    return out + [{"name": name, "in": "query", "schema": each} for name, each in schema["properties"].items()]


def _content(model: type[BaseModel], kind: str = _JSON) -> dict[str, Any]:
    return {kind: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
