"""What a collection keeps of a document, and who makes it: the protocol between models and collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "TOP_PHRASES",
    "Analyser",
    "DocumentRecord",
    "EncodedDocument",
    "Phrase",
    "StreamAnalyser",
]

#: How many phrases of a document are kept (the paper's pruning strategy 1).
TOP_PHRASES = 10


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document to be put into a collection. `place` says where it was read, for messages."""

    id: str
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of a document: `erukg.core.folding.fold` of it, its written form and that form's word pieces."""

    fold: str
    form: str
    terms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """A document's term weights w^x (any number, any order, only those above 0) and its best phrases."""

    term_ids: NDArray[np.integer]
    term_weights: NDArray[np.floating]
    phrases: Sequence[Phrase]


class Analyser(Protocol):
    """Turns texts into what a collection keeps of them."""

    @property
    def fingerprint(self) -> str:
        """Of the model: collections made with another one do not mix with this."""
        ...

    @property
    def vocab_size(self) -> int: ...

    def __call__(self, texts: Sequence[str]) -> Sequence[EncodedDocument]: ...


@runtime_checkable
class StreamAnalyser(Analyser, Protocol):
    """An analyser that rather takes its texts as they come, and works on many at a time."""

    def stream(self, texts: Iterable[str]) -> Iterator[EncodedDocument]:
        """What a collection keeps of each text, in order; texts are taken ahead of the results."""
        ...
