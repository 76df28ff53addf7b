"""Vocabularies as tables: Annif's TSV, and TSV or CSV with a line that names the columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from erukg.errors import InputError
from erukg.io.items import BadDocument, Limits
from erukg.io.objects import numbered_lines
from erukg.io.streams import open_bytes
from erukg.io.tables import Rows
from erukg.subjects.concepts import Concept, Entry
from erukg.subjects.readers.base import Fields, Wanted, bare, listed
from erukg.subjects.readers.lines import LONGEST_LINE

__all__ = ["read_csv", "read_tsv"]

_NAMES = ("uri", "iri", "id", "label", "preflabel", "alternatives", "altlabel", "synonyms", "notation", "broader")


def read_csv(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """One concept per row; the first line names the columns. Commas, semicolons or tabs separate them."""
    known = (*_NAMES, *(name.lower() for name in wanted.columns.given.values()), f"label_{wanted.language}".lower())
    rows = _rows(path, known)
    names = next(rows, (1, []))[1]
    if not names:
        return
    fields = Fields.find(names, wanted, f"{path}, line 1")
    for number, row in rows:
        place = f"{path}, line {number}"
        if len(row) > len(names):
            raise InputError(f"{place}: It has {len(row)} cells, but the first line names {len(names)} columns.")
        if any(row):
            yield place, fields.concept(dict(zip_longest(names, row, fillvalue="")))


def _rows(path: Path, known: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """The names of the columns, then the rows, with their lines' numbers; what is wrong with the file names it."""
    with open_bytes(path) as stream:
        rows = Rows(stream, LONGEST_LINE)
        try:
            yield 1, rows.header(known) or []
            for number, row in rows:
                if isinstance(row, BadDocument):
                    raise InputError(f"Line {number}: {row.message}")
                yield number, row
        except InputError as error:
            raise InputError(f"{path} cannot be read: {error}") from error


def read_tsv(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """Annif's form, `<uri>`, label and perhaps a notation; or an id, a label and synonyms; or columns with names.

    Without a first line that names them, columns can be chosen by number.
    """
    lines = numbered_lines(path, Limits(document_bytes=LONGEST_LINE))
    first = next((text for _, text in lines if text.strip()), None)
    lines.close()  # type: ignore[attr-defined]
    if first is None:
        return
    names = [cell.strip().lower() for cell in first.split("\t")]
    given = wanted.columns.given.values()
    if any(not name.isdecimal() for name in given) or (not given and _is_header(names, wanted)):
        yield from read_csv(path, wanted)
        return
    fields = Fields.find([str(i) for i in range(1, len(names) + 1)], wanted, str(path)) if given else None
    for number, text in numbered_lines(path, Limits(document_bytes=LONGEST_LINE)):
        if text.strip():
            place = f"{path}, line {number}"
            cells = text.rstrip("\r\n").split("\t")
            if fields is not None:
                yield place, fields.concept({str(i): cell for i, cell in enumerate(cells, 1)})
            else:
                yield place, _concept(cells, wanted, place)


def _is_header(names: list[str], wanted: Wanted) -> bool:
    try:
        Fields.find(names, wanted, "")
    except InputError:
        return False
    return True


def _concept(cells: list[str], wanted: Wanted, place: str) -> Concept:
    uri = bare(cells[0])
    if len(cells) < 2 or not uri or len(uri.split()) > 1:
        raise InputError(
            f"{place}: It does not begin with a URI and a tab; a line must be '<uri> TAB label', unless the first line "
            "names the columns (labels alone are of the form 'list')."
        )
    third = cells[2] if len(cells) > 2 else ""
    # Annif's files have a notation there.
    if cells[0].strip().startswith("<"):
        return Concept(uri, cells[1], third)
    return Concept(uri, cells[1], alternatives=listed(third, wanted.columns.separator))
