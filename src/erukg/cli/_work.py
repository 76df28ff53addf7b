"""The loop behind the commands: documents in, results out, bad ones reported and counted."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeVar

import typer

from erukg._version import __version__
from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, say
from erukg.cli._options import Format, InputOptions, OutputOptions
from erukg.core.notices import HEADINGS, extracted_text
from erukg.core.query_expansion import ExpandedQuery
from erukg.core.results import Keyphrases, Notice, RankedPhrases
from erukg.core.streams import Answer
from erukg.errors import InputError, require
from erukg.io import BadDocument, InputDocument, check_extras, find_form, named_form, read_documents
from erukg.io.columns import Result, result_schema
from erukg.io.outputs import Output
from erukg.io.places import is_uri
from erukg.io.progress import progress
from erukg.io.streams import COMPRESSED
from erukg.io.writers import DELIMITERS, CsvWriter, JsonWriter, ParquetWriter, Row, Writer
from erukg.subjects.results import Suggestions

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator

__all__ = [
    "Source",
    "Work",
    "asked",
    "check_output",
    "check_parquet",
    "keep_part",
    "open_output",
    "output_path",
    "process",
    "written_as",
]

ResultT = TypeVar("ResultT", bound=Keyphrases | RankedPhrases | ExpandedQuery | Suggestions)
WriterT = TypeVar("WriterT", bound=Writer)
_JSON_LINES = ("jsonl", "ndjson", "json")
Work: TypeAlias = Callable[[Iterable[InputDocument]], Iterator[Answer[Any, ResultT]]]
"""From documents to an answer for each, in order."""


class Source:
    """The documents a command was given; it reports those that cannot be used, and counts everything.

    `check` refuses documents before any work is done on them, with an `InputError`.
    """

    def __init__(self, options: InputOptions, check: Callable[[InputDocument], None] | None = None) -> None:
        if not options.paths and not options.text and (sys.stdin is None or sys.stdin.isatty()):
            raise typer.BadParameter("Name files or folders, or - for standard input.", param_hint="PATHS")
        self.texts = options.text or []
        self.paths = options.paths or ([] if self.texts else ["-"])
        self.form, self.limits, self.check = options.input_format, options.limits, check
        check_extras(self.paths, self.form)
        self.fields: tuple[str, ...] = ()  # what tables are read for besides id and text
        self.bad = 0
        self.good = 0
        self._output: Path | None = None
        self._passed_over: Counter[str] = Counter()

    @property
    def count(self) -> int | None:
        """How many documents there are, when that is known before reading."""
        try:
            single = all(self._is_single(path) for path in self.paths)
        except OSError:  # a name that the system does not take: reading it reports that
            return None
        return len(self.paths) + len(self.texts) if single else None

    def _is_single(self, path: str) -> bool:
        if path == "-" or self.form is not None:
            return named_form(self.form or "text").single
        form = find_form(path)
        if is_uri(path):
            return form is not None and form.single
        return not Path(path).is_dir() and (form is None or form.single)

    def refuse(self, output: Path | None) -> None:
        """Stop before an output replaces one of the inputs; one that lies in a folder to read is not read."""
        self._output = output
        if output is None or not output.exists():
            return
        for path in self.paths:
            try:
                same = path != "-" and Path(path).samefile(output)
            except OSError:  # no such input: reading it reports that
                continue
            if same:
                raise InputError(f"The output {output} is also an input; name another output.")

    def __iter__(self) -> Iterator[InputDocument]:
        where: dict[str, Any] = {"skip": self._skip, "output": self._output}
        found = read_documents(self.paths, form=self.form, limits=self.limits, fields=self.fields, **where)
        for item in chain(self._given_texts(), found):
            if isinstance(item, BadDocument):
                self.report(item.place, item.message)
                continue
            try:
                if self.check is not None:
                    self.check(item)
            except InputError as error:
                self.report(item.place, str(error))
            else:
                self.good += 1
                yield item

    def _given_texts(self) -> Iterator[InputDocument]:
        for number, text in enumerate(self.texts, 1):
            name = "text" if len(self.texts) == 1 else f"text:{number}"
            yield InputDocument(name, text, name)

    def _skip(self, path: Path, reason: str) -> None:
        self._passed_over[reason + (f" ({path.suffix})" if path.suffix and "form" in reason else "")] += 1

    def report(self, place: str, message: str) -> None:
        self.bad += 1
        say(f"{place}: {message}")

    def finish(self) -> None:
        """Say what was left out, and leave with the exit code that says so."""
        if self._passed_over:
            kinds = ", ".join(f"{n} {reason}" for reason, n in sorted(self._passed_over.items()))
            say(f"Passed over in folders: {kinds}.")
        if self.bad:
            say(f"{self.bad} of {self.bad + self.good} documents skipped.")
            raise typer.Exit(SOME_SKIPPED if self.good else NOTHING_DONE)
        if not self.good:
            say("There are no documents in what was given.")
            raise typer.Exit(NOTHING_DONE)


class _Notices:
    """What there is to say of the documents worked on, told at the end: one by one while they are few."""

    _FEW = 3

    def __init__(self) -> None:
        self._documents = 0
        self._first: dict[str, list[tuple[str, Notice]]] = {}
        self._counts: Counter[str] = Counter()

    def add(self, id: str, notices: Iterable[Notice]) -> None:
        self._documents += 1
        for notice in notices:
            self._counts[notice.code] += 1
            first = self._first.setdefault(notice.code, [])
            if len(first) < self._FEW:
                first.append((id, notice))

    def tell(self) -> None:
        for code, count in self._counts.items():
            first = self._first[code]
            if count > self._FEW:
                say(f"{HEADINGS[code]}: {count} of {self._documents} documents, the first is {first[0][0]}.")
                continue
            for id, notice in first:
                say(notice.message if self._documents == 1 else f"{id}: {notice.message}")


class TableWriter:
    """The writer behind `--format table`; a progress bar that owns the terminal puts its `console` in."""

    def __init__(self, stream: IO[bytes], explain: bool = False) -> None:
        from erukg.cli import _table  # it loads rich, which takes a while

        self._draw, self._explain = _table.draw, explain
        self.console = _table.console(stream)

    def write(self, row: Row) -> None:
        assert isinstance(row, Keyphrases | RankedPhrases)
        self.console.print(self._draw(row, self._explain))

    def close(self) -> None:
        """There is nothing behind the last table."""


def output_path(output: str | None) -> Path | None:
    """The file that `--output` names, None for standard output."""
    return None if output is None or output == "-" else Path(output)


def written_as(path: Path, *forms: str, advice: str = "") -> str:
    """One of these forms if the output's name ends so, or json, which is JSON Lines; other endings are refused."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    ending = name.suffix.lower().removeprefix(".")
    if ending in forms:
        return ending
    if ending in ("", *_JSON_LINES) or (path.exists() and not path.is_file()):  # a pipe or a device has any name
        return "json"
    known = ", ".join(f".{form}" for form in (*_JSON_LINES, *forms))
    raise InputError(f"{path}: what ends in .{ending} is not written here; use one of {known} (also .gz, .xz){advice}.")


def keep_part(part: Path) -> None:
    """Tell the user about an output that can be resumed."""
    say(f"What is done so far is in {part}; the same command with --resume goes on from there.")


# What is read, where results go and how fast: none of it changes them.
_INDIFFERENT = {"documents", "cluster", "threads", "output", "resume", "format", "device", "model", "collection"}


def asked(command: str, job: Any, generator: KeyphraseGenerator, **more: Any) -> dict[str, Any]:
    """What decides the results of a command: an output that is resumed must have been begun with the same."""
    background = generator.background
    return {
        "command": command,
        "version": __version__,
        "model": generator.backend.fingerprint,
        "collection": None if background is None else len(background),
        **({"fields": names} if (names := job.documents.fields.names.given()) else {}),
        **dict(_flat(dataclasses.asdict(job))),
        **more,
    }


def _flat(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        if name not in _INDIFFERENT:
            yield from _flat(value) if isinstance(value, dict) else [(name, value)]


def check_parquet(path: Path | None) -> None:
    """Refuse Parquet where it cannot be written."""
    if path is None:
        raise typer.BadParameter("Parquet goes to a file; name it with --output.", param_hint="--format")
    require("pyarrow.parquet", "parquet", "Writing Parquet")


def check_output(source: Source, options: OutputOptions) -> tuple[Path | None, Format]:
    """Where results go and as what; refuses what cannot be written, before a model is loaded for it."""
    path = output_path(options.output)
    chosen = options.format or _format_of(path)
    if chosen is Format.parquet:
        check_parquet(path)
    if options.resume and (path is None or chosen is not Format.json):
        raise typer.BadParameter("It goes with --output FILE in the format json.", param_hint="--resume")
    source.refuse(path)
    return path, chosen


def open_output(
    source: Source, options: OutputOptions, kind: type[Result], asked: Mapping[str, Any] | None = None
) -> Output[Writer]:
    """The output for results of this type, in the format that was asked for or that the output's name tells."""
    path, chosen = check_output(source, options)
    schema = result_schema(kind, options.explain) if chosen is Format.parquet else None

    def writer(stream: IO[bytes]) -> Writer:
        if schema is not None:
            return ParquetWriter(stream, schema)
        if chosen is Format.json:
            return JsonWriter(stream)
        if chosen is Format.table:
            return TableWriter(stream, options.explain)
        return CsvWriter(stream, options.explain, delimiter=DELIMITERS[chosen])

    keep = keep_part if chosen is Format.json else None
    return Output(path, writer, resume=options.resume, keep=keep, asked=asked)


def _format_of(path: Path | None) -> Format:
    if path is None:
        return Format.table if sys.stdout.isatty() else Format.json
    return Format(
        written_as(path, Format.csv, Format.tsv, Format.parquet, advice=", or say with --format what to write")
    )


def _as_it_is(document: InputDocument, result: Any) -> Any:
    """The result; of a text that was taken out of a file it says so, as its positions are not the file's."""
    if document.extracted and isinstance(result, Keyphrases | RankedPhrases):
        return dataclasses.replace(result, notices=(*result.notices, extracted_text()))
    return result


def process(
    source: Source,
    output: Output[WriterT],
    work: Work[ResultT],
    row: Callable[[InputDocument, ResultT], Row] = _as_it_is,
) -> None:
    """Run `work` over the documents and write the row of each as it comes; leaves with the right exit code."""
    table = output.writer if isinstance(output.writer, TableWriter) else None
    notices = _Notices()
    on_screen = output.path is None and sys.stdout.isatty()
    # JSON and CSV lines that go to the same terminal are their own progress: a bar would run through them.
    show = source.count != 1 and not (on_screen and table is None)
    with output, progress("documents", source.count, show=show, transient=True) as bar:
        if table is not None and on_screen and bar.console is not None:
            table.console = bar.console
        for answer in work(_not_done(source, output.done)):
            if answer.error is not None:
                source.good -= 1
                source.report(answer.item.place, str(answer.error))
            else:
                result = answer.unwrap()
                output.write(row(answer.item, result))
                notices.add(answer.item.id, result.notices)
            bar.advance()
        if not source.good:
            output.discard()
    notices.tell()
    source.finish()


def _not_done(documents: Iterable[InputDocument], done: Counter[str]) -> Iterator[InputDocument]:
    """Without those that a resumed output holds already; an id that occurs twice counts twice."""
    for document in documents:
        if done[document.id]:
            done[document.id] -= 1
        else:
            yield document
