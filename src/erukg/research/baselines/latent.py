"""Word vectors by latent semantic analysis of a corpus: what phrases and documents are compared by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from erukg.errors import ModelError, require

__all__ = ["LatentVectors"]

_LARGEST = 1 << 28
_ROUNDS = 3  # of power iteration
_MORE = 16  # directions beyond those that are kept, for accuracy


@dataclass(frozen=True, eq=False)
class LatentVectors:
    """A vector for each word (a stem, here) of a corpus. Texts are sums of these, scaled to length 1."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    @classmethod
    def learn(
        cls, texts: Sequence[Sequence[str]], dimensions: int = 200, size: int = 60_000, least: int = 5, seed: int = 0
    ) -> LatentVectors:
        """Vectors of the words that at least so many texts hold, at most `size` of them, by their idf and direction.

        The matrix of texts and words is weighed by (1 + ln tf) · ln(N / df), each text scaled to length 1.
        """
        sparse = require("scipy.sparse", "train", "Latent semantic analysis")
        uses = Counter(word for text in texts for word in set(text))
        known = sorted((w for w, n in uses.items() if n >= least), key=lambda w: (-uses[w], w))[:size]
        numbers = {word: number for number, word in enumerate(known)}
        idf = np.log(len(texts) / np.array([uses[word] for word in known], np.float64)).astype(np.float32)
        starts, columns, values = [0], [], []
        for text in texts:
            counts = Counter(number for word in text if (number := numbers.get(word)) is not None)
            weights = (1 + np.log(np.fromiter(counts.values(), np.float32, len(counts)))) * idf[list(counts)]
            columns.append(np.fromiter(counts, np.int32, len(counts)))
            values.append(weights / max(float(np.linalg.norm(weights)), 1e-9))
            starts.append(starts[-1] + len(counts))
        matrix = sparse.csr_matrix(
            (np.concatenate(values).astype(np.float32), np.concatenate(columns), np.array(starts)),
            shape=(len(texts), len(known)),
        )
        return cls(tuple(known), _directions(matrix, min(dimensions, *matrix.shape), seed) * idf[:, None])

    def embed(self, texts: Iterable[Sequence[str]]) -> NDArray[np.float32]:
        """A vector of length 1 for each text; of zeros for one without a known word."""
        rows = [self._sum(text) for text in texts]
        out = np.stack(rows) if rows else np.zeros((0, self.vectors.shape[1]), np.float32)
        return np.asarray(out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-9), np.float32)

    def _sum(self, text: Sequence[str]) -> NDArray[np.float32]:
        counts = Counter(number for word in text if (number := self._numbers.get(word)) is not None)
        weights = 1 + np.log(np.fromiter(counts.values(), np.float32, len(counts)))
        return np.asarray(weights @ self.vectors[list(counts)], np.float32)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words)}

    def save(self, file: Path) -> None:
        """Write the vectors, in half precision."""
        words = np.frombuffer("\n".join(self.words).encode(), np.uint8)
        np.savez(file, words=words, vectors=self.vectors.astype(np.float16))

    @classmethod
    def load(cls, file: Path) -> LatentVectors:
        """Read vectors that `save` wrote."""
        try:
            if file.stat().st_size > _LARGEST:
                raise ModelError(f"{file} is too large to hold the vectors of a baseline.")
            with np.load(file, allow_pickle=False) as arrays:
                words, vectors = arrays["words"].tobytes().decode().split("\n"), arrays["vectors"]
        except OSError as error:
            raise ModelError(
                f"{file} cannot be read ({error}); give a folder written by: erukg train baseline."
            ) from error
        except (ValueError, KeyError, BadZipFile, EOFError) as error:
            raise ModelError(f"{file} is damaged ({error}); copy the model again.") from error
        if vectors.dtype != np.float16 or vectors.ndim != 2 or len(vectors) != len(words):
            raise ModelError(f"{file} does not hold one vector for each word; copy the model again.")
        if not np.isfinite(vectors).all():
            raise ModelError(f"{file} holds values that are no numbers; copy the model again.")
        return cls(tuple(words), vectors.astype(np.float32))


def _directions(matrix: object, dimensions: int, seed: int) -> NDArray[np.float32]:
    """The right singular vectors of the largest singular values, as columns, by a randomised power method."""
    a: NDArray[np.float32] = matrix  # type: ignore[assignment]  # a sparse matrix multiplies like an array
    random = np.random.default_rng(seed)
    wide = min(dimensions + _MORE, *a.shape)
    basis = random.standard_normal((a.shape[1], wide)).astype(np.float32)
    for _ in range(_ROUNDS):
        basis, _ = np.linalg.qr(a.T @ (a @ basis))
    reached = a @ basis
    _, turned = np.linalg.eigh(reached.T @ reached)
    return np.asarray(basis @ turned[:, ::-1][:, :dimensions], np.float32)
