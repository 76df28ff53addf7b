"""How results are written: JSON Lines exactly as the one-machine command writes them, or Parquet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

from erukg.core.results import Keyphrases
from erukg.errors import require

__all__ = ["JsonLines", "Parquet", "Sink", "expanded_schema", "keyphrase_schema", "keyphrase_types", "table_row"]

_ROWS_AT_ONCE = 1024


class Sink(Protocol):
    """Takes one result after the other; `close` completes the file."""

    def write(self, row: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    """One object a line."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, row: Mapping[str, Any]) -> None:
        line = json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
        # A result may hold half a surrogate pair, and its escape is what a JSON reader turns back.
        self._stream.write(line.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        pass


class Parquet:
    """A row group every thousand rows."""

    def __init__(self, stream: Any, schema: Any) -> None:
        self._pyarrow = require("pyarrow", "ray", "Writing Parquet")
        self._writer = require("pyarrow.parquet", "ray", "Writing Parquet").ParquetWriter(stream, schema)
        self._schema = schema
        self._rows: list[Mapping[str, Any]] = []

    def write(self, row: Mapping[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(table(self._pyarrow, self._rows, self._schema))
            self._rows = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


def table(pyarrow: Any, rows: list[Mapping[str, Any]], schema: Any) -> Any:
    """The rows as a table; half a surrogate pair, which UTF-8 cannot hold, becomes its escape."""
    try:
        return pyarrow.Table.from_pylist(rows, schema=schema)
    except UnicodeEncodeError:
        return pyarrow.Table.from_pylist([_encodable(row) for row in rows], schema=schema)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _encodable(item) for name, item in value.items()}
    return value


def table_row(found: Keyphrases) -> dict[str, Any]:
    """A result as a row of `keyphrase_schema`: spans are structs, as no table format has lists of two."""
    row = found.to_dict()
    for phrase in row["present"]:
        phrase["spans"] = [{"start": start, "end": end} for start, end in phrase["spans"]]
    return row


@cache
def keyphrase_types() -> dict[str, Any]:
    """The types of the columns `present` and `absent`."""
    pa = require("pyarrow", "ray", "Writing Parquet")
    span = pa.struct([("start", pa.int64()), ("end", pa.int64())])
    source = pa.struct([("id", pa.string()), ("share", pa.float64())])
    phrase = [("phrase", pa.string()), ("score", pa.float64())]
    return {
        "present": pa.list_(pa.struct([*phrase, ("spans", pa.list_(span))])),
        "absent": pa.list_(pa.struct([*phrase, ("sources", pa.list_(source))])),
    }


@cache
def keyphrase_schema() -> Any:
    """`id`, `present` and `absent`."""
    pa = require("pyarrow", "ray", "Writing Parquet")
    return pa.schema([("id", pa.string()), *keyphrase_types().items()])


def expanded_schema(schema: Any) -> Any:
    """The columns of a table and, behind them, those that expansion adds."""
    pa = require("pyarrow", "ray", "Writing Parquet")
    phrases = pa.list_(pa.string())
    return pa.schema([*schema, pa.field("present", phrases), pa.field("absent", phrases)], metadata=schema.metadata)
