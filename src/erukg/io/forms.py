"""The forms of input. A new form is one module with its reader, and one line in `FORMS`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from erukg.core.arguments import checked
from erukg.errors import InputError, did_you_mean
from erukg.io.extraction import KINDS, reader_of
from erukg.io.items import Items, Limits
from erukg.io.json_values import count_json, read_json
from erukg.io.jsonl import read_jsonl
from erukg.io.parquet import check_parquet, count_parquet, read_parquet_file
from erukg.io.plain import read_markdown, read_text
from erukg.io.streams import COMPRESSED, count_lines
from erukg.io.tables import read_table

__all__ = ["FORMS", "SUFFIXES", "Form", "find_form", "named_form"]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of input.

    suffixes  the endings of its files' names
    read      from a stream of bytes, the name of the file and the limits to its documents, good and bad; whatever
              makes the rest of the file unreadable is an `InputError`
    single    whether a file is one document
    read_more like `read`, with fields of the rows that are wanted too; None where `read` gives all there are
    count     about how many documents a stream holds, for showing the time left (not used for a `single` form)
    check     raises a `MissingExtraError` when what reads it is not installed
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[IO[bytes], str, Limits], Items]
    single: bool
    read_more: Callable[[IO[bytes], str, Limits, Sequence[str]], Items] | None = None
    count: Callable[[IO[bytes]], int] = count_lines
    check: Callable[[], object] = lambda: None

    def documents(self, stream: IO[bytes], name: str, limits: Limits, fields: Sequence[str] = ()) -> Items:
        """The documents of a stream, with these fields where they have them."""
        if self.read_more is not None and fields:
            return self.read_more(stream, name, limits, fields)
        return self.read(stream, name, limits)


_ENDINGS = {name: (f".{name}",) for name in KINDS} | {"html": (".html", ".htm", ".xhtml")}
FORMS = {
    form.name: form
    for form in (
        Form("text", (".txt", ".text"), read_text, single=True),
        Form("markdown", (".md", ".markdown"), read_markdown, single=True),
        Form("jsonl", (".jsonl", ".ndjson"), read_jsonl, single=False),
        Form("json", (".json",), read_json, single=False, count=count_json),
        Form("csv", (".csv", ".tsv"), read_table, single=False),
        *(
            Form(kind.name, _ENDINGS[kind.name], reader_of(kind), single=True, check=kind.check_installed)
            for kind in KINDS.values()
        ),
        Form(
            "parquet",
            (".parquet",),
            read_parquet_file,
            single=False,
            read_more=read_parquet_file,
            count=count_parquet,
            check=check_parquet,
        ),
    )
}
SUFFIXES = {suffix: form for form in FORMS.values() for suffix in form.suffixes}


@checked
def find_form(path: str | Path) -> Form | None:
    """The form that a file's name tells, looking through .gz and .xz; None for an unknown ending."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


@checked
def named_form(name: str) -> Form:
    """The form of this name; raises InputError for an unknown one."""
    if name not in FORMS:
        raise InputError(f"There is no input form '{name}'; {did_you_mean(name, FORMS, 'known forms: {known}.')}")
    return FORMS[name]
