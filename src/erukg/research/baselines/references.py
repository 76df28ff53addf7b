"""Reference phrases: those of a corpus whose documents are about what a text is about, for a network to borrow from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from erukg.errors import ModelError
from erukg.research.baselines.neural.vocabulary import SPECIALS, Vocabulary, words
from erukg.research.baselines.phrase_bank import PhraseBank

__all__ = ["References", "with_references"]

_MARK = " | "
_READ = 200  # words of a text in front of its references
_LARGEST = 1 << 29


@dataclass(frozen=True, eq=False)
class References:
    """Where in the space of documents the first phrases of a bank are at home: the mean of the documents with each."""

    bank: PhraseBank
    homes: NDArray[np.float32]

    @classmethod
    def of(
        cls, bank: PhraseBank, documents: Iterable[Sequence[int]], vectors: NDArray[np.float32], least: int = 5
    ) -> References:
        """From the numbers of each document's phrases in the bank and its vector; of phrases that `least` have."""
        size = int(np.searchsorted(-bank.counts, -least, "right"))
        homes = np.zeros((size, vectors.shape[1]), np.float32)
        for numbers, vector in zip(documents, vectors, strict=True):
            kept = [number for number in numbers if 0 <= number < size]
            homes[kept] += vector
        return cls(bank, homes / np.maximum(np.linalg.norm(homes, axis=1, keepdims=True), 1e-9))

    def nearest(self, vectors: NDArray[np.float32], most: int, nearness: float) -> list[list[int]]:
        """For each vector of a text the numbers of the phrases nearest to it, nearest first; those farther than the
        cosine `nearness` are left out.
        """
        out: list[list[int]] = []
        for row in vectors @ self.homes.T:
            near = np.flatnonzero(row > nearness)
            out.append(near[np.argsort(-row[near], kind="stable")[:most]].tolist())
        return out

    def save(self, file: Path) -> None:
        """Write the vectors, in half precision; the bank is a file of its own."""
        np.savez(file, homes=self.homes.astype(np.float16))

    @classmethod
    def load(cls, file: Path, bank: PhraseBank) -> References:
        """Read what `save` wrote for the same bank."""
        try:
            if file.stat().st_size > _LARGEST:
                raise ModelError(f"{file} is too large to hold the reference phrases of a baseline.")
            with np.load(file, allow_pickle=False) as arrays:
                homes = arrays["homes"]
        except OSError as error:
            raise ModelError(
                f"{file} cannot be read ({error}); give a folder written by: erukg train baseline uokg."
            ) from error
        except (ValueError, KeyError, BadZipFile, EOFError) as error:
            raise ModelError(f"{file} is damaged ({error}); copy the model again.") from error
        if homes.dtype != np.float16 or homes.ndim != 2 or len(homes) > len(bank) or not np.isfinite(homes).all():
            raise ModelError(f"{file} does not fit the phrase bank beside it; copy the model again.")
        return cls(bank, homes.astype(np.float32))


def with_references(text: str, references: Iterable[Sequence[str]]) -> str:
    """The beginning of a text and then reference phrases, as UOKG's network reads them."""
    return f"{_beginning(text)}{_MARK}{_MARK.join(' '.join(phrase) for phrase in references)}"


_ANY = Vocabulary(SPECIALS)


def _beginning(text: str) -> str:
    """The text up to its 200th word."""
    if len(words(text)) <= _READ:
        return text
    return text[: _ANY.document(text).spans[_READ - 1][1]]
