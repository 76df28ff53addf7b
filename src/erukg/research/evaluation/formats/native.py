"""`{"id", "title", "abstract", "keyphrases": [...]}`, with `keyphrases_stemmed_official` for SemEval-2010."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erukg.errors import InputError
from erukg.research.evaluation.formats import _fields
from erukg.research.evaluation.records import Record

__all__ = ["TELLING", "read"]

TELLING = ("keyphrases", "keyphrases_stemmed_official")


def read(row: Mapping[str, Any], fallback_id: str) -> Record:
    official = None if row.get(TELLING[1]) is None else _official(row[TELLING[1]])
    return Record(
        id=_fields.identifier(row, None),
        title=_fields.text(row, "title"),
        abstract=_fields.text(row, "abstract"),
        # Official gold can stand alone.
        keyphrases=() if official is not None and "keyphrases" not in row else _fields.phrases(row, "keyphrases"),
        official=official,
    )


def _official(value: object) -> tuple[tuple[str, ...], ...]:
    """Stemmed phrases: each a list of alternatives, or one string with "+" between alternatives."""
    complaint = f"the field '{TELLING[1]}' must be a list of phrases, each a list of alternatives or a string"
    if not isinstance(value, list):
        raise InputError(complaint)
    out = []
    for phrase in value:
        alternatives = phrase.split("+") if isinstance(phrase, str) else phrase
        if not isinstance(alternatives, list) or not all(isinstance(a, str) for a in alternatives):
            raise InputError(complaint)
        if kept := tuple(stripped for a in alternatives if (stripped := a.strip())):
            out.append(kept)
    return tuple(out)
