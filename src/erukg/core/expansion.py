"""Keyphrases as search terms: added to a document or query, in fields of their own or in its text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from erukg.core.folding import fold
from erukg.core.inputs import TEXT_FIELDS, given_id
from erukg.core.query_expansion import ExpandedQuery
from erukg.core.results import Keyphrases
from erukg.errors import InputError

__all__ = ["FIELDS", "QUERY_FIELDS", "best_phrases", "check_row", "distinct", "expand_query_row", "expand_row"]

#: What expansion adds to a document, and what to a query.
FIELDS = ("present", "absent")
QUERY_FIELDS = ("expansion",)


def distinct(phrases: Iterable[str]) -> list[str]:
    """The phrases in order, of those that differ only in case, hyphens or spacing the first."""
    out: dict[str, str] = {}
    for phrase in phrases:
        out.setdefault(fold(phrase) or phrase, phrase)
    return list(out.values())


def best_phrases(found: Keyphrases, present: int, absent: int) -> tuple[list[str], list[str]]:
    """The best phrases of either kind, at most so many, without those that have nothing to do with the text."""
    kinds = (found.present[:present], found.absent[:absent])
    first, second = ([k.phrase for k in phrases if k.score > 0] for phrases in kinds)
    return first, second


def check_row(row: Mapping[str, Any], *, as_json: bool = True, added: Sequence[str] = FIELDS) -> None:
    """Refuse a row that could not be expanded, or not be written `as_json`, before any work is done on it.

    `added` are the fields that expansion adds.
    """
    if given_id(row) is None:
        raise InputError("It has neither '_id' nor 'id', so it could not be told from others.")
    _check_fields(row, added)
    if as_json:
        try:
            json.dumps(row, allow_nan=False, default=str)  # dates and the like, which tables have
        except ValueError as error:
            raise InputError("It holds a number that JSON cannot have.") from error


def _check_fields(row: Mapping[str, Any], added: Sequence[str]) -> None:
    for field in added:
        if field in row:
            raise InputError(f"It has a field '{field}' already; give the file as it was before expansion.")


def expand_row(
    row: Mapping[str, Any], present: Sequence[str], absent: Sequence[str], *, append: bool = False
) -> dict[str, Any]:
    """The row with its keyphrases in the fields `present` and `absent`; all else stays as it was.

    With `append` they are also added, each once, on a line of their own to the text that a search engine
    indexes: the field `text`, or the last one there of `title`, `abstract` and `text`.
    """
    _check_fields(row, FIELDS)
    added = {"present": list(present), "absent": list(absent)}
    return {**row, **added, **(_appended(row, [*present, *absent]) if append else {})}


def expand_query_row(row: Mapping[str, Any], query: ExpandedQuery, *, append: bool = False) -> dict[str, Any]:
    """The row with `{"phrase", "kind", "weight"}` of what to search for beside it in the field `expansion`.

    `append` is as in `expand_row`; words that are appended lose their weights.
    """
    _check_fields(row, QUERY_FIELDS)
    added = {"expansion": [phrase.to_dict() for phrase in query.phrases]}
    return {**row, **added, **(_appended(row, [phrase.phrase for phrase in query.phrases]) if append else {})}


def _appended(row: Mapping[str, Any], phrases: Iterable[str]) -> dict[str, str]:
    """The field that a search engine indexes, with the phrases on a line of their own."""
    line = ", ".join(distinct(phrases))
    field = next((name for name in reversed(TEXT_FIELDS) if isinstance(row.get(name), str)), "text")
    text = row.get(field) or ""
    return {field: f"{text}\n{line}" if text else line} if line else {}
