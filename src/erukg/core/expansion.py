"""Keyphrases as search terms: added to a document or query, in fields of their own or in its text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from erukg.core.folding import fold
from erukg.core.inputs import TEXT_FIELDS, given_id
from erukg.errors import InputError

__all__ = ["FIELDS", "check_row", "distinct", "expand_row"]

FIELDS = ("present", "absent")


def distinct(phrases: Iterable[str]) -> list[str]:
    """The phrases in order, of those that differ only in case, hyphens or spacing the first."""
    out: dict[str, str] = {}
    for phrase in phrases:
        out.setdefault(fold(phrase) or phrase, phrase)
    return list(out.values())


def check_row(row: Mapping[str, Any], *, as_json: bool = True) -> None:
    """Refuse a row that could not be expanded, or not be written `as_json`, before any work is done on it."""
    if given_id(row) is None:
        raise InputError("It has neither '_id' nor 'id', so it could not be told from others.")
    _check_fields(row)
    if as_json:
        try:
            json.dumps(row, allow_nan=False)
        except ValueError as error:
            raise InputError("It holds a number that JSON cannot have.") from error


def _check_fields(row: Mapping[str, Any]) -> None:
    for field in FIELDS:
        if field in row:
            raise InputError(f"It has a field '{field}' already; give the file as it was before expansion.")


def expand_row(
    row: Mapping[str, Any], present: Sequence[str], absent: Sequence[str], *, append: bool = False
) -> dict[str, Any]:
    """The row with its keyphrases in the fields `present` and `absent`; all else stays as it was.

    With `append` they are also added, each once, on a line of their own to the text that a search engine
    indexes: the field `text`, or the last one there of `title`, `abstract` and `text`.
    """
    _check_fields(row)
    out = {**row, "present": list(present), "absent": list(absent)}
    phrases = distinct([*present, *absent])
    if append and phrases:
        field = next((name for name in reversed(TEXT_FIELDS) if isinstance(row.get(name), str)), "text")
        text = row.get(field) or ""
        out[field] = f"{text}\n{', '.join(phrases)}" if text else ", ".join(phrases)
    return out
