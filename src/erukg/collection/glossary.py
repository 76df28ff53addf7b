"""G_D: the phrases that describe enough documents, found by hash in memory-mapped arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import damaged
from erukg.collection.segment import Forms
from erukg.core.hashing import find_sorted
from erukg.core.kernels import kernel
from erukg.core.neighbours import Terms
from erukg.errors import InputError

__all__ = ["MappedGlossary", "gather_lists"]


@kernel()
def gather_lists(
    values: NDArray[Any], offsets: NDArray[np.uint32], rows: NDArray[np.int64], indptr: NDArray[np.int64]
) -> NDArray[np.int32]:
    """`PackedLists.take` compiled: the values, and in `indptr` where each list begins, below 0 first for damage.

    Rows must be numbers of lists.
    """
    indptr[0] = 0
    for i in range(rows.size):
        start, stop = np.int64(offsets[rows[i]]), np.int64(offsets[rows[i] + 1])
        if start > stop or stop > values.size:
            indptr[0] = -1
            return np.empty(0, np.int32)
        indptr[i + 1] = indptr[i] + stop - start
    out = np.empty(indptr[rows.size], np.int32)
    for i in range(rows.size):
        start, at = np.int64(offsets[rows[i]]), indptr[i]
        for j in range(indptr[i + 1] - at):
            out[at + j] = values[start + j]
    return out


class MappedGlossary:
    """The glossary of an opened collection (`erukg.core.neighbours.Glossary`)."""

    def __init__(self, phrases: Forms, counts: NDArray[np.uint32], titled: NDArray[np.uint32]) -> None:
        self._phrases = phrases
        self._counts = counts
        self._titled = titled

    def __len__(self) -> int:
        return len(self._phrases)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of the phrase with each fold hash, or -1."""
        return find_sorted(self._phrases.folds, np.asarray(hashes, np.uint64))

    def hashes(self, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The phrases' fold hashes."""
        return np.asarray(self._phrases.folds[self._checked(ids)], np.uint64)

    def phrases(self, ids: NDArray[np.int64]) -> list[str]:
        """The phrases' most used written form, lower-cased."""
        return self._phrases.text.strings(self._checked(ids))

    def terms(self, ids: NDArray[np.int64]) -> Terms:
        """Their word pieces in the model's vocabulary."""
        ids, terms = self._checked(ids), self._phrases.terms
        indptr = np.empty(len(ids) + 1, np.int64)
        out = gather_lists(terms.values, terms.offsets, ids, indptr)
        if indptr[0] < 0:
            raise damaged(terms.path, "the glossary's word pieces cannot be read")
        return Terms(indptr, out)

    def counts(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """In how many documents of D each is among the ten most informative phrases."""
        return self._counts[self._checked(ids)].astype(np.int64)

    def titled(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of those documents have it in their title."""
        return self._titled[self._checked(ids)].astype(np.int64)

    def _checked(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        ids = np.asarray(ids, np.int64)
        # As numbers without a sign, those below 0 are the largest.
        if ids.size and ids.view(np.uint64).max() >= len(self):
            raise InputError(f"The glossary has phrases 0 to {len(self) - 1}; other numbers were asked for.")
        return ids
