"""What the documents that carry a concept are about: a linear model of each concept over the words of a text.

Words are stems with the usual weights, (1 + ln count) · idf. For the linear model, a projection keeps the directions in
which the archive's documents differ most; the centre of a concept's documents is kept as its heaviest words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Profiles"]

Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Of the concepts that enough documents carry.

    terms       stems, ascending (`erukg.collection.analysis`)
    rarity      their idf
    projection  a row for each stem
    concepts    numbers of the concepts, ascending
    weights     of each concept, and a last column for its constant
    starts      the centre of concept i has the stems words[starts[i]:starts[i + 1]], places in `terms`, and as many
                heights
    words
    heights
    """

    terms: NDArray[np.uint64]
    rarity: Floats
    projection: NDArray[np.float16]
    concepts: NDArray[np.int32]
    weights: NDArray[np.float16]
    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    heights: NDArray[np.float16]

    def check(self, concepts: int) -> None:
        """A ValueError when the arrays do not belong together."""
        n, width = len(self.terms), self.projection.shape[-1]
        sound = (
            self.projection.shape == (n, width)
            and self.rarity.shape == (n,)
            and self.weights.shape == (len(self.concepts), width + 1)
            and len(self.starts) == len(self.concepts) + 1
            and self.starts[0] == 0
            and self.starts[-1] == len(self.words) == len(self.heights)
            and bool(np.all(np.diff(self.starts) >= 0) and np.all((self.words >= 0) & (self.words < n)))
            and bool(np.all(np.diff(self.concepts) > 0))
            and (not len(self.concepts) or (self.concepts[0] >= 0 and self.concepts[-1] < concepts))
            and all(bool(np.all(np.isfinite(a))) for a in (self.rarity, self.projection, self.weights, self.heights))
        )
        if not sound:
            raise ValueError("its profiles of concepts do not belong together")

    def weigh(self, flat: NDArray[np.uint64]) -> tuple[NDArray[np.int64], Floats]:
        """The places of a text's stems in `terms`, and what each weighs; their squares add up to 1."""
        own, counts = np.unique(flat, return_counts=True)
        place = np.minimum(np.searchsorted(self.terms, own), max(len(self.terms) - 1, 0))
        known = np.flatnonzero(self.terms[place] == own) if len(self.terms) else np.empty(0, np.int64)
        weights = ((1 + np.log(counts[known])) * self.rarity[place[known]]).astype(np.float32)
        length = float(np.sqrt(weights @ weights))
        return place[known], weights / length if length > 0 else weights

    def scores(self, flat: NDArray[np.uint64], concepts: NDArray[np.int64]) -> Floats:
        """Two columns: what the linear model says of each concept, and how near its documents lie; 0 where unknown."""
        out = np.zeros((len(concepts), 2), np.float32)
        if not len(self.concepts):
            return out
        at = np.minimum(np.searchsorted(self.concepts, concepts), len(self.concepts) - 1)
        known = np.flatnonzero(self.concepts[at] == concepts)
        rows = at[known]
        places, weights = self.weigh(flat)
        text = weights @ self.projection[places].astype(np.float32)
        out[known, 0] = self.weights[rows].astype(np.float32) @ np.append(text, np.float32(1))
        every = np.zeros(len(self.terms), np.float32)
        every[places] = weights
        for k, row in zip(known.tolist(), rows.tolist(), strict=True):
            some = slice(int(self.starts[row]), int(self.starts[row + 1]))
            out[k, 1] = every[self.words[some]] @ self.heights[some].astype(np.float32)
        return out
