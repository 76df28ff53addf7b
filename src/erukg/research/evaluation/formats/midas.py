"""`{"id", "document": [words], "extractive_keyphrases", "abstractive_keyphrases"}`: the midas collection.

Title and abstract are not told apart there, so the joined words stand as the abstract; gold is both lists,
and which of it is present is decided by the protocol, not by the lists. Its long-document sets have
`sections` and `sec_text` instead of `document`: of those the sections called title and abstract are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erukg.errors import InputError
from erukg.research.evaluation.formats import _fields
from erukg.research.evaluation.records import Record

__all__ = ["TELLING", "read"]

TELLING = ("extractive_keyphrases", "abstractive_keyphrases")


def read(row: Mapping[str, Any], fallback_id: str) -> Record:
    gold = [phrase for name in TELLING if name in row for phrase in _fields.phrases(row, name)]
    title, abstract = _sections(row) if "sec_text" in row else ("", _fields.words(row, "document"))
    return Record(id=_fields.identifier(row, fallback_id), title=title, abstract=abstract, keyphrases=tuple(gold))


def _sections(row: Mapping[str, Any]) -> tuple[str, str]:
    names, texts = row.get("sections"), row["sec_text"]
    if not isinstance(names, list) or not isinstance(texts, list) or len(names) != len(texts):
        raise InputError("the fields 'sections' and 'sec_text' must be lists of the same length")
    found = {str(name).strip().lower(): {"sec_text": words} for name, words in zip(names, texts, strict=True)}
    if not found.keys() & {"title", "abstract"}:
        raise InputError("the field 'sections' names neither 'title' nor 'abstract'")
    title, abstract = (_fields.words(found[n], "sec_text") if n in found else "" for n in ("title", "abstract"))
    return title, abstract
