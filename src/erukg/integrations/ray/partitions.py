"""The input of a job: which files it reads, cutting them into partitions, and reading one of these.

Files are JSON Lines (also .gz and .xz) and Parquet, from anywhere that every node can reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from erukg.core.expansion import FIELDS
from erukg.errors import InputError
from erukg.io import BadDocument, InputDocument, Limits
from erukg.io.items import FieldNames, check_columns
from erukg.io.jsonl import read_jsonl
from erukg.io.parquet import open_parquet, read_parquet
from erukg.io.sources import STDIN, SourceFile, find_sources
from erukg.io.streams import DAMAGED, open_bytes, sentence, window

__all__ = ["Partition", "list_inputs", "read_partition", "scan"]

_FORMS = ("jsonl", "parquet")
_CHUNK = 1 << 20
# What no second try would mend; an InputError and pyarrow's own errors are ValueErrors.
_UNREADABLE = (ValueError, *DAMAGED)
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows of one file that are processed together and written as one file.

    number   its place among all partitions of the job, and the number in its output's name
    name, uri, form   of the file: the places of its documents begin with `name`, all nodes find it by `uri`
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


def list_inputs(paths: Sequence[str], form: str | None = None) -> list[SourceFile | BadDocument]:
    """All files behind the paths (files or folders, local or URIs), in order; `form` says what named files are.

    Files of other forms are passed over in folders, and refused when they are named.
    """
    if form not in (None, *_FORMS):
        raise InputError(f"Ray reads JSON Lines and Parquet, not {form}; convert it, or use --engine local.")
    if not paths or STDIN in paths:
        raise InputError("Ray reads files that every node can reach, not standard input; name files or folders.")
    out: list[SourceFile | BadDocument] = []
    for source in find_sources(paths, form):
        if isinstance(source, BadDocument) or (source.form is not None and source.form.name in _FORMS):
            out.append(source)
        elif source.file.named:
            endings = ".jsonl, .ndjson (also .gz and .xz) and .parquet"
            out.append(BadDocument(source.file.name, f"Its ending is none of {endings}, which is what Ray reads."))
    return out


def scan(
    source: SourceFile,
    documents: int,
    *,
    expand: bool = False,
    names: FieldNames = FieldNames(),  # noqa: B008 (it cannot be changed)
) -> list[Partition]:
    """The partitions of a file, of `documents` rows each, numbered from 0; `names` are those of its fields.

    What is wrong with the file as a whole is a last partition with a `problem`; one that cannot be reached raises an
    OSError.
    """
    assert source.form is not None
    out: list[Partition] = []
    uri, parquet = source.file.uri, source.form.name == "parquet"
    file = source.file.name, uri, source.form.name
    try:
        for bounds in _cut_parquet(uri, documents, expand, names) if parquet else _cut_lines(uri, documents):
            out.append(Partition(len(out), *file, *bounds))
    except (*_UNREADABLE, FileNotFoundError, PermissionError) as error:
        out.append(Partition(len(out), *file, rows=0, problem=sentence(error)))
    return out


def _cut_parquet(uri: str, documents: int, expand: bool, named: FieldNames) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each partition."""
    with open_bytes(uri) as stream:
        stream.read(1)
        stream.seek(0)
        try:
            with open_parquet(stream) as parquet:
                names, total = parquet.schema_arrow.names, parquet.metadata.num_rows
        except OSError as error:  # pyarrow's way to say that what it reads makes no sense
            raise InputError(f"It cannot be read as Parquet: {str(error).rstrip('.')}.") from error
    check_columns(names, named)
    if expand and (there := [field for field in FIELDS if field in names]):
        raise InputError(f"It has a column '{there[0]}' already; give the file as it was before expansion.")
    for first in range(0, total, documents):
        yield first, min(documents, total - first)


def _cut_lines(uri: str, documents: int) -> Iterator[tuple[int, int, int, int]]:
    """First line, number of lines, first byte and number of bytes of each partition."""
    first = rows = start = size = whole = 0
    with open_bytes(uri) as stream:
        reader = window(stream)
        try:
            if reader.peek(4).startswith(_WIDE):
                yield 0, -1, 0, -1
                return
            while piece := reader.readline(_CHUNK):
                size += len(piece)
                if piece.endswith(b"\n"):
                    rows, whole = rows + 1, size
                if rows == documents:
                    yield first, rows, start, size
                    first, start, rows, size, whole = first + rows, start + size, 0, 0, 0
        except DAMAGED:
            # The good lines count all the same.
            if rows:
                yield first, rows, start, whole
            raise
    if size:
        yield first, rows + (size > whole), start, size


def read_partition(
    partition: Partition, limits: Limits, *, every_column: bool = False, fields: Sequence[str] = ()
) -> Iterator[InputDocument | BadDocument]:
    """The partition's documents, good or bad, with the places and ids that reading the whole file gives them.

    Of Parquet the columns `fields` are read beside id and text, or `every_column`; of JSON Lines all fields are.
    What is wrong with the data is a `BadDocument`; an OSError means that it could not be reached.
    """
    if partition.problem is not None:
        yield BadDocument(partition.name, partition.problem)
        return
    try:
        with open_bytes(partition.uri) as stream:
            if partition.form == "parquet":
                stop = partition.first + partition.rows
                with open_parquet(stream) as file:
                    yield from read_parquet(
                        file,
                        partition.name,
                        partition.first,
                        stop,
                        every_column=every_column,
                        fields=fields,
                        named=limits.names,
                    )
            else:
                stream.seek(partition.offset)
                lines = window(stream, partition.length)
                yield from read_jsonl(lines, partition.name, limits, partition.first, partition.offset)
    except _UNREADABLE as error:
        yield BadDocument(partition.name, sentence(error))
