"""`erukg expand --own`: a collection of the very documents that are to be expanded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from erukg.cli._common import choose_device, say
from erukg.cli._options import UNUSED_ALONE, ModelOptions
from erukg.core.settings import Settings
from erukg.io import Limits, count_rows
from erukg.io.progress import progress

__all__ = ["build_own"]


def build_own(
    folder: Path,
    sources: Sequence[str],
    form: str | None,
    parts: ModelOptions,
    settings: Settings,
    threads: int | None,
    limits: Limits,
) -> None:
    """Build the collection of these files in `folder`, or go on with it, or take it as it is.

    Rows that cannot be used are passed over in silence: expanding them reports them.
    """
    from erukg.collection.build import build
    from erukg.generator import load_analyser

    kept = {name: value for name, value in settings.to_dict().items() if name not in UNUSED_ALONE}
    # Neighbours' term weights count in settings with α below 1 alone.
    weights = 0 if settings.alpha == settings.absent_alpha == 1 else 128
    analyser = load_analyser(
        parts.model, choose_device(parts.device), threads, settings=Settings(**kept), term_weights=weights > 0
    )
    with progress("documents collected", count_rows(sources) if sys.stderr.isatty() else None, transient=True) as bar:
        try:
            report = build(
                folder,
                sources,
                analyser,
                form=form,
                reuse=True,
                limits=limits,
                most_terms=weights,
                on_progress=bar.update,
            )
        except KeyboardInterrupt:
            say(f"The collection in {folder} is unfinished; the same command goes on with it.")
            raise
    if report.resumed:
        say(f"Went on with the collection in {folder} after {report.resumed} rows of an earlier run.")
