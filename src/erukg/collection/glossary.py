"""G_D: the phrases that describe at least three documents, found by hash in memory-mapped arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import damaged
from erukg.collection.ragged import gather_lists, strings
from erukg.collection.segment import Forms
from erukg.core.neighbours import Terms
from erukg.errors import InputError

__all__ = ["MappedGlossary"]


class MappedGlossary:
    """The glossary of an opened collection (`erukg.core.neighbours.Glossary`)."""

    def __init__(self, path: Path, phrases: Forms, counts: NDArray[np.uint32]) -> None:
        self._path = path
        self._phrases = phrases
        self._counts = counts

    def __len__(self) -> int:
        return len(self._phrases)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of the phrase with each fold hash, or -1."""
        folds = self._phrases.folds
        hashes = np.asarray(hashes, np.uint64)
        if not len(folds):
            return np.full(hashes.shape, -1, np.int64)
        place = np.minimum(np.searchsorted(folds, hashes), len(folds) - 1)
        return np.where(folds[place] == hashes, place, -1)

    def hashes(self, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The phrases' fold hashes."""
        return np.asarray(self._phrases.folds[self._checked(ids)], np.uint64)

    def phrases(self, ids: NDArray[np.int64]) -> list[str]:
        """The phrases' most used written form, lower-cased."""
        ids = self._checked(ids)
        try:
            return strings(self._phrases.text, self._phrases.text_offsets, ids)
        except ValueError as error:
            raise damaged(self._path, "the glossary's phrases cannot be read") from error

    def terms(self, ids: NDArray[np.int64]) -> Terms:
        """Their word pieces in the model's vocabulary."""
        ids = self._checked(ids)
        indptr = np.empty(len(ids) + 1, np.int64)
        terms = gather_lists(self._phrases.terms, self._phrases.terms_offsets, ids, indptr)
        if indptr[0] < 0:
            raise damaged(self._path, "the glossary's word pieces cannot be read")
        return Terms(indptr, terms)

    def counts(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """In how many documents of D each is among the ten most informative phrases."""
        return self._counts[self._checked(ids)].astype(np.int64)

    def _checked(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        ids = np.asarray(ids, np.int64)
        if ids.size and (ids.min() < 0 or ids.max() >= len(self)):
            raise InputError(f"The glossary has phrases 0 to {len(self) - 1}; other numbers were asked for.")
        return ids
