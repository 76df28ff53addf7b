"""From neighbours to what the equations read of them, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel
from erukg.core.neighbours import Neighbourhood

__all__ = ["Gathered", "collect_phrases", "sum_by_phrase"]

Weighted: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float32]]


class Gathered(Neighbourhood):
    """A neighbourhood whose term weights are read from the collection when somebody first asks for them.

    `holdings` are the phrases of all neighbours, and the place among the neighbours of each one's document.
    """

    __slots__ = ("_later", "_terms", "holdings")
    holdings: tuple[NDArray[np.int64], NDArray[np.int64]]
    _later: Callable[[], Weighted]
    _terms: Weighted | None

    def __init__(
        self,
        documents: NDArray[np.int64],
        shares: NDArray[np.float32],
        phrase_ids: NDArray[np.int64],
        phrase_shares: NDArray[np.float32],
        holdings: tuple[NDArray[np.int64], NDArray[np.int64]],
        later: Callable[[], Weighted],
    ) -> None:
        for name, value in (
            ("documents", documents),
            ("shares", shares),
            ("phrase_ids", phrase_ids),
            ("phrase_shares", phrase_shares),
            ("holdings", holdings),
            ("_later", later),
            ("_terms", None),
        ):
            object.__setattr__(self, name, value)

    @property
    def term_ids(self) -> NDArray[np.int32]:
        return self._weighted()[0]

    @property
    def term_weights(self) -> NDArray[np.float32]:
        return self._weighted()[1]

    def _weighted(self) -> Weighted:
        if self._terms is None:
            object.__setattr__(self, "_terms", self._later())
        assert self._terms is not None
        return self._terms

    def __reduce__(self) -> tuple[type[Neighbourhood], tuple[NDArray[Any], ...]]:
        # Elsewhere there may be no collection to ask, so it travels with everything.
        arrays = (self.documents, self.shares, self.phrase_ids, self.phrase_shares, self.term_ids, self.term_weights)
        return Neighbourhood, arrays


@kernel()
def collect_phrases(
    phrases: NDArray[np.uint32],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    glossary: NDArray[np.int32],
    glossary_size: int,
    out_phrases: NDArray[np.int64],
    out_neighbours: NDArray[np.int64],
    out_shares: NDArray[np.float64],
) -> int:
    """C̃_x' ∩ glossary of each document: its phrases, whose they are, and P(c | C̃_x') = 1 / |C̃_x'|.

    Returns how many there are, or -1 when the data is damaged. Starts and stops must lie within `phrases`,
    and the outputs hold as many entries as the lists together.
    """
    n = 0
    for i in range(starts.size):
        first = n
        for j in range(starts[i], stops[i]):
            row = phrases[j]
            if row >= glossary.size:
                return -1
            number = glossary[row]
            if number >= glossary_size:
                return -1
            if number >= 0:
                out_phrases[n] = number
                out_neighbours[n] = i
                n += 1
        for k in range(first, n):
            out_shares[k] = 1.0 / (n - first)
    return n


def sum_by_phrase(
    phrases: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distinct phrases, ascending, and the sum of each one's values."""
    if not len(phrases):
        return phrases, values
    order = np.argsort(phrases, kind="stable")
    phrases = phrases[order]
    first = np.flatnonzero(np.append(True, phrases[1:] != phrases[:-1]))
    return phrases[first], np.add.reduceat(values[order], first)
