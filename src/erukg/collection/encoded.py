"""What a collection keeps of a document, and who makes it: the protocol between models and collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from erukg.neighbours import Terms

__all__ = [
    "TOP_PHRASES",
    "Analyser",
    "DocumentRecord",
    "EncodedDocument",
    "Phrase",
    "StreamAnalyser",
    "best_phrases",
]

#: How many phrases of a document are kept (the paper's pruning strategy 1).
TOP_PHRASES = 10
# Differences of running sums leave rounding errors where the true sum is 0.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document to be put into a collection. `place` says where it was read, for messages."""

    id: str
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of a document: `erukg.folding.fold` of it, its written form and that form's word pieces."""

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


def best_phrases(
    folds: Sequence[str],
    forms: Sequence[str],
    terms: Terms,
    weights: NDArray[np.floating],
    *,
    length_penalty: float = -0.25,
    keep: int = TOP_PHRASES,
) -> list[Phrase]:
    """The `keep` candidates of largest f(c, x) = Σ w / (|c| - γ) (Eq. 3) above 0; `weights` is w^x over the
    vocabulary.

    Ties go to the candidate named first.
    """
    lengths = np.diff(terms.indptr)
    running = np.concatenate(([0.0], np.cumsum(np.asarray(weights, np.float64)[terms.ids])))
    sums = running[terms.indptr[1:]] - running[terms.indptr[:-1]]
    scores = np.where(lengths > 0, sums / np.maximum(lengths - length_penalty, _NOTHING), 0.0)
    best = np.argsort(-scores, kind="stable")[:keep]
    return [
        Phrase(folds[i], forms[i], tuple(terms.ids[terms.indptr[i] : terms.indptr[i + 1]].tolist()))
        for i in best.tolist()
        if scores[i] > _NOTHING
    ]
