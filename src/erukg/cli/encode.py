"""`erukg encode`: sparse vectors of documents and queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any, cast

import typer

from erukg.cli._common import SOME_SKIPPED
from erukg.cli._options import InputOptions, ModelOptions, Threads, given, option, options
from erukg.cli._work import Source, asked, check_parquet, keep_part, output_path, process, written_as
from erukg.core.sparse import TERMS, SparseVector, TermCounts
from erukg.errors import InputError, require
from erukg.io import InputDocument
from erukg.io.objects import parse_object, read_objects
from erukg.io.outputs import Output
from erukg.io.publish import publish_text
from erukg.io.streams import DAMAGED, decode, open_bytes, read_all, sentence
from erukg.io.writers import DELIMITERS, CellWriter, JsonWriter, ParquetWriter, Writer

__all__ = ["app"]

app = typer.Typer()


class Form(StrEnum):
    indices = "indices"
    tokens = "tokens"
    parquet = "parquet"
    csv = "csv"
    tsv = "tsv"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Out:
    """Where and how to write vectors."""

    format: Form | None = given(  # noqa: RUF009 (it is a field)
        None,
        "indices: JSON Lines with the terms' numbers and weights; tokens: with the terms themselves; parquet, csv and "
        "tsv: a table with all three.",
        "-f",
        show_default="as --output ends: parquet, csv, tsv, or indices",
    )
    output: str | None = given(
        None,
        "Write here, compressed when the name ends in .gz or .xz; the file appears when it is complete.",
        "-o",
        show_default="the terminal",
    )
    resume: bool = given(False, "Go on with an interrupted --output (JSON Lines): skip documents already in it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    documents: InputOptions
    out: _Out
    parts: ModelOptions
    terms: Annotated[int, option("--terms", min=1, max=100_000, help="How many terms a vector has at most.")] = TERMS
    threads: Threads = None


_TABLES = (Form.parquet, Form.csv, Form.tsv)
# A count takes some twenty bytes, and vocabularies have no millions of terms.
_LARGEST_COUNTS = 100_000_000
# Its vectors find more than those of the default model.
_MODEL = "small"
_NOT_NEEDED = {"collection", "no_collection", "tagger", "device"}


@app.command()
@options(without=_NOT_NEEDED)
def encode(
    job: _Job,
    save_idf: Annotated[
        Path | None,
        option(
            "--save-idf",
            help="Count in how many of the vectors each term stands, and write that here, for --idf.",
            show_default=False,
        ),
    ] = None,
    idf: Annotated[
        Path | None,
        option(
            "--idf",
            help="For queries: multiply weights by idf, from the file that --save-idf wrote for the documents.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Sparse vectors: how much each term of the model's vocabulary says about a document or query.

    The model is small unless --model names another.

    For example: erukg encode corpus.jsonl -o vectors.jsonl --save-idf idf.json, and then
    erukg encode queries.jsonl -o queries-vectors.jsonl --idf idf.json
    """
    if idf is not None and save_idf is not None:
        raise typer.BadParameter("One is for documents, the other for queries; give one.", param_hint="--save-idf")
    path = output_path(job.out.output)
    form = _form(job.out, path)
    source = Source(job.documents)
    _check_place(source, save_idf, path)
    source.refuse(path)
    generator = replace(job.parts, model=job.parts.model or _MODEL, no_collection=True).load()
    backend = generator.backend
    known = None if idf is None else _read_counts(idf, backend.vocab_size)
    counts = TermCounts(backend.term_space, backend.vocab_size)
    output = Output(
        path,
        _writer(form),
        resume=job.out.resume,
        keep=None if form in _TABLES else keep_part,
        asked=asked("encode", job, generator, form=form, idf=idf),
    )
    if save_idf is not None and path is not None and output.done:
        _count_done(path.with_name(path.name + ".part"), counts, backend.tokens(range(backend.vocab_size)))

    def row(document: InputDocument, vector: Any) -> dict[str, Any]:
        counts.add(vector.indices)
        return _row(document.id, vector, form)

    with _saved(counts, save_idf):
        process(
            source,
            output,
            lambda items: cast("Any", generator.encode_stream(items, job.terms, idf=known, threads=job.threads)),
            row,
        )


def _check_place(source: Source, counts: Path | None, vectors: Path | None) -> None:
    """Refuse a place for the counts that would fail at the very end, or that is taken."""
    source.refuse(counts)
    if counts is None:
        return
    if counts.is_dir() or not counts.parent.is_dir():
        raise InputError(f"--save-idf {counts} is no place for a file; name a file in a folder that is there.")
    if vectors is not None and counts.resolve() == vectors.resolve():
        raise InputError(f"The vectors and the counts would both go to {vectors}; name two files.")


def _form(out: _Out, path: Path | None) -> Form:
    chosen = out.format
    if chosen is None:
        ending = "json" if path is None else written_as(path, *_TABLES, advice=", or say it with --format")
        chosen = Form(ending) if ending in _TABLES else Form.indices
    if chosen is Form.parquet:
        check_parquet(path)
    if out.resume and (path is None or chosen in _TABLES):
        raise typer.BadParameter("It goes with --output FILE in the format indices or tokens.", param_hint="--resume")
    return chosen


def _writer(form: Form) -> Callable[[IO[bytes]], Writer]:
    if form not in _TABLES:
        return JsonWriter
    if form is not Form.parquet:
        return lambda stream: CellWriter(stream, ("id", "indices", "values", "tokens"), DELIMITERS[form])
    pa = require("pyarrow", "parquet", "Writing Parquet")
    lists = {"indices": pa.uint32(), "values": pa.float32(), "tokens": pa.string()}
    schema = pa.schema([("id", pa.string()), *((name, pa.list_(kind)) for name, kind in lists.items())])
    return lambda stream: ParquetWriter(stream, schema)


def _row(id: str, vector: SparseVector, form: Form) -> dict[str, Any]:
    if form is Form.tokens:
        return {"id": id, "tokens": vector.weights()}
    row: dict[str, Any] = {"id": id, "indices": list(vector.indices), "values": list(vector.values)}
    return {**row, "tokens": list(vector.tokens)} if form in _TABLES else row


def _read_counts(path: Path, vocab_size: int) -> TermCounts:
    try:
        with open_bytes(path) as stream:
            text = decode(read_all(stream, _LARGEST_COUNTS))
        return TermCounts.from_dict(parse_object(text), vocab_size)
    except (OSError, *DAMAGED) as error:
        raise InputError(f"{path} cannot be read for --idf: {sentence(error)}") from error
    except InputError as error:
        raise InputError(f"{path} is no file for --idf: {error}") from error


def _count_done(part: Path, counts: TermCounts, tokens: list[str]) -> None:
    """Count the vectors that a resumed output holds already."""
    numbers = {token: index for index, token in enumerate(tokens)}
    for number, row in read_objects(part):
        found, named = row.get("indices"), row.get("tokens")
        if found is None and isinstance(named, dict):
            found = [numbers.get(token, -1) for token in named]
        if not isinstance(found, list) or not all(isinstance(i, int) and 0 <= i < len(counts) for i in found):
            raise InputError(
                f"Line {number} of {part} is no vector of this model, so it cannot be counted; remove the file."
            )
        counts.add(found)


@contextmanager
def _saved(counts: TermCounts, path: Path | None) -> Iterator[None]:
    """Write the counts when the work is done, also when some documents were skipped."""
    try:
        yield
    except typer.Exit as stop:
        if path is not None and stop.exit_code == SOME_SKIPPED:
            publish_text(path, json.dumps(counts.to_dict()))
        raise
    if path is not None:
        publish_text(path, json.dumps(counts.to_dict()))
