"""A line that says how far a long job is: drawn by rich where it is installed, else printed now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(what: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Gives a function to be called with the number of further items done."""
    if quiet:
        yield lambda count: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ImportError:
        yield from _plain(what)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield from _plain(what)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


def _plain(what: str, every: float = 10.0) -> Iterator[Callable[[int], None]]:
    begun = shown = time.monotonic()
    done = 0

    def advance(count: int) -> None:
        nonlocal done, shown
        done += count
        if time.monotonic() - shown > every:
            shown = time.monotonic()
            print(f"{what}: {done:,} in {shown - begun:.0f} s", file=sys.stderr, flush=True)

    yield advance
    print(f"{what}: {done:,} in {time.monotonic() - begun:.0f} s, done", file=sys.stderr, flush=True)
