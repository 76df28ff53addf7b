"""What requests look like, as JSON Schema with this service's limits in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from erukg.core.expansion import FIELDS
from erukg.core.settings import Settings
from erukg.serving.limits import ServiceLimits

__all__ = ["RequestSchemas", "Schema", "settings_schema"]

Schema: TypeAlias = Mapping[str, Any]


def settings_schema(defaults: Settings) -> Schema:
    """An object with any of the settings; those left out are the service's own."""
    return _object({f.name: _setting(f, getattr(defaults, f.name)) for f in dataclasses.fields(Settings)}, default={})


def _setting(field: dataclasses.Field[Any], value: Any) -> Schema:
    if field.type == "bool":
        return {"type": "boolean", "description": field.metadata["help"]}
    return {
        "type": "integer" if field.type == "int" else "number",
        "minimum": field.metadata["low"],
        "maximum": field.metadata["high"],
        "description": f"{field.metadata['help']} (here {value})",
    }


def _object(properties: Mapping[str, Any], required: tuple[str, ...] = (), **more: Any) -> Schema:
    out = {"type": "object", "properties": dict(properties), "additionalProperties": False, **more}
    return {**out, "required": list(required)} if required else out


@dataclass(frozen=True)
class RequestSchemas:
    """The bodies of all requests. A body with `documents` is checked against the second of a pair."""

    keyphrases: tuple[Schema, Schema]
    expand: tuple[Schema, Schema]
    rank: Schema
    baseline: Schema
    document: Schema

    @classmethod
    def make(cls, limits: ServiceLimits, defaults: Settings) -> RequestSchemas:
        text = {"type": "string", "maxLength": limits.characters, "description": "The document's text."}
        id = {"type": "string", "maxLength": 1000, "description": "Your name for the document; it comes back."}
        top_k = {"type": "integer", "minimum": 0, "maximum": limits.top_k, "default": 10}
        settings = settings_schema(defaults)
        explain = {"type": "boolean", "default": False, "description": "Say what each score is made of."}
        mode = {
            "type": "string",
            "enum": ["generate", "extract"],
            "default": "generate",
            "description": "extract: only from the text itself, without the collection.",
        }
        # No type: what is wrong with one document is said in its place among the results.
        documents = {
            "type": "array",
            "minItems": 1,
            "maxItems": limits.documents,
            "items": {"description": "An object with a text and perhaps an id; see the schema Document."},
        }
        rows = {
            **documents,
            "items": {"description": "An object with title, abstract or text (or several) and any other fields."},
        }
        found = {"mode": mode, "top_k": top_k, "settings": settings, "explain": explain}
        added = {
            "append": {"type": "boolean", "default": False, "description": "Also add the phrases to the text."},
            "fields": {
                "type": "array",
                "items": {"type": "string", "enum": list(FIELDS)},
                "minItems": 1,
                "maxItems": len(FIELDS),
                "default": list(FIELDS),
                "description": "Which phrases to add.",
            },
            "top_k": top_k,
            "settings": settings,
        }
        phrases = {
            "type": "array",
            "items": {"type": "string", "maxLength": 500},
            "maxItems": limits.phrases,
            "description": "The phrases to score.",
        }
        system = {"type": "string", "maxLength": 100, "description": "A name listed by /v1/baselines."}
        short = {**text, "maxLength": limits.baseline_characters}
        return cls(
            keyphrases=(
                _object({"text": text, **found}, ("text",)),
                _object({"documents": documents, **found}, ("documents",)),
            ),
            expand=(
                _object({"text": text, **added}, ("text",)),
                _object({"documents": rows, **added}, ("documents",)),
            ),
            rank=_object(
                {"text": text, "phrases": phrases, "settings": settings, "top_k": top_k, "explain": explain},
                ("text", "phrases"),
            ),
            baseline=_object({"text": short, "system": system, "top_k": top_k}, ("text", "system")),
            document=_object({"id": id, "text": text}, ("text",)),
        )
