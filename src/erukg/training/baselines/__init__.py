"""The trained baselines: what each learns from. All learn with the same network and the same loop (`fit`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from erukg.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from erukg.training.baselines.packing import Example

__all__ = ["BASELINES", "TrainedBaseline", "baseline"]


@dataclass(frozen=True, slots=True)
class TrainedBaseline:
    """Where the examples of a baseline come from.

    module   its `examples(files, seed)` yields them
    files    what the files are, for help and errors
    longest  words of a target at most
    """

    module: str
    files: str
    longest: int = 6

    def examples(self, files: Sequence[Path], seed: int = 0) -> Iterable[Example]:
        """The examples in the files; modules are imported when asked for."""
        make: Callable[[Sequence[Path], int], Iterable[Example]] = import_module(self.module).examples
        return make(files, seed)


BASELINES: dict[str, TrainedBaseline] = {
    "copyrnn": TrainedBaseline(
        "erukg.training.baselines.copyrnn", "documents with author keywords, and the corpus with their abstracts"
    ),
    "tpg": TrainedBaseline("erukg.training.baselines.tpg", "documents with titles and abstracts"),
    "doct5query": TrainedBaseline(
        "erukg.training.baselines.doct5query", "a corpus, and queries or citing sentences of its documents", 24
    ),
}
"""By name; `erukg train baseline` knows these."""


def baseline(name: str) -> TrainedBaseline:
    """The baseline called so."""
    if name not in BASELINES:
        raise InputError(f"There is no trained baseline '{name}'; {did_you_mean(name, BASELINES)}")
    return BASELINES[name]
