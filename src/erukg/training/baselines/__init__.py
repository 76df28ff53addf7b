"""The trained baselines: what each learns from.

Those of `BASELINES` learn with the same network and the same loop (`fit`); those of `BASED` begin from a model of the
transformers library (`based`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from erukg.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from erukg.training.baselines.packing import Example

__all__ = ["BASED", "BASELINES", "BasedBaseline", "Companions", "TrainedBaseline", "baseline"]


@runtime_checkable
class Companions(Protocol):
    """Examples of a baseline that needs more in its folder than the network they teach."""

    def save_companions(self, folder: Path) -> None:
        """Write the files that belong beside the network."""


@dataclass(frozen=True, slots=True)
class TrainedBaseline:
    """Where the examples of a baseline come from.

    module   its `examples(files, seed)` yields them; what it returns may be `Companions` too
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
    "autokeygen": TrainedBaseline("erukg.training.baselines.autokeygen", "documents with abstracts", 5),
    "uokg": TrainedBaseline("erukg.training.baselines.uokg", "documents with abstracts", 5),
}
"""By name; `erukg train baseline` knows these."""


@dataclass(frozen=True, slots=True)
class BasedBaseline:
    """A baseline that begins from a model folder, `base` in words; its module's `train` makes it of the files."""

    module: str
    files: str
    base: str


BASED: dict[str, BasedBaseline] = {
    "promptrank": BasedBaseline(
        "erukg.training.baselines.promptrank",
        "documents with titles and abstracts",
        "an encoder–decoder such as T5, BART or Marian",
    ),
    "promptkp": BasedBaseline(
        "erukg.training.baselines.promptkp",
        "documents with author keywords, and the corpus with their abstracts",
        "a BERT with its masked-language head",
    ),
}
"""By name; `erukg train baseline` knows these too."""


def baseline(name: str) -> TrainedBaseline:
    """The baseline called so."""
    if name not in BASELINES:
        raise InputError(f"There is no trained baseline '{name}'; {did_you_mean(name, [*BASELINES, *BASED])}")
    return BASELINES[name]
