"""Writers: results into a stream of bytes as JSON Lines, CSV or Parquet. A new format is one class here."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from typing import IO, Any, Protocol, TypeAlias

from erukg.core.results import Keyphrases, RankedPhrases
from erukg.errors import require
from erukg.io.columns import Result, arrow_row, csv_header, csv_rows

__all__ = [
    "DELIMITERS",
    "CellWriter",
    "CsvWriter",
    "JsonWriter",
    "LineWriter",
    "ParquetWriter",
    "Row",
    "Utf8",
    "Writer",
]

_ROWS_AT_ONCE = 1024

Row: TypeAlias = Result | Mapping[str, Any] | tuple[str, ...]
"""A result, or a row of data or lines of text that are written as they are."""


class Writer(Protocol):
    """Writes one result after the other to the stream it was made with; `close` completes the data in it."""

    def write(self, row: Row) -> None: ...

    def close(self) -> None: ...


class Utf8:
    """Text into a stream of bytes. Half a surrogate pair is written as its escape, which JSON readers turn back."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.flush, self.isatty, self.fileno = stream.flush, stream.isatty, stream.fileno

    def write(self, text: str) -> int:
        return self._stream.write(text.encode("utf-8", "backslashreplace"))


class JsonWriter:
    """JSON Lines: one object per line."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._write = Utf8(stream).write

    def write(self, row: Row) -> None:
        data = row.to_dict() if isinstance(row, Keyphrases | RankedPhrases) else row
        # Dates and the like, which rows of tables have, are written as they are shown.
        self._write(json.dumps(data, ensure_ascii=False, allow_nan=False, default=str) + "\n")

    def close(self) -> None:
        """There is nothing behind the last line."""


class LineWriter:
    """Lines of text, made elsewhere."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._write = Utf8(stream).write

    def write(self, row: Row) -> None:
        assert isinstance(row, tuple)
        self._write("".join(f"{line}\n" for line in row))

    def close(self) -> None:
        """There is nothing behind the last line."""


#: What is between the cells of a row, by the name of the format.
DELIMITERS = {"csv": ",", "tsv": "\t"}


class CellWriter:
    """CSV with a header: one row per mapping with these columns; lists are written with "; " between their entries."""

    def __init__(self, stream: IO[bytes], columns: Sequence[str], delimiter: str = ",") -> None:
        self._rows, self._columns = csv.writer(Utf8(stream), delimiter=delimiter, lineterminator="\n"), columns
        self._rows.writerow(columns)

    def write(self, row: Row) -> None:
        assert isinstance(row, Mapping)
        self._rows.writerow([_cell(row.get(column)) for column in self._columns])

    def close(self) -> None:
        """There is nothing behind the last row."""


class CsvWriter:
    """CSV with a header: one row per phrase of a result."""

    def __init__(self, stream: IO[bytes], explain: bool = False, delimiter: str = ",") -> None:
        self._rows = csv.writer(Utf8(stream), delimiter=delimiter, lineterminator="\n")
        self._explain = explain
        self._rows.writerow(csv_header(explain))

    def write(self, row: Row) -> None:
        assert isinstance(row, Keyphrases | RankedPhrases)
        self._rows.writerows(csv_rows(row, self._explain))

    def close(self) -> None:
        """There is nothing behind the last row."""


class ParquetWriter:
    """Parquet with this schema: one row per document, a thousand rows per group."""

    def __init__(self, stream: Any, schema: Any) -> None:
        self._pyarrow = require("pyarrow", "parquet", "Writing Parquet")
        self._writer = require("pyarrow.parquet", "parquet", "Writing Parquet").ParquetWriter(stream, schema)
        self._schema = schema
        self._rows: list[Mapping[str, Any]] = []

    def write(self, row: Row) -> None:
        assert not isinstance(row, tuple)
        self._rows.append(arrow_row(row) if isinstance(row, Keyphrases | RankedPhrases) else row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        make = self._pyarrow.Table.from_pylist
        try:
            table = make(rows, schema=self._schema)
        except UnicodeEncodeError:
            table = make([_encodable(row) for row in rows], schema=self._schema)
        if rows:
            self._writer.write_table(table)

    def close(self) -> None:
        self._flush()
        self._writer.close()


def _cell(value: Any) -> Any:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _encodable(value: Any) -> Any:
    """The same with the halves of surrogate pairs, which UTF-8 cannot hold, as their escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return {name: _encodable(item) for name, item in value.items()} if isinstance(value, Mapping) else value
