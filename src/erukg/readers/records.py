"""Documents given as fields (JSON objects, CSV rows): which fields count and how they become one text."""

from __future__ import annotations

from collections.abc import Mapping

from erukg.errors import InputError
from erukg.readers.items import InputDocument

__all__ = ["TEXT_FIELDS", "document_from"]

TEXT_FIELDS = ("title", "abstract", "text")


def document_from(fields: Mapping[str, object], name: str, number: int) -> InputDocument:
    """A document from its fields: title, abstract and text joined by newlines, id or else `name:number`."""
    place = f"{name}:{number}"
    parts: list[str] = []
    found = False
    for field in TEXT_FIELDS:
        value = fields.get(field)
        if value is None:
            continue
        if not isinstance(value, str):
            raise InputError(f"Field '{field}' must be a string, not {_kind(value)}.")
        found = True
        if value:
            parts.append(value)
    if not found:
        names = ", ".join(repr(str(key)[:40]) for key in list(fields)[:8]) or "none"
        raise InputError(f"It has none of the fields 'title', 'abstract' and 'text' (its fields: {names}).")
    given = fields.get("id")
    if given is None or given == "":
        given = place
    elif isinstance(given, bool) or not isinstance(given, str | int):
        raise InputError(f"Field 'id' must be a string or a whole number, not {_kind(given)}.")
    return InputDocument(str(given), "\n".join(parts), place)


def _kind(value: object) -> str:
    names = {list: "a list", dict: "an object", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
