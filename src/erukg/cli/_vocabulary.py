"""A vocabulary on the command line: a folder or a file, wherever a command takes one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erukg.cli._common import say

if TYPE_CHECKING:
    from erukg.subjects.vocabulary import Vocabulary

__all__ = ["load_vocabulary", "say_left_out"]

_LONG = 3.0


def load_vocabulary(path: Path, **options: Any) -> Vocabulary:
    """The vocabulary in a folder or file, with `Vocabulary.read`'s options for a file; a hint where that took long."""
    from erukg.subjects.vocabulary import Vocabulary

    begun = time.monotonic()
    vocabulary = Vocabulary.load(path, **options)
    if path.is_file():
        say_left_out(vocabulary)
        if (seconds := time.monotonic() - begun) > _LONG:
            say(
                f"Reading {path} took {seconds:.0f} s; build it once with 'erukg vocabulary build {path} -o FOLDER' "
                "and give the folder, which opens at once."
            )
    return vocabulary


def say_left_out(vocabulary: Vocabulary) -> None:
    """What the reader did not take, if anything."""
    if vocabulary.left_out:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in vocabulary.left_out.items())
        say(f"Concepts left out: {kinds}.")
