"""What `erukg expand` writes: the options of its formats, and the rows of each."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any, cast

import typer

from erukg.cli._options import given, option
from erukg.cli._work import Source, check_parquet, keep_part, written_as
from erukg.core.expansion import FIELDS, QUERY_FIELDS, best_phrases, check_row, expand_query_row, expand_row
from erukg.core.query_expansion import ExpandedQuery, QueryOptions
from erukg.core.results import Keyphrases
from erukg.io import InputDocument
from erukg.io.columns import expanded_cells, expanded_columns, expanded_names
from erukg.io.engines import (
    ENGINES,
    Engine,
    check_document,
    check_query,
    document_lines,
    index_schema,
    query_lines,
    records,
)
from erukg.io.lucene import parse_fields
from erukg.io.outputs import Output
from erukg.io.publish import publish_text
from erukg.io.writers import DELIMITERS, CellWriter, JsonWriter, LineWriter, ParquetWriter, Row, Writer

__all__ = ["ExpandFormat", "Phrases", "Target"]

_QUERIES, _FORMAT = "Queries", "Search engines"
_TABLES = ("parquet", "csv", "tsv")
_ADVICE = ", or say with --format what to write"


class ExpandFormat(StrEnum):
    jsonl = "jsonl"
    lucene = "lucene"
    elasticsearch = "elasticsearch"
    opensearch = "opensearch"
    solr = "solr"
    parquet = "parquet"
    csv = "csv"
    tsv = "tsv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrases:
    """How many phrases are added, and to what."""

    queries: bool = given(False, "The lines are queries: phrases get weights to search with, in the field 'expansion'.")
    present: int | None = given(
        None, "How many phrases of the text itself, at most.", min=0, max=1000, show_default="10"
    )
    absent: int | None = given(
        None, "How many phrases of similar documents, at most.", min=0, max=1000, show_default="20"
    )
    both: Annotated[
        int | None, option("--top-k", "-k", min=0, max=1000, help="The same number for --present and --absent.")
    ] = None
    weight: float | None = given(
        None,
        "The share of the longer query that phrases have.",
        min=0,
        max=0.9,
        show_default="0.3",
        panel=_QUERIES,
    )
    terms: int | None = given(
        None,
        "How many of the model's best words that the query does not have, at most.",
        min=0,
        max=1000,
        show_default="0",
        panel=_QUERIES,
    )

    def __post_init__(self) -> None:
        for name in ("weight", "terms"):
            if getattr(self, name) is not None and not self.queries:
                raise typer.BadParameter("It goes with --queries.", param_hint=f"--{name}")

    @property
    def most(self) -> tuple[int, int]:
        """How many present and how many absent phrases."""
        plain = QueryOptions()
        defaults = (plain.present, plain.absent) if self.both is None else (self.both, self.both)
        chosen = (self.present, self.absent)
        present, absent = (d if c is None else c for c, d in zip(chosen, defaults, strict=True))
        return present, absent

    @property
    def options(self) -> QueryOptions:
        """How queries are expanded."""
        (present, absent), plain = self.most, QueryOptions()
        weight = plain.weight if self.weight is None else self.weight
        return QueryOptions(weight, present, absent, plain.terms if self.terms is None else self.terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """In what form rows are written, for which engine."""

    form: Annotated[
        ExpandFormat | None,
        option(
            "--format",
            "-f",
            help="How to write rows: as they came (jsonl), or as a search engine takes them.",
            show_default="as --output ends: parquet, csv, tsv, or jsonl",
            panel=_FORMAT,
        ),
    ] = None
    fields: str | None = given(
        None,
        "Queries: the fields to search, and what a match in each counts.",
        metavar="<NAME[^WEIGHT],...>",
        show_default="text,keyphrases^0.4; lucene: the parser's default field",
        panel=_FORMAT,
    )
    index: str | None = given(None, "Elasticsearch, OpenSearch: the index, in every line.", panel=_FORMAT)
    schema: str | None = given(
        None,
        "Also write here how to make the index: the body of PUT /INDEX, or commands of Solr's Schema API.",
        metavar="FILE",
        panel=_FORMAT,
    )
    append: bool = given(False, "Also add the phrases to the text, on a line of their own; lowers precision.")

    def chosen(self, path: Path | None) -> ExpandFormat:
        if self.form is not None:
            return self.form
        ending = "json" if path is None else written_as(path, *_TABLES, advice=_ADVICE)
        return ExpandFormat(ending) if ending in _TABLES else ExpandFormat.jsonl

    def open(self, source: Source, path: Path | None, phrases: Phrases, resume: bool) -> Rows:
        """Where the rows go, once the options are known to fit together."""
        chosen = self.chosen(path)
        engine = chosen.value if chosen.value in ENGINES else None
        self._check(chosen, engine, phrases.queries)
        if chosen is ExpandFormat.parquet:
            check_parquet(path)
        if resume and path is None:
            raise typer.BadParameter("It goes with --output FILE.", param_hint="--resume")
        if resume and chosen in _TABLES:
            raise typer.BadParameter(
                f"{chosen.value} cannot be gone on with; write jsonl, or begin again without it.",
                param_hint="--resume",
            )
        source.refuse(path)
        return Rows(self, phrases, path, resume, chosen, engine)

    def _check(self, chosen: ExpandFormat, engine: Engine | None, queries: bool) -> None:
        if self.append and chosen is not ExpandFormat.jsonl:
            raise typer.BadParameter("It goes with --format jsonl.", param_hint="--append")
        if self.fields is not None:
            if engine is None or not queries:
                raise typer.BadParameter("It goes with --queries and a search engine's format.", param_hint="--fields")
            parse_fields(self.fields)
        if self.index is not None and chosen not in (ExpandFormat.elasticsearch, ExpandFormat.opensearch):
            raise typer.BadParameter("It goes with --format elasticsearch or opensearch.", param_hint="--index")
        if self.schema is not None and engine in (None, "lucene"):
            raise typer.BadParameter("It goes with --format elasticsearch, opensearch or solr.", param_hint="--schema")


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one run: which are taken, what is written of each, and where."""

    target: Target
    phrases: Phrases
    path: Path | None
    resume: bool
    form: ExpandFormat
    engine: Engine | None

    def check(self, document: InputDocument) -> None:
        """Refuse a row that could not be written, before any work is done on it."""
        row = document.fields or {}
        check_row(row, added=QUERY_FIELDS if self.phrases.queries else FIELDS)
        if self.engine is not None and self.phrases.queries:
            check_query(document.id, document.text, self.engine)
        elif self.engine is not None:
            check_document(row, self.engine)

    def write_schema(self) -> None:
        if self.target.schema is not None and self.engine is not None:
            text = json.dumps(index_schema(self.engine), indent=2) + "\n"
            publish_text(Path(self.target.schema), text)

    def open(self, asked: Mapping[str, Any]) -> Output[Writer]:
        """The output; `asked` is what decides the rows beside the options here."""
        chosen = dataclasses.asdict(self.phrases) | dataclasses.asdict(self.target)
        lines = records(self.engine, queries=self.phrases.queries) if self.engine is not None else None
        keep = None if self.form in _TABLES else keep_part
        return Output(self.path, self._writer, resume=self.resume, records=lines, keep=keep, asked={**asked, **chosen})

    def _writer(self, stream: IO[bytes]) -> Writer:
        if self.form is ExpandFormat.parquet:
            return ParquetWriter(stream, expanded_columns(queries=self.phrases.queries))
        if self.form in _TABLES:
            return CellWriter(stream, expanded_names(queries=self.phrases.queries), DELIMITERS[self.form])
        return JsonWriter(stream) if self.engine is None else LineWriter(stream)

    def row_of(self) -> Callable[[InputDocument, Any], Row]:
        """From a document and its result to what is written."""
        make = self._query if self.phrases.queries else self._document
        if self.form not in _TABLES:
            return make
        columns = expanded_names(queries=self.phrases.queries)

        def cells(document: InputDocument, found: Any) -> Row:
            row = expanded_cells(cast(dict[str, Any], make(document, found)), columns)
            if self.form is not ExpandFormat.parquet and "expansion" in row:
                row["expansion"] = [f"{each['phrase']}^{each['weight']:g}" for each in row["expansion"]]
            return row

        return cells

    def _query(self, document: InputDocument, found: ExpandedQuery) -> Row:
        if self.engine is None:
            return expand_query_row(document.fields or {}, found, append=self.target.append)
        named = replace(found, id=document.id)
        return query_lines(named, self.engine, self.target.fields, self.target.index)

    def _document(self, document: InputDocument, found: Keyphrases) -> Row:
        row, phrases = document.fields or {}, best_phrases(found, *self.phrases.most)
        if self.engine is None:
            return expand_row(row, *phrases, append=self.target.append)
        return document_lines(row, *phrases, self.engine, self.target.index)
