"""The forms of vocabularies. A new form is one module with its reader, and one line in `FORMS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from erukg.errors import InputError, did_you_mean
from erukg.io.streams import COMPRESSED, DAMAGED, sentence
from erukg.subjects.concepts import Concept, Entry, checked
from erukg.subjects.readers.base import Columns, Wanted
from erukg.subjects.readers.lines import read_jsonl, read_list
from erukg.subjects.readers.skos import read_ntriples, read_rdfxml, read_turtle
from erukg.subjects.readers.tables import read_csv, read_tsv

__all__ = ["FORMS", "Columns", "Form", "Wanted", "find_form", "read_concepts"]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of vocabulary: the endings of its files' names, and what reads one."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, Wanted], Iterable[Entry]]


FORMS = {
    form.name: form
    for form in (
        Form("turtle", (".ttl", ".turtle"), read_turtle),
        Form("rdfxml", (".rdf", ".xml", ".owl"), read_rdfxml),
        Form("ntriples", (".nt", ".ntriples"), read_ntriples),
        Form("tsv", (".tsv", ".tab"), read_tsv),
        Form("csv", (".csv",), read_csv),
        Form("jsonl", (".jsonl", ".ndjson"), read_jsonl),
        Form("list", (".txt", ".text", ".list"), read_list),
    )
}
_SUFFIXES = {suffix: form for form in FORMS.values() for suffix in form.suffixes}


def find_form(path: Path, name: str | None = None) -> Form:
    """The form of this name, or else the one that the file's ending tells, looking through .gz and .xz."""
    if name is not None:
        if name not in FORMS:
            known = did_you_mean(name, FORMS, "known forms: {known}.")
            raise InputError(f"There is no form of vocabulary '{name}'; {known}")
        return FORMS[name]
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise InputError(f"{path} has none of the endings {known}; say what it is with --form: {', '.join(FORMS)}.")
    return _SUFFIXES[suffixes[-1]]


def read_concepts(path: Path, form: str | None, wanted: Wanted) -> list[Concept]:
    """The concepts of a file; whatever is wrong with it is an `InputError` that names it."""
    found = find_form(path, form)
    try:
        if path.is_dir():
            raise InputError(f"{path} is a folder, not a file of concepts.")
        read = list(checked(found.read(path, wanted), wanted.limits))
    except (OSError, *DAMAGED) as error:
        raise InputError(f"{path} cannot be read: {sentence(error)}") from error
    if not read:
        raise InputError(f"There is no concept in {path}.")
    return read
