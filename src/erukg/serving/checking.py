"""Checks plain data against the part of JSON Schema that this service's own schemas use.

One schema thus both describes a request in the OpenAPI document and refuses what does not fit it, with a sentence
that names the place.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from erukg.serving.problems import Problem

__all__ = ["check", "shown"]

_NAMES = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def check(value: Any, schema: Mapping[str, Any], where: str = "") -> Any:
    """The value, with defaults put in; raises a Problem (422, for what is too long 413) where it does not fit."""
    kind = schema.get("type")
    if kind is None:
        return value
    name = f"'{where}'" if where else "The body"
    if not _is(kind, value):
        raise Problem(422, f"{name} must be {_range(kind, schema)}, not {shown(value)}.")
    if "enum" in schema and value not in schema["enum"]:
        raise _no_such(f"{name} cannot be", value, schema["enum"])
    if kind == "string":
        return _string(value, schema, name)
    if kind in ("integer", "number"):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            raise Problem(422, f"{name} must be {_range(kind, schema)}, not {shown(value)}.")
        return int(value) if kind == "integer" else float(value)
    if kind == "array":
        return _array(value, schema, where, name)
    if kind == "object":
        return _object(value, schema, where, name)
    return value


def shown(value: Any) -> str:
    """The value as JSON, shortened."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a number that large"
    if isinstance(value, str) and len(value) > 40:
        value = f"{value[:40]}…"
    return json.dumps(value, ensure_ascii=False)


def _is(kind: str, value: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "array":
        return isinstance(value, list)
    if kind == "object":
        return isinstance(value, dict)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return kind == "number" or isinstance(value, int) or value.is_integer()


def _range(kind: str, schema: Mapping[str, Any]) -> str:
    out = _NAMES[kind]
    if "minimum" in schema and "maximum" in schema:
        out += f" from {schema['minimum']} to {schema['maximum']}"
    return out


def _string(value: str, schema: Mapping[str, Any], name: str) -> str:
    if len(value) > schema.get("maxLength", len(value)):
        raise Problem(413, f"{name} is longer than {schema['maxLength']} characters; shorten or split it.")
    if len(value) < schema.get("minLength", 0):
        raise Problem(422, f"{name} is empty.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        sentence = f"{name} holds half of a surrogate pair at character {error.start}; send valid Unicode."
        raise Problem(422, sentence) from None
    return value


def _array(value: list[Any], schema: Mapping[str, Any], where: str, name: str) -> list[Any]:
    if len(value) > schema.get("maxItems", len(value)):
        raise Problem(413, f"{name} has more than {schema['maxItems']} entries; send fewer at a time.")
    if len(value) < schema.get("minItems", 0):
        raise Problem(422, f"{name} is empty.")
    items = schema.get("items", {})
    return [check(item, items, f"{where}[{i}]") for i, item in enumerate(value)] if "type" in items else value


def _object(value: dict[str, Any], schema: Mapping[str, Any], where: str, name: str) -> dict[str, Any]:
    fields: Mapping[str, Any] = schema.get("properties", {})
    if not schema.get("additionalProperties", True):
        for key in value:
            if key not in fields:
                raise _no_such(f"{name} has no field", key, fields)
    out = dict(value)
    for key, field in fields.items():
        if key in value:
            out[key] = check(value[key], field, f"{where}.{key}" if where else key)
        elif key in schema.get("required", ()):
            raise Problem(422, f"{name} has no '{key}'; give one.")
        elif "default" in field:
            out[key] = field["default"]
    return out


def _no_such(what: str, given: Any, known: Any) -> Problem:
    near = difflib.get_close_matches(str(given)[:100], list(known), 1)
    hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(known)}."
    return Problem(422, f"{what} {shown(given)}; {hint}")
