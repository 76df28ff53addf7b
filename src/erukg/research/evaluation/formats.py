"""Documents with gold phrases, and the three forms of JSON Lines in which keyphrase sets are passed around.

A row's fields tell which form it has. Errors name the field; the caller adds file and line.

native   {"id", "title", "abstract", "keyphrases": [...]}, with "keyphrases_stemmed_official" for SemEval-2010
midas    {"id", "document": [words], "extractive_keyphrases", "abstractive_keyphrases"}, or "sections" and "sec_text"
memray   {"title", "abstract", "keywords": "a;b;c"}, or "keyword", or a list: KP20k and OpenNMT-kpg releases
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from erukg.errors import InputError

__all__ = ["Record", "record_from_row"]

_OFFICIAL = "keyphrases_stemmed_official"
_MIDAS = ("extractive_keyphrases", "abstractive_keyphrases")


@dataclass(frozen=True, slots=True)
class Record:
    """A document and the phrases people gave it.

    `official` is the gold of SemEval-2010 as its organisers published it: already stemmed, each phrase with
    its accepted alternatives. Where a record has it, it is what predictions are matched with.
    """

    id: str
    title: str
    abstract: str
    keyphrases: tuple[str, ...]
    official: tuple[tuple[str, ...], ...] | None = None

    @property
    def text(self) -> str:
        """What a system reads: title, line break, abstract; one of them alone where the other is empty."""
        return f"{self.title}\n{self.abstract}" if self.title and self.abstract else self.title or self.abstract


def record_from_row(row: Mapping[str, Any], fallback_id: str) -> Record:
    """The record in one JSON object; `fallback_id` names it where its form has no ids."""
    # The most telling fields first: a row of the midas form may carry further fields of the others.
    if any(field in row for field in _MIDAS):
        return _midas(row, fallback_id)
    if "keyphrases" in row or _OFFICIAL in row:
        return _native(row)
    for field in ("keywords", "keyword"):
        if field in row:
            phrases = _phrases(row, field, separator=";")
            return Record(_identifier(row, fallback_id), _text(row, "title"), _text(row, "abstract"), phrases)
    raise InputError(
        "it has no gold phrases: one of the fields 'extractive_keyphrases', 'keyphrases', 'keywords' is needed"
    )


def _native(row: Mapping[str, Any]) -> Record:
    official = None if row.get(_OFFICIAL) is None else _alternatives(row[_OFFICIAL])
    # Official gold can stand alone.
    phrases = () if official is not None and "keyphrases" not in row else _phrases(row, "keyphrases")
    return Record(_identifier(row, None), _text(row, "title"), _text(row, "abstract"), phrases, official)


def _alternatives(value: object) -> tuple[tuple[str, ...], ...]:
    """Stemmed phrases: each a list of alternatives, or one string with "+" between alternatives."""
    phrases = [p.split("+") if isinstance(p, str) else p for p in value] if isinstance(value, list) else [None]
    if not all(isinstance(phrase, list) and all(isinstance(a, str) for a in phrase) for phrase in phrases):
        raise InputError(f"the field '{_OFFICIAL}' must be a list of phrases, each a list of alternatives or a string")
    return tuple(kept for phrase in phrases if (kept := tuple(s for a in phrase or () if (s := a.strip()))))


def _midas(row: Mapping[str, Any], fallback_id: str) -> Record:
    """Title and abstract are not told apart there, so the joined words stand as the abstract.

    Gold is both lists, and which of it is present is decided by the protocol, not by the lists. Long-document sets
    have sections instead of `document`, of which those called title and abstract are read.
    """
    gold = tuple(phrase for name in _MIDAS if name in row for phrase in _phrases(row, name))
    title, abstract = _sections(row) if "sec_text" in row else ("", _words(row, "document"))
    return Record(_identifier(row, fallback_id), title, abstract, gold)


def _sections(row: Mapping[str, Any]) -> tuple[str, str]:
    names, texts = row.get("sections"), row["sec_text"]
    if not isinstance(names, list) or not isinstance(texts, list) or len(names) != len(texts):
        raise InputError("the fields 'sections' and 'sec_text' must be lists of the same length")
    found = {str(name).strip().lower(): {"sec_text": words} for name, words in zip(names, texts, strict=True)}
    if not found.keys() & {"title", "abstract"}:
        raise InputError("the field 'sections' names neither 'title' nor 'abstract'")
    title, abstract = (_words(found[n], "sec_text") if n in found else "" for n in ("title", "abstract"))
    return title, abstract


def _text(row: Mapping[str, Any], name: str) -> str:
    if name not in row:
        raise InputError(f"the field '{name}' is missing")
    if not isinstance(row[name], str):
        raise InputError(f"the field '{name}' must be text, not {type(row[name]).__name__}")
    return str(row[name]).strip()


def _words(row: Mapping[str, Any], name: str) -> str:
    """Text, or a list of words, which are joined by spaces."""
    if not isinstance(row.get(name), list):
        return _text(row, name)
    if not all(isinstance(word, str) for word in row[name]):
        raise InputError(f"the field '{name}' must be a list of words")
    return " ".join(row[name]).strip()


def _phrases(row: Mapping[str, Any], name: str, separator: str | None = None) -> tuple[str, ...]:
    """A list of phrases, or, where `separator` is given, also one string of them. Blank ones are left out."""
    value = row.get(name)
    if separator is not None and isinstance(value, str):
        value = value.split(separator)
    if not isinstance(value, list) or not all(isinstance(phrase, str) for phrase in value):
        also = f" or a string of them parted by '{separator}'" if separator else ""
        raise InputError(f"the field '{name}' must be a list of phrases{also}")
    return tuple(stripped for phrase in value if (stripped := phrase.strip()))


def _identifier(row: Mapping[str, Any], fallback: str | None) -> str:
    """The field `id`, text or whole number; `fallback` where a form may lack it."""
    value = row.get("id")
    if value is None or value == "":
        if fallback is None:
            raise InputError("the field 'id' is missing")
        return fallback
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"the field 'id' must be text or a whole number, not {type(value).__name__}")
    return str(value)
