"""The loop behind generate, extract and rank: documents in, results out, bad ones reported and counted."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import typer

from erukg.backends.threads import past_refusals
from erukg.cli._common import NOTHING_DONE, SOME_SKIPPED, say
from erukg.cli._options import Format, InputForm
from erukg.cli._output import Output
from erukg.cli._render import Result
from erukg.errors import InputError
from erukg.io import BadDocument, InputDocument, Limits, find_form, read_documents

__all__ = ["Source", "Work", "process"]

Work: TypeAlias = Callable[[Iterable[InputDocument]], Iterator[Result]]
"""From documents to their results, in order."""


class Source:
    """The documents a command was given; it reports those that cannot be read, and counts everything."""

    def __init__(self, paths: list[str] | None, form: InputForm | None, max_mb: float, pdf_seconds: float) -> None:
        if not paths:
            if sys.stdin is None or sys.stdin.isatty():
                raise typer.BadParameter("Name files or folders, or - for standard input.", param_hint="PATHS")
            paths = ["-"]
        self.paths = paths
        self.form = form.value if form is not None else None
        self.limits = Limits(document_bytes=int(max_mb * 1e6), pdf_seconds=pdf_seconds)
        self.bad = 0
        self.good = 0
        self._passed_over: Counter[str] = Counter()

    @property
    def count(self) -> int | None:
        """How many documents there are, when that is known before reading."""
        try:
            single = all(self._is_single(path) for path in self.paths)
        except OSError:  # a name that the system does not take: reading it reports that
            return None
        return len(self.paths) if single else None

    def _is_single(self, path: str) -> bool:
        if path == "-" or self.form is not None:
            return self.form not in ("jsonl", "csv")
        form = find_form(Path(path))
        return not Path(path).is_dir() and (form is None or form.single)

    def refuse(self, output: Path | None) -> None:
        """Stop before an output replaces one of the inputs."""
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
        for item in read_documents(self.paths, form=self.form, limits=self.limits, skip=self._skip):
            if isinstance(item, BadDocument):
                self.report(item.place, item.message)
            else:
                self.good += 1
                yield item

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


def process(source: Source, output: Output, work: Work) -> None:
    """Run `work` over the documents and write each result as it comes; leaves with the right exit code."""
    with output, _progress(source, output) as advance:
        for result in _results(source, _not_done(source, output.done), work):
            output.write(result)
            advance()
        if not source.good:
            output.discard()
    source.finish()


def _not_done(documents: Iterable[InputDocument], done: Counter[str]) -> Iterator[InputDocument]:
    """Without those that a resumed output holds already; an id that occurs twice counts twice."""
    for document in documents:
        if done[document.id]:
            done[document.id] -= 1
        else:
            yield document


def _results(source: Source, documents: Iterator[InputDocument], work: Work) -> Iterator[Result]:
    """The results; a document that the work itself refuses is reported, and the work goes on behind it."""

    def refused(document: InputDocument, error: InputError) -> None:
        source.good -= 1
        source.report(document.place, str(error))

    return past_refusals(work, documents, refused)


@contextmanager
def _progress(source: Source, output: Output) -> Iterator[Callable[[], None]]:
    """A bar on standard error, when that is a terminal and there may be more than one document.

    JSON and CSV lines that go to the same terminal are their own progress: a bar would run through them.
    """
    on_screen = output.path is None and sys.stdout.isatty()
    if not sys.stderr.isatty() or source.count == 1 or (on_screen and output.format is not Format.table):
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), "documents", TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=source.count)
        if on_screen:
            output.console = bar.console
        try:
            yield lambda: bar.advance(task)
        finally:
            output.console = None
