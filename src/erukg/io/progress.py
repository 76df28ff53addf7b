"""How far a long job is: a bar on a terminal, otherwise a line now and then, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Progress", "progress"]

_EVERY_SECONDS = 10.0


class Progress:
    """Counts what is done; the subclasses show it. `console` is where to print while a bar is drawn."""

    console: Console | None = None

    def __init__(self, unit: str, total: int | None = None) -> None:
        self.unit, self.total, self.done = unit, total, 0

    def advance(self, count: int = 1) -> None:
        """So many more are done."""
        self.update(self.done + count)

    def update(self, done: int, total: int | None = None) -> None:
        """So many are done by now, of so many if that is known."""
        self.done, self.total = done, total if total is not None else self.total

    def say(self, line: str) -> None:
        """A line on standard error, above the bar where there is one."""
        print(line, file=sys.stderr, flush=True)


class _Lines(Progress):
    def __init__(self, unit: str, total: int | None) -> None:
        super().__init__(unit, total)
        self._begun = self._shown = time.monotonic()

    def update(self, done: int, total: int | None = None) -> None:
        super().update(done, total)
        if time.monotonic() - self._shown > _EVERY_SECONDS:
            self.show()

    def show(self, end: str = "") -> None:
        self._shown = time.monotonic()
        of = f" of {self.total:,}" if self.total is not None else ""
        self.say(f"{self.done:,}{of} {self.unit} in {self._shown - self._begun:.0f} s{end}")


@contextmanager
def progress(
    unit: str, total: int | None = None, *, show: bool = True, lines: bool = False, transient: bool = False
) -> Iterator[Progress]:
    """Shows how many of `unit` ("documents") are done, on standard error.

    On a terminal that is a bar, which `transient` removes at the end. Elsewhere it is a line every ten seconds with
    `lines`, and nothing without. `show=False` shows nothing anywhere.
    """
    if not show or not (lines or sys.stderr.isatty()):
        yield Progress(unit, total)
        return
    if not sys.stderr.isatty():
        counted = _Lines(unit, total)
        yield counted
        counted.show(", done")
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (bars.BarColumn(), bars.MofNCompleteColumn(), unit, bars.TimeElapsedColumn(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=transient) as bar:
        task = bar.add_task("", total=total)

        class Bar(Progress):
            console = bar.console

            def update(self, done: int, total: int | None = None) -> None:
                super().update(done, total)
                bar.update(task, completed=self.done, total=self.total)

            def say(self, line: str) -> None:
                bar.console.print(line, markup=False, highlight=False)

        yield Bar(unit, total)
