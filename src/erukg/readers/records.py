"""Documents given as fields (JSON objects, CSV rows): which fields count and how they become one text."""

from __future__ import annotations

from collections.abc import Mapping

from erukg.errors import InputError
from erukg.readers.items import InputDocument

__all__ = ["TEXT_FIELDS", "document_from", "given_id"]

TEXT_FIELDS = ("title", "abstract", "text")


def document_from(fields: Mapping[str, object], name: str, number: int) -> InputDocument:
    """A document from its fields: title, abstract and text joined by newlines, its id or else `name:number`."""
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
    return InputDocument(given_id(fields) or place, "\n".join(parts), place, fields)


def given_id(fields: Mapping[str, object]) -> str | None:
    """The document's own id: the field `id`, or `_id` as BEIR calls it; None when it has neither."""
    for field in ("id", "_id"):
        given = fields.get(field)
        if given is None or given == "":
            continue
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise InputError(f"Field '{field}' must be a string or a whole number, not {_kind(given)}.")
        return str(given)
    return None


def _kind(value: object) -> str:
    names = {list: "a list", dict: "an object", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
