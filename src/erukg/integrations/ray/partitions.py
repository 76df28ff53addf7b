"""Cutting files into partitions, the units of work, and reading one."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from erukg.core.expansion import FIELDS
from erukg.errors import InputError
from erukg.integrations.ray.inputs import InputFile, open_input, open_plain
from erukg.io import BadDocument, InputDocument, Limits
from erukg.io.jsonl import read_jsonl
from erukg.io.parquet import check_columns, open_parquet, read_parquet
from erukg.io.streams import sentence

__all__ = ["Partition", "read_partition", "scan"]

_CHUNK = 1 << 20
# What no second try would mend; an InputError and pyarrow's own errors are ValueErrors.
_DAMAGED = (ValueError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
_CLOSED = (FileNotFoundError, PermissionError)
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows of one file that are worked on together and come out as one file.

    number   its place among all partitions of the job, and the number in its output's name
    name, uri, form   of the file, as in `InputFile`
    first    how many rows (lines) of the file lie before it
    rows     how many it has, blank lines included; -1 for all there are
    offset, length   of its bytes, decompressed, for JSON Lines; a length of -1 is the rest of the file
    problem  why the file cannot be read; such a partition has no rows
    """

    number: int
    name: str
    uri: str
    form: str
    first: int = 0
    rows: int = -1
    offset: int = 0
    length: int = -1
    problem: str | None = None

    @property
    def place(self) -> str:
        """The rows it covers, for messages."""
        return self.name if self.rows < 0 else f"{self.name}:{self.first + 1}-{self.first + self.rows}"


def scan(file: InputFile, documents: int, *, expand: bool = False) -> list[Partition]:
    """The partitions of a file, of `documents` rows each, numbered from 0.

    What is wrong with the file as a whole is a last partition with a `problem`; one that cannot be reached raises an
    OSError.
    """

    def make(first: int = 0, rows: int = -1, offset: int = 0, length: int = -1) -> None:
        out.append(Partition(len(out), file.name, file.uri, file.form, first, rows, offset, length))

    out: list[Partition] = []
    try:
        if file.form == "parquet":
            _scan_parquet(file, documents, make, expand)
        else:
            _scan_lines(file, documents, make)
    except (*_DAMAGED, *_CLOSED) as error:
        out.append(Partition(len(out), file.name, file.uri, file.form, rows=0, problem=sentence(error)))
    return out


def _scan_parquet(file: InputFile, documents: int, make: Callable[..., None], expand: bool) -> None:
    with open_input(file.uri) as stream:
        stream.read(1)
        stream.seek(0)
        try:
            with open_parquet(stream) as parquet:
                names, total = parquet.schema_arrow.names, parquet.metadata.num_rows
        except OSError as error:  # pyarrow's way to say that what it reads makes no sense
            raise InputError(f"It cannot be read as Parquet: {str(error).rstrip('.')}.") from error
    check_columns(names)
    if expand and (there := [field for field in FIELDS if field in names]):
        raise InputError(f"It has a column '{there[0]}' already; give the file as it was before expansion.")
    for first in range(0, total, documents):
        make(first, min(documents, total - first))


def _scan_lines(file: InputFile, documents: int, make: Callable[..., None]) -> None:
    line, offset, first, start, end = 0, 0, 0, 0, 0
    with open_plain(file.uri) as stream:
        try:
            while chunk := stream.read(_CHUNK):
                if not offset and chunk.startswith(_WIDE):
                    make()
                    return
                at = 0
                # Whole chunks are counted at once, unless a partition ends within.
                while line - first + chunk.count(b"\n", at) >= documents:
                    for _ in range(documents - (line - first)):
                        at = chunk.index(b"\n", at) + 1
                    line = first + documents
                    make(first, documents, start, offset + at - start)
                    first, start = line, offset + at
                line += chunk.count(b"\n", at)
                end = max(end, offset + chunk.rfind(b"\n") + 1)
                offset += len(chunk)
        except _DAMAGED:
            # The good lines count all the same.
            if line > first:
                make(first, line - first, start, end - start)
            raise
    if offset > start:
        make(first, line - first + (offset > end), start, offset - start)


class _Window(io.RawIOBase):
    """`length` bytes of a stream from where it stands, or all of it."""

    def __init__(self, stream: IO[bytes], length: int) -> None:
        self._stream, self._left = stream, length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        most = len(view) if self._left < 0 else min(len(view), self._left)
        data = self._stream.read(most) if most else b""
        view[: len(data)] = data
        self._left -= len(data) if self._left > 0 else 0
        return len(data)


def read_partition(
    partition: Partition, limits: Limits, *, every_column: bool = False
) -> Iterator[InputDocument | BadDocument]:
    """The partition's documents, good or bad, with the places and ids that reading the whole file gives them.

    What is wrong with the data is a `BadDocument`; an OSError means that it could not be reached.
    """
    if partition.problem is not None:
        yield BadDocument(partition.name, partition.problem)
        return
    try:
        if partition.form == "parquet":
            with open_input(partition.uri) as stream, open_parquet(stream) as file:
                stop = None if partition.rows < 0 else partition.first + partition.rows
                yield from read_parquet(file, partition.name, partition.first, stop, every_column=every_column)
        else:
            with open_plain(partition.uri) as stream:
                stream.seek(partition.offset)
                window = io.BufferedReader(_Window(stream, partition.length), _CHUNK)
                yield from read_jsonl(window, partition.name, limits, partition.first, partition.offset)
    except _DAMAGED as error:
        yield BadDocument(partition.name, sentence(error))
