"""Lists of phrases to rank: a thesaurus, subject headings, tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from erukg.errors import InputError
from erukg.io.items import BadDocument, Limits
from erukg.io.jsonl import parse_line
from erukg.io.streams import COMPRESSED, lines, open_bytes
from erukg.io.tables import Rows

__all__ = ["read_phrases"]

_LONGEST_LINE = 1_000_000


def read_phrases(path: Path) -> list[str]:
    """The phrases in a file, in order: one a line; or a .csv's column 'phrase'; or .jsonl lines that are
    strings or objects with a field 'phrase'. Blank ones are left out; a broken line is refused by number.
    """
    try:
        phrases = [phrase.strip() for phrase in _read(path)]
    except (OSError, EOFError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"The phrases in {path} cannot be read: {reason}.") from error
    phrases = [phrase for phrase in phrases if phrase]
    if not phrases:
        raise InputError(f"There is no phrase in {path}.")
    return phrases


def _read(path: Path) -> Iterator[str]:
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in COMPRESSED]
    suffix = suffixes[-1] if suffixes else ""
    limit = min(Limits().document_bytes, _LONGEST_LINE)
    with open_bytes(path) as stream:
        if suffix in (".csv", ".tsv"):
            rows = Rows(stream, limit)
            columns = rows.header(("phrase",)) or []
            if "phrase" not in columns:
                raise InputError(f"The first line of {path} does not name a column 'phrase'.")
            wanted = columns.index("phrase")
            for number, row in rows:
                if isinstance(row, BadDocument):
                    raise InputError(f"{path}:{number}: {row.message}")
                if len(row) > wanted:
                    yield row[wanted]
            return
        for line in lines(stream, limit):
            if line.problem is not None:
                raise InputError(f"{path}:{line.number}: {line.problem}")
            if suffix not in (".jsonl", ".ndjson"):
                yield line.text
            elif line.text.strip():
                yield _from_json(line.text, f"{path}:{line.number}")


def _from_json(text: str, place: str) -> str:
    try:
        value = parse_line(text)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    if isinstance(value, dict):
        value = value.get("phrase")
    if not isinstance(value, str):
        raise InputError(f"{place}: It is neither a string nor an object with a string field 'phrase'.")
    return value
