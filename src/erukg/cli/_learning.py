"""What the commands that learn from documents share: options, and what is said of documents that cannot be read."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from erukg.cli._common import SOME_SKIPPED, say
from erukg.io import BadDocument

__all__ = ["AnyModel", "Cores", "Overwrite", "Trees", "end_learning", "say_bad"]

Overwrite = Annotated[bool, Option("--overwrite", help="Replace the folder if it exists.")]
Cores = Annotated[int | None, Option(min=1, help="Cores. [default: all]")]
Trees = Annotated[int, Option(min=1, help="How many trees are grown.")]
AnyModel = Annotated[str | None, Option(help="Model: small, tiny or a folder. [default: tiny]")]


def say_bad(bad: BadDocument) -> None:
    """Say where a document is that cannot be read, and why."""
    say(f"{bad.place}: {bad.message}")


def end_learning(bad: int) -> None:
    """Say how many documents could not be read, and end so that scripts notice."""
    if bad:
        say(f"{bad} documents skipped.")
        raise typer.Exit(SOME_SKIPPED)
