"""`erukg suggest`: concepts of a vocabulary, or tags of an archive, for documents."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from erukg.cli._options import InputOptions, ModelOptions, OutputOptions, Threads, given, option, options
from erukg.cli._work import Source, TableWriter, asked, check_parquet, keep_part, output_path, process, written_as
from erukg.io.catalogue import JsonLdWriter, SubjectCsvWriter, SubjectParquetWriter, TsvWriter
from erukg.io.outputs import Output
from erukg.io.writers import JsonWriter, Row, Writer

if TYPE_CHECKING:
    from erukg.core.inputs import InputDocument
    from erukg.subjects.results import Suggestions
    from erukg.subjects.suggester import Suggester
    from erukg.subjects.vocabulary import Vocabulary

__all__ = ["app"]

app = typer.Typer()

_SUBJECTS = "Subjects"


class SuggestFormat(StrEnum):
    text = "text"
    jsonl = "jsonl"
    tsv = "tsv"
    csv = "csv"
    jsonld = "jsonld"
    parquet = "parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOptions:
    """What to suggest from, and how much."""

    vocabulary: str | None = given(
        None,
        "Your concepts: SKOS (.ttl .rdf .nt), Annif's .tsv, .csv, .jsonl, a list of tags (.txt), or a folder made by "
        "'erukg vocabulary build'.",
        "-v",
        show_default="the tags in --collection",
        panel=_SUBJECTS,
    )
    tagged: Annotated[
        str | None,
        option(
            "--collection",
            help="Folder of a collection built with --tags: similar documents in it vote with their tags.",
            show_default="none: by the labels alone",
            panel=_SUBJECTS,
        ),
    ] = None
    ranking: str | None = given(
        None, "Folder of a ranking made by 'erukg train suggest'.", show_default="none is needed", panel=_SUBJECTS
    )
    vocabulary_language: str = given("en", "Language of the labels to use, where a file has several.", panel=_SUBJECTS)
    top_k: Annotated[int, option("--top-k", "-k", min=1, max=1000, help="How many concepts, at most.")] = 10
    min_confidence: float = given(
        0.0, "Leave out concepts that an indexer is less likely to choose than this.", min=0, max=1
    )
    new_terms: int = given(
        0, "How many phrases that the vocabulary lacks to propose beside the concepts.", min=0, max=1000
    )

    def __post_init__(self) -> None:
        if self.vocabulary is None and self.tagged is None:
            raise typer.BadParameter(
                "Give your concepts with --vocabulary FILE, or an archive that has tags with --collection FOLDER.",
                param_hint="--vocabulary",
            )
        if self.ranking is not None and self.tagged is None:
            raise typer.BadParameter(
                "A ranking is learned from an archive; give that too, with --collection.", param_hint="--ranking"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The whole command line."""

    documents: InputOptions
    out: OutputOptions
    parts: ModelOptions
    subjects: SubjectOptions
    threads: Threads = None


@app.command()
@options(without={"format", "explain", "collection", "no_collection", "tagger", "device"})
def suggest(
    job: Job,
    form: Annotated[
        SuggestFormat | None,
        option(
            "--format",
            "-f",
            help="How to write results; tsv, csv and jsonld are for catalogues.",
            show_default="as --output ends; else text on a terminal, jsonl in a pipe",
        ),
    ] = None,
) -> None:
    """Concepts of your own vocabulary, or tags of your own archive, that describe documents.

    For example: erukg suggest paper.pdf --vocabulary thesaurus.ttl, or
    erukg suggest new.jsonl --vocabulary mesh.tsv --collection archive --output subjects.tsv
    """
    path, subjects = output_path(job.out.output), job.subjects
    chosen = form or _format_of(path)
    if job.out.resume and (path is None or chosen is not SuggestFormat.jsonl):
        raise typer.BadParameter("It goes with --output FILE in the format jsonl.", param_hint="--resume")
    if chosen is SuggestFormat.parquet:
        check_parquet(path)
    source = Source(job.documents)
    source.refuse(path)
    vocabulary = _vocabulary(subjects)
    generator = job.parts.load()
    suggester = generator.suggester(vocabulary, tagged=subjects.tagged, ranking=subjects.ranking)
    decides = asked("suggest", job, generator, **_described(suggester))
    process(
        source,
        Output(
            path,
            partial(_writer, chosen, suggester, source.count == 1),
            resume=job.out.resume,
            keep=keep_part if chosen is SuggestFormat.jsonl else None,
            asked=decides,
        ),
        lambda items: suggester.stream(
            items,
            subjects.top_k,
            min_confidence=subjects.min_confidence,
            new_terms=subjects.new_terms,
            threads=job.threads,
        ),
        _plain,
    )


def _vocabulary(subjects: SubjectOptions) -> Vocabulary | None:
    from erukg.subjects.vocabulary import Vocabulary

    if subjects.vocabulary is None:
        return None
    return Vocabulary.load(subjects.vocabulary, language=subjects.vocabulary_language)


def _described(suggester: Suggester) -> dict[str, Any]:
    """What tells one vocabulary and archive from another, wherever they lie."""
    tagged, ranking = suggester.tagged, suggester.ranking
    return {
        "ranking": None if ranking is None else ranking.fingerprint,
        "vocabulary": suggester.vocabulary.fingerprint,
        "tagged": None if tagged is None else len(tagged),
    }


def _format_of(path: Path | None) -> SuggestFormat:
    if path is None:
        return SuggestFormat.text if sys.stdout.isatty() else SuggestFormat.jsonl
    ending = written_as(path, "tsv", "csv", "jsonld", "parquet", "txt", advice=", or say with --format what to write")
    return SuggestFormat({"json": "jsonl", "txt": "text"}.get(ending, ending))


def _writer(form: SuggestFormat, suggester: Suggester, single: bool, stream: IO[bytes]) -> Writer:
    if form is SuggestFormat.text:
        return _SuggestionTables(stream)
    if form is SuggestFormat.tsv:
        return TsvWriter(stream, ids=not single)
    if form is SuggestFormat.csv:
        return SubjectCsvWriter(stream)
    if form is SuggestFormat.jsonld:
        return JsonLdWriter(stream, language=suggester.vocabulary.language)
    return SubjectParquetWriter(stream) if form is SuggestFormat.parquet else JsonWriter(stream)


class _SuggestionTables(TableWriter):
    """The writer behind `--format text`."""

    def write(self, row: Row) -> None:
        from erukg.cli._table import draw_suggestions

        assert isinstance(row, Mapping)
        self.console.print(draw_suggestions(row))


def _plain(document: InputDocument, result: Suggestions) -> Row:
    return result.to_dict()
