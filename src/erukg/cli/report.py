"""`erukg report`: documents and their keyphrases as one HTML file to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated

import typer

from erukg._version import __version__
from erukg.cli._common import SOME_SKIPPED, say
from erukg.cli._options import InputOptions, ModelOptions, Threads, TopK, max_mb, option, options
from erukg.cli._work import Source, output_path, process
from erukg.core.results import Keyphrases, RankedPhrases
from erukg.core.settings import Settings
from erukg.io import InputDocument
from erukg.io.outputs import Output
from erukg.io.writers import Row, Utf8
from erukg.serving.report import Report, escaped, report_row

__all__ = ["app"]

app = typer.Typer()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Documents(InputOptions):
    max_mb: float = max_mb(5.0)


class _HtmlWriter:
    """A report, document by document; `size` is that of the documents so far, in bytes."""

    def __init__(self, stream: IO[bytes], report: Report) -> None:
        self._write, self._report = Utf8(stream).write, report
        self.size = 0
        self.note = ""

    def write(self, row: Row) -> None:
        assert not isinstance(row, Keyphrases | RankedPhrases)
        self._write(",\n" if self.size else self._report.begin())
        self.size += self._write(escaped(row))

    def close(self) -> None:
        if self.size:
            self._write(self._report.end(self.note))


@app.command()
@options(without={"device"})
def report(
    documents: _Documents,
    parts: ModelOptions,
    settings: Settings,
    output: Annotated[
        Path, option("--output", "-o", help="The HTML file; it appears when it is complete. - is the terminal.")
    ],
    extract: Annotated[bool, option("--extract", help="Only phrases in the text, without a collection.")] = False,
    top_k: TopK = 10,
    threads: Threads = None,
    max_documents: Annotated[
        int, option("--max-documents", min=1, max=100_000, help="Most documents.", panel="Input")
    ] = 2_000,
    max_report_mb: Annotated[
        float,
        option(
            "--max-report-mb",
            min=0.001,
            max=2_000,
            help="No more documents beyond this size, in megabytes; browsers are slow with larger ones.",
            panel="Input",
        ),
    ] = 100.0,
) -> None:
    """Documents with their keyphrases, explained, and a map of them all: one HTML file that needs no service.

    For example: erukg report papers/ --output report.html
    """
    source = Source(documents)
    path = output_path(str(output))
    source.refuse(path)
    if extract:
        settings = settings.extraction()
        parts = replace(parts, no_collection=parts.no_collection or parts.collection is None)
    generator = parts.load(absent=not extract)
    about = Report(
        version=__version__,
        model=generator.backend.name,
        collection=len(generator.background) if generator.background is not None else None,
        alpha=settings.alpha,
        beta=settings.beta,
        made=datetime.now(UTC).date().isoformat(),
    )
    sink = Output(path, lambda stream: _HtmlWriter(stream, about))

    def first(items: Iterable[InputDocument]) -> Iterator[InputDocument]:
        for item in items:
            full = sink.writer.size >= max_report_mb * 1e6
            if full or source.good > max_documents:
                source.good -= 1
                sink.writer.note = f"Only the first {source.good} documents are in this report"
                what = "--max-report-mb" if full else "--max-documents"
                say(f"{sink.writer.note}; raise {what}, or make several reports.")
                return
            yield item

    process(
        source,
        sink,
        lambda items: generator.stream(first(items), top_k, settings, explain=True, threads=threads),
        lambda document, found: report_row(document.text, found, document.fields),
    )
    if sink.writer.note:
        raise typer.Exit(SOME_SKIPPED)
