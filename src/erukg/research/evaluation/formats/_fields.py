"""Reading single fields, with complaints that name the field. The caller adds file and line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erukg.errors import InputError

__all__ = ["identifier", "phrases", "text", "words"]


def text(row: Mapping[str, Any], name: str) -> str:
    """A field that must be there and be a string."""
    if name not in row:
        raise InputError(f"the field '{name}' is missing")
    if not isinstance(row[name], str):
        raise InputError(f"the field '{name}' must be text, not {type(row[name]).__name__}")
    return str(row[name]).strip()


def words(row: Mapping[str, Any], name: str) -> str:
    """A field that must be there: text, or a list of words, which are joined by spaces."""
    if isinstance(row.get(name), list):
        if not all(isinstance(word, str) for word in row[name]):
            raise InputError(f"the field '{name}' must be a list of words")
        return " ".join(row[name]).strip()
    return text(row, name)


def phrases(row: Mapping[str, Any], name: str, separator: str | None = None) -> tuple[str, ...]:
    """A list of phrases, or, where `separator` is given, also one string of them. Blank ones are left out."""
    value = row.get(name)
    if separator is not None and isinstance(value, str):
        value = value.split(separator)
    if not isinstance(value, list) or not all(isinstance(phrase, str) for phrase in value):
        also = f" or a string of them parted by '{separator}'" if separator else ""
        raise InputError(f"the field '{name}' must be a list of phrases{also}")
    return tuple(stripped for phrase in value if (stripped := phrase.strip()))


def identifier(row: Mapping[str, Any], fallback: str | None) -> str:
    """The field `id`, text or whole number; `fallback` where a form may lack it."""
    value = row.get("id")
    if value is None or value == "":
        if fallback is None:
            raise InputError("the field 'id' is missing")
        return fallback
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"the field 'id' must be text or a whole number, not {type(value).__name__}")
    return str(value)
