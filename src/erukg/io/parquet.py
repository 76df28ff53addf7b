"""Parquet: one document per row, columns id, title, abstract, text; whole files or some rows of one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from types import ModuleType
from typing import IO, Any

from erukg.core.inputs import TEXT_FIELDS, FieldNames, document_from
from erukg.errors import InputError, require
from erukg.io.items import BadDocument, Items, Limits, check_columns
from erukg.io.streams import megabytes

__all__ = ["check_parquet", "count_parquet", "open_parquet", "read_parquet", "read_parquet_file"]

_COLUMNS = ("id", "_id", *TEXT_FIELDS)
_ROWS_AT_ONCE = 256


def check_parquet() -> ModuleType:
    """pyarrow's module for Parquet; a `MissingExtraError` when it is not installed."""
    return require("pyarrow.parquet", "parquet", "Reading Parquet files")


def open_parquet(source: Any) -> Any:
    """pyarrow's `ParquetFile` of a path or an open file; an `InputError` when it is not one."""
    parquet = check_parquet()
    try:
        return parquet.ParquetFile(source)
    except (ValueError, NotImplementedError) as error:  # pyarrow's own errors are one of them
        raise InputError(_broken(error)) from error


def count_parquet(stream: IO[bytes]) -> int:
    """How many rows the file has."""
    with open_parquet(stream) as file:
        return int(file.metadata.num_rows)


def read_parquet_file(stream: IO[bytes], name: str, limits: Limits, fields: Sequence[str] = ()) -> Items:
    """Every document of a file, with `fields` beside id and text.

    One that comes through a pipe is put on the disk first, as it is read from its end.
    """
    with tempfile.TemporaryFile() as copy:
        if not stream.seekable():
            shutil.copyfileobj(stream, copy)
            stream = copy
        try:
            with open_parquet(stream) as file:
                yield from read_parquet(file, name, limit=limits.document_bytes, fields=fields, named=limits.names)
        except InputError:
            raise
        # All are pyarrow's way to say that what it reads makes no sense.
        except (OSError, ValueError, NotImplementedError) as error:
            raise InputError(_broken(error)) from error


def read_parquet(
    file: Any,
    name: str,
    first: int = 0,
    stop: int | None = None,
    *,
    every_column: bool = False,
    fields: Sequence[str] = (),
    limit: int | None = None,
    named: FieldNames = FieldNames(),  # noqa: B008 (it cannot be changed)
) -> Items:
    """The documents of rows `first` to `stop` (or to the end), with only the columns that count and `fields`.

    Row groups outside that range are not touched; with `every_column` the documents' fields are the whole rows.
    Documents of more than `limit` characters are refused. `named` says what the columns are called.
    """
    names: list[str] = file.schema_arrow.names
    check_columns(names, named)
    wanted = {*_COLUMNS, *fields, *named.given().values()}
    columns = None if every_column else [column for column in names if column in wanted]
    groups: list[int] = []
    before = start = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if before + rows > first and (stop is None or before < stop):
            start = start if groups else before
            groups.append(group)
        before += rows
    if not groups:
        return
    number = start
    for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, row_groups=groups, columns=columns):
        skip = max(0, first - number)
        keep = batch.num_rows if stop is None else min(batch.num_rows, stop - number)
        for row in batch.slice(skip, max(0, keep - skip)).to_pylist():
            skip += 1
            try:
                document = document_from(named.rename(row), name, number + skip)
                if limit is not None and len(document.text) > limit:
                    raise InputError(f"The row is longer than {megabytes(limit)}; --max-mb raises the limit.")
                yield document
            except InputError as error:
                yield BadDocument(f"{name}:{number + skip}", str(error))
        number += batch.num_rows
        if stop is not None and number >= stop:
            return


def _broken(error: Exception) -> str:
    reason = " ".join(str(error).split())  # some of pyarrow's have several lines
    return f"It cannot be read as Parquet: {reason.rstrip('.')}."
