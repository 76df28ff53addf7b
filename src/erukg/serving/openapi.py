"""The OpenAPI document, from the schemas that requests are checked against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from erukg._version import __version__

if TYPE_CHECKING:
    from erukg.serving.service import Service

__all__ = ["describe"]

_TEXT = (
    "Sea ice thickness from passive microwave radiometry\nWe estimate the thickness of thin sea ice from brightness "
    "temperatures measured by satellites."
)
_NUMBER = {"type": "number"}
_STRING = {"type": "string"}
_SPANS = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    "description": "Start and end of each occurrence, counted in Unicode code points of the text as it was sent. "
    "(JavaScript counts UTF-16 units: a character outside the Basic Multilingual Plane is one here and two there.)",
}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [p for p in properties if p not in optional]}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _schemas(service: Service) -> dict[str, Any]:
    term = _object({"term": _STRING, "document": _NUMBER, "neighbours": _NUMBER, "weight": _NUMBER})
    explanation = _object(
        {
            "terms": _list(term),
            "informativeness": _NUMBER,
            "phraseness": _NUMBER,
            "phraseness_document": _NUMBER,
            "phraseness_neighbours": _NUMBER,
            "position": _NUMBER,
            "words_before": {"type": ["integer", "null"]},
            "factors": {
                "type": "object",
                "additionalProperties": _NUMBER,
                "description": "Their product is the score.",
            },
        }
    )
    phrase = {"phrase": _STRING, "score": _NUMBER, "explanation": _ref("Explanation")}
    source = _object({"id": _STRING, "share": _NUMBER})
    found = _object(
        {"id": {"type": ["string", "null"]}, "present": _list(_ref("Present")), "absent": _list(_ref("Absent"))}
    )
    refused = _object({"id": {"type": ["string", "null"]}, "error": _STRING})
    tail = {
        "model": _STRING,
        "collection": {"anyOf": [_object({"documents": {"type": "integer"}}), {"type": "null"}]},
        "took_ms": _NUMBER,
    }
    return {
        "Error": _object({"error": {**_STRING, "description": "One sentence: what was wrong and what to do."}}),
        "Document": service.schemas.document,
        "Explanation": explanation,
        "Present": _object({**phrase, "spans": _SPANS}, "explanation"),
        "Absent": _object({**phrase, "sources": _list(source)}, "explanation"),
        "Found": found,
        "Refused": refused,
        "Keyphrases": _object({"results": _list({"oneOf": [_ref("Found"), _ref("Refused")]}), **tail}),
        "Expanded": _object(
            {
                "results": _list(
                    {"type": "object", "description": "The document with 'present' and 'absent' added, or an 'error'."}
                ),
                **tail,
            }
        ),
        "Ranked": _object({"results": _list(_ref("Present")), "took_ms": _NUMBER}),
        "Baseline": _object({"results": _list(_object({"phrase": _STRING, "score": _NUMBER})), "took_ms": _NUMBER}),
        "Baselines": _object({"results": _list(_object({"name": _STRING, "label": _STRING}))}),
        "Text": _object({"text": _STRING, "pages": {"type": "integer"}}, "pages"),
        "Info": _object(
            {
                "version": _STRING,
                "model": _STRING,
                "collection": tail["collection"],
                "settings": {"type": "object"},
                "limits": {"type": "object"},
            }
        ),
        "Status": _object({"status": _STRING}),
    }


_REFUSALS = {
    "400": "The body is not JSON in UTF-8, or not a form.",
    "401": "An API key is needed.",
    "404": "There is no such thing.",
    "408": "The body took too long to arrive.",
    "413": "The request is larger than a limit.",
    "415": "The body is of another type.",
    "422": "The body is not what is asked for.",
    "429": "The service is busy; Retry-After says for how many seconds.",
    "503": "The service is warming up or stopping.",
    "504": "The answer took too long.",
}


def _answers(schema: str, *refusals: str) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": "The answer.", "content": _json(_ref(schema))}}
    for status in refusals:
        answers[status] = {"description": _REFUSALS[status], "content": _json(_ref("Error"))}
    retry = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}
    if "429" in answers:
        answers["429"]["headers"] = retry
    return answers


def _json(schema: Any, **more: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema, **more}}


def _post(summary: str, body: Any, examples: dict[str, Any], schema: str, *more: str) -> dict[str, Any]:
    named = {name: {"value": value} for name, value in examples.items()}
    refusals = ("400", "401", "408", "413", "415", "422", "429", "504")
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": _json(body, examples=named)},
            "responses": _answers(schema, *sorted({*refusals, *more})),
        }
    }


def _get(summary: str, schema: str, *refusals: str, security: bool = True) -> dict[str, Any]:
    operation: dict[str, Any] = {"summary": summary, "responses": _answers(schema, *refusals)}
    return {"get": operation if security else {**operation, "security": []}}


def describe(service: Service) -> dict[str, Any]:
    """The OpenAPI 3.1 document of this service, with its limits and defaults."""
    schemas = service.schemas
    names = [baseline["name"] for baseline in service.baselines.list()] or ["textrank"]
    binary: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
    form = {
        "schema": {
            "type": "object",
            "properties": {"file": binary["schema"]},
            "required": ["file"],
        }
    }
    read = _post("The text of a PDF or text file.", {}, {}, "Text")
    read["post"]["requestBody"]["content"] = {
        "application/pdf": binary,
        "text/plain": {"schema": {"type": "string", "minLength": 1}, "examples": {"text": {"value": _TEXT}}},
        "multipart/form-data": form,
    }
    paths = {
        "/v1/keyphrases": _post(
            "Keyphrases of one document or of many: those in the text, and those not in it.",
            {"oneOf": list(schemas.keyphrases)},
            {
                "one": {"text": _TEXT, "top_k": 5},
                "many": {"documents": [{"id": "a", "text": _TEXT}, {"text": "Another one."}], "mode": "extract"},
                "settings": {"text": _TEXT, "settings": {"alpha": 0.6, "diversity": 0.3}, "explain": True},
            },
            "Keyphrases",
        ),
        "/v1/rank": _post(
            "Your own phrases by how well they describe a text.",
            schemas.rank,
            {"three": {"text": _TEXT, "phrases": ["sea ice", "remote sensing", "databases"]}},
            "Ranked",
        ),
        "/v1/expand": _post(
            "Documents again, with their keyphrases in fields of their own, for a search engine.",
            {"oneOf": list(schemas.expand)},
            {"two": {"documents": [{"_id": "1", "title": "Sea ice", "text": _TEXT}], "append": True}},
            "Expanded",
        ),
        "/v1/read": read,
        "/v1/baseline": _post(
            "What another extractor finds in a text.",
            schemas.baseline,
            {"one": {"text": _TEXT, "system": names[0], "top_k": 5}},
            "Baseline",
            "404",
        ),
        "/v1/baselines": _get("The other extractors there are.", "Baselines", "401"),
        "/v1/info": _get("Version, model, collection, settings with their ranges, limits.", "Info", "401"),
        "/healthz": _get("Whether the process is alive.", "Status", security=False),
        "/readyz": _get("Whether it is loaded, warm and not stopping.", "Status", "503", security=False),
        "/metrics": {
            "get": {
                "summary": "Numbers for Prometheus.",
                "responses": {
                    "200": {
                        "description": "Prometheus' text format.",
                        "content": {"text/plain": {"schema": _STRING}},
                    },
                    "401": {"description": _REFUSALS["401"], "content": _json(_ref("Error"))},
                },
            }
        },
    }
    keys: dict[str, Any] = {
        "bearer": {"type": "http", "scheme": "bearer"},
        "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    }
    out: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "erukg",
            "version": __version__,
            "description": 'Keyphrases, present in a text and absent from it. Errors are always {"error": sentence}.',
        },
        "paths": paths,
        "components": {"schemas": _schemas(service)},
    }
    if service.keys:
        out["components"]["securitySchemes"] = keys
        out["security"] = [{name: []} for name in keys]
    return out
