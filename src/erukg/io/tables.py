"""CSV and TSV with a header line: columns id, title, abstract, text."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator
from itertools import zip_longest
from typing import IO

from erukg.core.inputs import TEXT_FIELDS, FieldNames, document_from
from erukg.errors import InputError
from erukg.io.items import BadDocument, Items, Limits, check_columns
from erukg.io.streams import Line, lines, megabytes

__all__ = ["Rows", "read_table"]

_DELIMITERS = (",", ";", "\t")
# The csv module has one field size limit for the whole process: it is set for one row's time, then put back.
_field_limit_lock = threading.Lock()


class Rows:
    """The rows of a CSV stream with the numbers of their first lines; bounded; goes on after a bad row."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        # Between rows blank lines mean nothing; within a quotation they are part of a cell.
        self._lines = lines(stream, limit, skip_blank=lambda: self._spent == 0)
        self._limit = limit
        self._number = 0
        self._first = 1
        self._spent = 0
        self._pushed: Line | None = None
        self._problem: str | None = None

    def header(self, wanted: tuple[str, ...]) -> list[str] | None:
        """The column names in lower case (None for an empty file); finds the delimiter that the file uses."""
        first = next(self._lines, None)
        if first is None:
            return None
        if first.problem is not None:
            raise InputError(first.problem)
        self._pushed = first
        best = max(_DELIMITERS, key=lambda d: self._known(first.text, d, wanted))
        self._reader = csv.reader(self._feed(), delimiter=best)
        try:
            names = self._next()
        except csv.Error as error:
            raise InputError(f"Its first line does not name columns as CSV does: {error}.") from error
        return None if names is None else [name.strip().lower() for name in names]

    @staticmethod
    def _known(line: str, delimiter: str, wanted: tuple[str, ...]) -> int:
        try:
            cells = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:
            return 0
        return sum(cell.strip().lower() in wanted for cell in cells)

    def _feed(self) -> Iterator[str]:
        while True:
            line = self._pushed or next(self._lines, None)
            self._pushed = None
            if line is None:
                return
            if self._spent == 0:
                self._first = line.number
            self._number = line.number
            self._spent += len(line.text) + 1
            if line.problem is not None:
                self._problem = line.problem
                yield "\n"
                continue
            if self._spent > self._limit:
                self._problem = (
                    f"The row is longer than {megabytes(self._limit)} (a quotation mark left open?); "
                    "--max-mb raises the limit."
                )
                # Closing the quotation makes the csv reader end the row here.
                yield '"\n'
                continue
            yield line.text

    def _next(self) -> list[str] | None:
        self._spent, self._problem = 0, None
        with _field_limit_lock:
            before = csv.field_size_limit(self._limit + 2)
            try:
                return next(self._reader, None)
            finally:
                csv.field_size_limit(before)

    def __iter__(self) -> Iterator[tuple[int, list[str] | BadDocument]]:
        while True:
            try:
                row = self._next()
            except csv.Error as error:
                yield self._first, BadDocument("", f"It is not a row of CSV: {error}.")
                continue
            if row is None:
                return
            if self._problem is not None:
                yield self._first, BadDocument("", self._problem)
            else:
                yield self._first, row


def read_table(stream: IO[bytes], name: str, limits: Limits) -> Items:
    """One document per row. The delimiter (comma, semicolon or tab) is the one that makes sense of the header."""
    rows = Rows(stream, limits.document_bytes)
    names = _lowered(limits.names)
    columns = rows.header(("id", *TEXT_FIELDS, *names.given().values()))
    if columns is None:
        raise InputError("It is empty; the first line must name the columns (id, title, abstract, text).")
    check_columns(columns, names, "Its first line names")
    for number, row in rows:
        if isinstance(row, BadDocument):
            yield BadDocument(f"{name}:{number}", row.message)
        elif len(row) > len(columns):
            message = f"It has {len(row)} cells, but the first line names {len(columns)} columns."
            yield BadDocument(f"{name}:{number}", message)
        elif any(row):
            yield document_from(names.rename(dict(zip_longest(columns, row, fillvalue=""))), name, number)


def _lowered(names: FieldNames) -> FieldNames:
    """The names as `Rows.header` gives the columns, whose case does not count."""
    return FieldNames(**{own: name.strip().lower() for own, name in names.given().items()})
