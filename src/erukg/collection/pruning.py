"""Which words of a document a small copy of a collection keeps: those that score highest when they are searched for."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel

__all__ = ["BestWords"]

Ints: TypeAlias = NDArray[np.int32]
Levels: TypeAlias = NDArray[np.uint8]

_LEVELS = 256
# Inverse document frequencies of up to some 14, in steps that hardly any two words of a document share.
_STEPS = 18.0


@kernel()
def _count(documents: Ints, levels: Levels, out: NDArray[np.uint8]) -> None:
    for i in range(documents.size):
        # More than 255 of a level are as good as 255: no document keeps so many.
        if out[documents[i], levels[i]] < 255:
            out[documents[i], levels[i]] += 1


@kernel()
def _settle(counts: NDArray[np.uint8], most: int, out: Levels) -> None:
    for d in range(out.size):
        kept, level = 0, _LEVELS
        while level > 0 and (kept == 0 or kept + counts[d, level - 1] <= most):
            level -= 1
            kept += counts[d, level]
        out[d] = level


class BestWords:
    """Sees all postings twice, in any order: `count` for every one of them, then `keep` says which stay.

    It counts by level of the score, so documents keep `most` words or a few less, and no more memory is needed than a
    few bytes for each level of each document.
    """

    def __init__(self, documents: int, most: int) -> None:
        self._counts = np.zeros((documents, _LEVELS), np.uint8)
        self._most = most
        self._least: Levels | None = None

    def count(self, documents: Ints, frequencies: Ints, weights: NDArray[np.float64]) -> None:
        """Take postings in: their documents, how often each has the word, and the word's inverse document frequency."""
        _count(documents, _levels(frequencies, weights), self._counts)

    def keep(self, documents: Ints, frequencies: Ints, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of the postings stay, once all have been counted."""
        if self._least is None:
            self._least = np.zeros(len(self._counts), np.uint8)
            _settle(self._counts, self._most, self._least)
        return _levels(frequencies, weights) >= self._least[documents]


def _levels(frequencies: Ints, weights: NDArray[np.float64]) -> Levels:
    scores = weights * (frequencies / (frequencies + 1.0))
    return np.minimum(scores * _STEPS, _LEVELS - 1).astype(np.uint8)
