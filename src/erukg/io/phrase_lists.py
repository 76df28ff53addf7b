"""Lists of phrases to rank: a thesaurus, subject headings, tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from erukg.core.arguments import checked
from erukg.errors import InputError
from erukg.io.forms import FORMS, find_form
from erukg.io.items import BadDocument, Limits
from erukg.io.objects import numbered_lines, parse_json
from erukg.io.parquet import open_parquet
from erukg.io.streams import DAMAGED, open_bytes, sentence
from erukg.io.tables import Rows

__all__ = ["read_phrases"]

_LONGEST_LINE = 1_000_000


@checked
def read_phrases(path: Path) -> list[str]:
    """The phrases in a file, in order: one per line; or the column 'phrase' of a .csv, .tsv or .parquet; or .jsonl
    lines that are strings or objects with a field 'phrase'. Blank ones are left out; a broken line is refused by
    number.
    """
    form = find_form(path)
    readers = {"csv": _column, "parquet": _parquet_column}
    read = _lines if form is None else readers.get(form.name, _lines)
    try:
        phrases = [phrase.strip() for phrase in read(path)]
    except (OSError, *DAMAGED) as error:
        raise InputError(f"{path} cannot be read: {sentence(error)}") from error
    phrases = [phrase for phrase in phrases if phrase]
    if not phrases:
        raise InputError(f"There is no phrase in {path}.")
    return phrases


def _column(path: Path) -> Iterator[str]:
    with open_bytes(path) as stream:
        rows = Rows(stream, _LONGEST_LINE)
        columns = rows.header(("phrase",)) or []
        if "phrase" not in columns:
            raise InputError(f"The first line of {path} does not name a column 'phrase'.")
        wanted = columns.index("phrase")
        for number, row in rows:
            if isinstance(row, BadDocument):
                raise InputError(f"{path}, line {number}: {row.message}")
            if len(row) > wanted:
                yield row[wanted]


def _parquet_column(path: Path) -> Iterator[str]:
    with open_parquet(path) as file:
        if "phrase" not in file.schema_arrow.names:
            raise InputError(f"{path} has no column 'phrase'.")
        for batch in file.iter_batches(columns=["phrase"]):
            for number, phrase in enumerate(batch.column(0).to_pylist()):
                if not isinstance(phrase, str | None):
                    raise InputError(f"{path}, row {number + 1}: It is no string.")
                yield phrase or ""


def _lines(path: Path) -> Iterator[str]:
    as_json = find_form(path) is FORMS["jsonl"]
    for number, text in numbered_lines(path, Limits(document_bytes=_LONGEST_LINE)):
        if text.strip():
            yield _from_json(text, f"{path}, line {number}") if as_json else text


def _from_json(text: str, place: str) -> str:
    try:
        value = parse_json(text)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    if isinstance(value, dict):
        value = value.get("phrase")
    if not isinstance(value, str):
        raise InputError(f"{place}: It is neither a string nor an object with a string field 'phrase'.")
    return value
