"""Vocabularies line by line: a list of labels, or JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from erukg.errors import InputError
from erukg.io.items import Limits
from erukg.io.objects import numbered_lines, parse_json
from erukg.subjects.concepts import Concept, Entry
from erukg.subjects.readers.base import Fields, Wanted, missing_language

__all__ = ["LONGEST_LINE", "read_jsonl", "read_list"]

LONGEST_LINE = 10_000_000


def read_list(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """Every line that is not blank is a tag: URI and label in one."""
    for number, text in numbered_lines(path, Limits(document_bytes=LONGEST_LINE)):
        if text.strip():
            yield f"{path}, line {number}", text


def read_jsonl(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """Every line is an object with the fields of a concept, or a string, which is a tag.

    A label may be an object with a label for each language, and so may the alternatives.
    """
    for number, text in numbered_lines(path, Limits(document_bytes=LONGEST_LINE)):
        if not text.strip():
            continue
        place = f"{path}, line {number}"
        try:
            value = parse_json(text)
        except InputError as error:
            raise InputError(f"{place}: {error}") from error
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            yield place, _concept(value, wanted, place)
        else:
            raise InputError(f"{place}: It is neither an object with a URI and a label nor a string.")


def _concept(value: Mapping[str, object], wanted: Wanted, place: str) -> Concept:
    row = {name.lower(): each for name, each in value.items()}
    fields = Fields.find(list(row), wanted, place)
    labels = row[fields.label]
    concept_translations: dict[str, str] = {}
    if isinstance(labels, dict):
        if wanted.language not in labels:
            raise missing_language(place, wanted.language, labels)
        concept_translations = {each: labels[each] for each in wanted.translations if each in labels}
        row[fields.label] = labels[wanted.language]
    if fields.alternatives and isinstance(others := row[fields.alternatives], dict):
        row[fields.alternatives] = others.get(wanted.language)
    concept = fields.concept(row)
    if not concept_translations:
        return concept
    return Concept(
        concept.uri, concept.label, concept.notation, concept.alternatives, concept.broader, concept_translations
    )
