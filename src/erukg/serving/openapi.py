"""The OpenAPI document, made from the models that requests are checked with and answers consist of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from erukg._version import __version__
from erukg.serving import response_models as answers
from erukg.serving.request_models import RequestModels

__all__ = ["describe"]

_TEXT = (
    "Sea ice thickness from passive microwave radiometry\nWe estimate the thickness of thin sea ice from brightness "
    "temperatures measured by satellites."
)
_ABOUT = (
    'Keyphrases, present in a text and absent from it. Errors are always {"error": sentence}. Spans count Unicode code '
    "points of the text as it was sent (JavaScript counts UTF-16 units: a character outside the Basic Multilingual "
    "Plane is one here and two there)."
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
_POST_STATUSES = (400, 401, 408, 413, 415, 422, 429, 504)


def describe(models: RequestModels, baselines: Sequence[str], *, keys: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a service with these request models and baselines, guarded by API `keys` or not."""
    classes: list[tuple[Any, Any]] = [(model, "validation") for model in vars(models).values()]
    classes += [(model, "serialization") for model in vars(answers).values() if _is_answer(model)]
    _, schemas = models_json_schema(classes, ref_template="#/components/schemas/{model}")
    components: dict[str, Any] = {"schemas": schemas["$defs"]}
    out: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "erukg", "version": __version__, "description": _ABOUT},
        "paths": _posts(models, baselines) | _gets(),
        "components": components,
    }
    if keys:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        out["security"] = [{name: []} for name in components["securitySchemes"]]
    return out


def _is_answer(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == answers.__name__


def _posts(models: RequestModels, baselines: Sequence[str]) -> dict[str, Any]:
    many = {"documents": [{"id": "a", "text": _TEXT}, {"text": "Another one."}], "mode": "extract"}
    changed = {"text": _TEXT, "settings": {"alpha": 0.6, "diversity": 0.3}, "explain": True}
    rows = [{"_id": "1", "title": "Sea ice", "text": _TEXT}]
    return {
        "/v1/keyphrases": _post(
            "Keyphrases of one or many documents: those present in the text, and those absent from it.",
            _json(models.keyphrases, one={"text": _TEXT, "top_k": 5}, many=many, settings=changed),
            answers.KeyphraseResults,
        ),
        "/v1/rank": _post(
            "Your own phrases, ranked by how well they describe a text.",
            _json(models.rank, three={"text": _TEXT, "phrases": ["sea ice", "remote sensing", "databases"]}),
            answers.RankResults,
        ),
        "/v1/expand": _post(
            "Documents with their keyphrases added in separate fields, for a search engine.",
            _json(models.expand, rows={"documents": rows, "append": True}),
            answers.ExpandResults,
        ),
        "/v1/read": _post("The text of a PDF or text file.", _file(), answers.FileText),
        "/v1/baseline": _post(
            "The keyphrases that another extractor finds in a text.",
            _json(models.baseline, **{name: {"text": _TEXT, "system": name, "top_k": 5} for name in baselines[:1]}),
            answers.BaselineResults,
            404,
        ),
    }


def _gets() -> dict[str, Any]:
    return {
        "/v1/baselines": _get("The other extractors available.", answers.BaselineList, 401),
        "/v1/info": _get("Version, model, collection, settings and their ranges, factors, limits.", answers.Info, 401),
        "/healthz": _get("Whether the process is alive.", answers.Status, public=True),
        "/readyz": _get("Whether it is loaded, warm and not stopping.", answers.Status, 503, public=True),
        "/metrics": _get("Metrics for Prometheus.", None, 401),
    }


def _post(summary: str, content: dict[str, Any], answer: type[BaseModel], *statuses: int) -> dict[str, Any]:
    body = {"required": True, "content": content}
    responses = _responses(answer, *_POST_STATUSES, *statuses)
    return {"post": {"summary": summary, "requestBody": body, "responses": responses}}


def _get(summary: str, answer: type[BaseModel] | None, *statuses: int, public: bool = False) -> dict[str, Any]:
    operation = {"summary": summary, "responses": _responses(answer, *statuses)}
    return {"get": {**operation, "security": []} if public else operation}


def _responses(answer: type[BaseModel] | None, *statuses: int) -> dict[str, Any]:
    content = _json(answer) if answer else {"text/plain": {"schema": {"type": "string"}}}
    out: dict[str, Any] = {"200": {"description": "The answer.", "content": content}}
    for status in sorted(statuses):
        out[str(status)] = {"description": _STATUSES[status], "content": _json(answers.Error)}
        if status == 429:
            seconds = {"schema": {"type": "integer"}, "description": "Seconds to wait."}
            out[str(status)]["headers"] = {"Retry-After": seconds}
    return out


def _json(model: type[BaseModel], **examples: Any) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
    if examples:
        content["examples"] = {name: {"value": value} for name, value in examples.items()}
    return {"application/json": content}


def _file() -> dict[str, Any]:
    binary = {"type": "string", "format": "binary"}
    form = {"type": "object", "properties": {"file": binary}, "required": ["file"]}
    text = {"schema": {"type": "string", "minLength": 1}, "examples": {"text": {"value": _TEXT}}}
    return {"application/pdf": {"schema": binary}, "text/plain": text, "multipart/form-data": {"schema": form}}
