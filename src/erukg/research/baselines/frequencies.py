"""In how many documents of a corpus a word sequence occurs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.hashing import hash_phrases, hash_runs

__all__ = ["LONGEST", "Frequencies", "stem_words"]

LONGEST = 3
_WORD = re.compile(r"[^\W_]+")
_BATCH = 2000
# Hashes kept while counting; beyond it those seen once are let go, which only makes the rare look rarer.
_MOST = 60_000_000


def stem_words(text: str) -> list[str]:
    """The stemmed words of a text; hyphens part words here, as they do in evaluation."""
    import Stemmer

    return list(Stemmer.Stemmer("english").stemWords(_WORD.findall(text.lower())))


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Document frequencies of all sequences of up to three stemmed words, by their hashes."""

    documents: int
    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]

    @classmethod
    def count(cls, texts: Iterable[str]) -> Frequencies:
        """Read a corpus once, in memory that its length does not matter for."""
        documents = 0
        hashes, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        batch: list[NDArray[np.uint64]] = []
        for text in texts:
            documents += 1
            batch.append(np.unique(hash_runs(stem_words(text), LONGEST)))
            if len(batch) == _BATCH:
                hashes, counts = _merge(hashes, counts, batch)
                batch = []
        hashes, counts = _merge(hashes, counts, batch)
        return cls(documents, hashes, counts)

    def of(self, phrases: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """The document frequency of each sequence of stems; 0 for an unknown one."""
        wanted = hash_phrases([" ".join(stems) for stems in phrases])
        if not len(self.hashes):
            return np.zeros(len(wanted), np.int64)
        place = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[place] == wanted, self.counts[place], 0)


def _merge(
    hashes: NDArray[np.uint64], counts: NDArray[np.int64], batch: list[NDArray[np.uint64]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    if not batch:
        return hashes, counts
    fresh, times = np.unique(np.concatenate(batch), return_counts=True)
    merged, inverse = np.unique(np.concatenate([hashes, fresh]), return_inverse=True)
    totals = np.bincount(inverse, np.concatenate([counts, times]), len(merged)).astype(np.int64)
    if len(merged) > _MOST:
        common = totals > 1
        merged, totals = merged[common], totals[common]
    return merged, totals
