"""How near a phrase comes to a text in meaning: the cosine of two short vectors, made from what the model has anyway.

The text's is made from its vector by a small network, a phrase's from the embeddings of its word pieces: they were
taught to be as alike as a large sentence encoder finds text and phrase. No phrase needs a pass of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.neighbours import Terms

__all__ = ["Affinity", "AffinityArrays"]


@dataclass(frozen=True, slots=True)
class AffinityArrays:
    """What was learned.

    inner, inner_bias   from a text's vector to the hidden layer
    outer, outer_bias   from there to the short vector
    pieces, pieces_bias from the embedding of a word piece to its share in the short vector of a phrase
    weights             how much each word piece counts in a phrase, as logarithms
    """

    inner: NDArray[np.float32]
    inner_bias: NDArray[np.float32]
    outer: NDArray[np.float32]
    outer_bias: NDArray[np.float32]
    pieces: NDArray[np.float32]
    pieces_bias: NDArray[np.float32]
    weights: NDArray[np.float32]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], hidden: int, vocabulary: int) -> AffinityArrays:
        """Checked arrays by name; a `ValueError` says what is wrong with them."""
        made = cls(**{f.name: np.asarray(arrays[f.name], np.float32) for f in fields(cls)})
        width, size = made.inner_bias.size, made.outer_bias.size
        shapes = [getattr(made, f.name).shape for f in fields(cls)]
        if shapes != [(width, hidden), (width,), (size, width), (size,), (size, hidden), (size,), (vocabulary,)]:
            raise ValueError(f"arrays have the shapes {shapes}")
        if not all(np.isfinite(getattr(made, f.name)).all() for f in fields(cls)):
            raise ValueError("not all numbers are finite")
        return made


class Affinity:
    """Tells how near phrases come to a text; `embeddings` gives those of all word pieces. Thread-safe."""

    def __init__(self, arrays: AffinityArrays, embeddings: Callable[[], NDArray[np.float32]]) -> None:
        self._arrays, self._embeddings = arrays, embeddings

    def to(self, vector: NDArray[np.float32], phrases: Terms) -> NDArray[np.float64]:
        """The cosine of each phrase with the text of this vector; 0 for phrases without word pieces."""
        out = np.zeros(len(phrases))
        full = np.flatnonzero(np.diff(phrases.indptr))
        if len(full):
            sums = np.add.reduceat(self._shares[phrases.ids], phrases.indptr[full], axis=0)
            sizes = np.sqrt(np.einsum("ij,ij->i", sums, sums))
            out[full] = np.einsum("ij,j->i", sums, self._text(vector)) / np.maximum(sizes, 1e-9)
        return out

    def _text(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        # einsum, as threads of BLAS would fight those of documents.
        arrays = self._arrays
        hidden = _gelu(np.einsum("ij,j->i", arrays.inner, vector) + arrays.inner_bias)
        short: NDArray[np.float32] = np.einsum("ij,j->i", arrays.outer, hidden) + arrays.outer_bias
        short /= np.maximum(np.sqrt(np.einsum("i,i->", short, short)), np.float32(1e-9))
        return short

    @cached_property
    def _shares(self) -> NDArray[np.float32]:
        """What each word piece adds to the short vector of a phrase."""
        arrays = self._arrays
        made: NDArray[np.float32] = self._embeddings() @ arrays.pieces.T + arrays.pieces_bias
        made *= np.exp(arrays.weights)[:, None]
        return made


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    inner = np.float32(np.sqrt(2 / np.pi)) * (x + np.float32(0.044715) * x * x * x)
    out: NDArray[np.float32] = np.float32(0.5) * x * (1 + np.tanh(inner))
    return out
