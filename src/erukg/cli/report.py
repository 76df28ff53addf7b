"""`erukg report`: documents and their keyphrases as one HTML file to look at."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer

from erukg._version import __version__
from erukg.cli._common import SOME_SKIPPED, say
from erukg.cli._options import (
    CollectionFolder,
    Format,
    InputFormat,
    MaxMb,
    MaxPdfSeconds,
    Model,
    NoCollection,
    Paths,
    TaggerName,
    TaggerOption,
    Threads,
    TopK,
    settings_options,
)
from erukg.cli._output import Output
from erukg.cli._render import ExpandedRow, Result
from erukg.cli._work import Source, process
from erukg.cli.generate import load_generator
from erukg.core.settings import Settings
from erukg.io import InputDocument, Limits
from erukg.serving.report import Report, report_row
from erukg.serving.report.parts import escaped

__all__ = ["app"]

app = typer.Typer()

_MAX_MB = 5.0
_MAX_DOCUMENTS = 2_000
_MAX_REPORT_MB = 100.0
_PDF_SECONDS = Limits().pdf_seconds


class _ReportFile(Output):
    """The report as an output: written row by row, in place only when complete, and never resumed."""

    def __init__(self, path: Path | None, report: Report, most_bytes: float) -> None:
        self._report = report
        self._left = most_bytes
        self._begun = False
        self.note = ""
        super().__init__(Format.json, path)

    @property
    def full(self) -> bool:
        return self._left <= 0

    def write(self, result: Result) -> None:
        row = escaped(result.to_dict())
        self._file.write((",\n" if self._begun else self._report.begin()) + row)
        self._begun = True
        self._left -= len(row.encode("utf-8", "backslashreplace"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._begun:
                self._file.write(self._report.end(self.note))
        except OSError as failed:  # a full disk: what is there is no report
            super().__exit__(OSError, failed, failed.__traceback__)
            raise
        super().__exit__(kind, error, trace)


@app.command()
@settings_options()
def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The HTML file; it appears when it is complete. - is the terminal.")
    ],
    paths: Paths = None,
    extract: Annotated[bool, typer.Option("--extract", help="Only phrases in the text, without a collection.")] = False,
    top_k: TopK = 10,
    threads: Threads = None,
    model: Model = None,
    collection: CollectionFolder = None,
    no_collection: NoCollection = False,
    tagger: TaggerOption = TaggerName.model,
    input_format: InputFormat = None,
    max_mb: MaxMb = _MAX_MB,
    max_pdf_seconds: MaxPdfSeconds = _PDF_SECONDS,
    max_documents: Annotated[
        int, typer.Option("--max-documents", min=1, max=100_000, help="Most documents.", rich_help_panel="Input")
    ] = _MAX_DOCUMENTS,
    max_report_mb: Annotated[
        float,
        typer.Option(
            "--max-report-mb",
            min=0.001,
            max=2_000,
            help="No more documents beyond this size, in megabytes; browsers are slow with larger ones.",
            rich_help_panel="Input",
        ),
    ] = _MAX_REPORT_MB,
    *,
    settings: Settings,
) -> None:
    """Documents with their keyphrases, explained, and a map of them all: one HTML file that needs no service.

    For example: erukg report papers/ --output report.html
    """
    source = Source(paths, input_format, max_mb, max_pdf_seconds)
    path = None if str(output) == "-" else output
    source.refuse(path)
    settings = settings.extraction() if extract else settings
    generator = load_generator(model, collection, no_collection or (extract and collection is None), tagger)
    if generator.background is None and not (no_collection or extract):
        say("There is no collection for this model, so no absent phrases are found; see: erukg collection build --help")
    about = Report(
        version=__version__,
        model=str(getattr(getattr(generator.backend, "folder", None), "name", "")),
        collection=len(generator.background) if generator.background is not None else None,
        alpha=settings.alpha,
        beta=settings.beta,
        made=datetime.now(UTC).date().isoformat(),
    )
    sink = _ReportFile(path, about, max_report_mb * 1e6)
    written = 0

    def work(documents: Iterable[InputDocument]) -> Iterator[Result]:
        nonlocal written
        waiting: deque[InputDocument] = deque()

        def pairs() -> Iterator[tuple[str, str]]:
            for document in documents:
                if written + len(waiting) >= max_documents or sink.full:
                    source.good -= 1
                    what = "--max-report-mb" if sink.full else "--max-documents"
                    sink.note = f"Only the first {written + len(waiting)} documents are in this report"
                    say(f"{sink.note}; raise {what}, or make several reports.")
                    return
                waiting.append(document)
                yield document.id, document.text

        for found in generator.generate_batch(pairs(), top_k, settings, explain=True, threads=threads):
            document = waiting.popleft()
            written += 1
            yield ExpandedRow(document.id, report_row(document.text, found, document.fields))

    process(source, sink, work)
    if sink.note:
        raise typer.Exit(SOME_SKIPPED)
