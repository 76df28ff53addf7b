"""The input of a job: which files it reads, cutting them into partitions, and reading one of these.

Files are JSON Lines (also .gz and .xz) and Parquet, from anywhere that every node can reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from erukg.core.expansion import FIELDS
from erukg.errors import InputError
from erukg.io import BadDocument, InputDocument, Limits
from erukg.io.jsonl import read_jsonl
from erukg.io.parquet import check_columns, open_parquet, read_parquet
from erukg.io.sources import STDIN, find_sources
from erukg.io.streams import DAMAGED, open_bytes, sentence, window

__all__ = ["InputFile", "Partition", "list_inputs", "read_partition", "scan"]

_FORMS = ("jsonl", "parquet")
_CHUNK = 1 << 20
# What no second try would mend; an InputError and pyarrow's own errors are ValueErrors.
_UNREADABLE = (ValueError, *DAMAGED)
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of documents.

    name   as the caller wrote it: the places of its documents begin with it
    uri    the same for workers on any node
    form   "jsonl" or "parquet"
    bytes, stamp   its size and time of change, by which a changed file is known
    """

    name: str
    uri: str
    form: str
    bytes: int
    stamp: int


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows of one file that are processed together and written as one file.

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


def list_inputs(paths: Sequence[str], form: str | None = None) -> list[InputFile | BadDocument]:
    """All files behind the paths (files or folders, local or URIs), in order; `form` says what named files are.

    Files of other forms are passed over in folders, and refused when they are named.
    """
    if form not in (None, *_FORMS):
        raise InputError(f"Ray reads JSON Lines and Parquet, not {form}; convert it, or use --engine local.")
    if not paths or STDIN in paths:
        raise InputError("Ray reads files that every node can reach, not standard input; name files or folders.")
    out: list[InputFile | BadDocument] = []
    for source in find_sources(paths, form):
        if isinstance(source, BadDocument):
            out.append(source)
        elif source.form is not None and source.form.name in _FORMS:
            file = source.file
            out.append(InputFile(file.name, file.uri, source.form.name, file.bytes, file.stamp))
        elif source.file.named:
            endings = ".jsonl, .ndjson (also .gz and .xz) and .parquet"
            out.append(BadDocument(source.file.name, f"Its ending is none of {endings}, which is what Ray reads."))
    return out


def scan(file: InputFile, documents: int, *, expand: bool = False) -> list[Partition]:
    """The partitions of a file, of `documents` rows each, numbered from 0.

    What is wrong with the file as a whole is a last partition with a `problem`; one that cannot be reached raises an
    OSError.
    """
    out: list[Partition] = []
    try:
        for bounds in _cut_parquet(file, documents, expand) if file.form == "parquet" else _cut_lines(file, documents):
            out.append(Partition(len(out), file.name, file.uri, file.form, *bounds))
    except (*_UNREADABLE, FileNotFoundError, PermissionError) as error:
        out.append(Partition(len(out), file.name, file.uri, file.form, rows=0, problem=sentence(error)))
    return out


def _cut_parquet(file: InputFile, documents: int, expand: bool) -> Iterator[tuple[int, int]]:
    """First row and number of rows of each partition."""
    with open_bytes(file.uri) as stream:
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
        yield first, min(documents, total - first)


def _cut_lines(file: InputFile, documents: int) -> Iterator[tuple[int, int, int, int]]:
    """First line, number of lines, first byte and number of bytes of each partition."""
    line = offset = first = start = end = 0
    with open_bytes(file.uri) as stream:
        try:
            while chunk := stream.read(_CHUNK):
                if not offset and chunk.startswith(_WIDE):
                    yield 0, -1, 0, -1
                    return
                at = 0
                # Whole chunks are counted at once, unless a partition ends within.
                while line - first + chunk.count(b"\n", at) >= documents:
                    for _ in range(documents - (line - first)):
                        at = chunk.index(b"\n", at) + 1
                    line = first + documents
                    yield first, documents, start, offset + at - start
                    first, start = line, offset + at
                line += chunk.count(b"\n", at)
                end = max(end, offset + chunk.rfind(b"\n") + 1)
                offset += len(chunk)
        except DAMAGED:
            # The good lines count all the same.
            if line > first:
                yield first, line - first, start, end - start
            raise
    if offset > start:
        yield first, line - first + (offset > end), start, offset - start


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
        with open_bytes(partition.uri) as stream:
            if partition.form == "parquet":
                stop = partition.first + partition.rows
                with open_parquet(stream) as file:
                    yield from read_parquet(file, partition.name, partition.first, stop, every_column=every_column)
            else:
                stream.seek(partition.offset)
                lines = window(stream, partition.length)
                yield from read_jsonl(lines, partition.name, limits, partition.first, partition.offset)
    except _UNREADABLE as error:
        yield BadDocument(partition.name, sentence(error))
