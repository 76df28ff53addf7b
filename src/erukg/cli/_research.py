"""What the commands of the research wing share: options, a console for wide tables, progress by task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["CollectionFolder", "Model", "Output", "Threads", "console", "task_progress", "write_report"]

Model: TypeAlias = Annotated[str | None, typer.Option(help="Model folder or name instead of the bundled one.")]
CollectionFolder: TypeAlias = Annotated[str | None, typer.Option(help="Collection folder instead of the bundled one.")]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", help="Also write the results as JSON to this file.")
]
Threads: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Documents worked on at once. [default: all cores]", show_default=False)
]


def console() -> Console:
    """Standard output; in a file or pipe nothing bounds the width of a table."""
    from rich.console import Console

    out = Console(soft_wrap=False)
    return out if out.is_terminal else Console(width=160)


def write_report(report: Mapping[str, Any], output: Path | None) -> None:
    """Write the report where one was asked for."""
    from erukg.research.evaluation.reporting import write_json

    if output is not None:
        write_json(report, output)


@contextmanager
def task_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Told the task at hand, how much of it is done and how much there is: names each task, and shows its progress."""
    from erukg.io.progress import progress

    current = ""
    with progress("done") as bar:

        def tell(task: str, done: int, total: int) -> None:
            nonlocal current
            if task != current:
                current = task
                bar.say(task)
            bar.update(done, total)

        yield tell
