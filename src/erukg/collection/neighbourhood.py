"""From neighbours to what the equations read of them, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel
from erukg.core.neighbours import Neighbourhood, WeightedTerms

__all__ = ["LazyNeighbourhood", "collect_phrases", "sum_by_phrase"]


@dataclass(eq=False)
class LazyNeighbourhood(Neighbourhood):
    """A neighbourhood whose term weights are read from the collection when they are first asked for.

    `phrase_owners` are the phrases of all neighbours, and the place among the neighbours of each one's document.
    """

    terms: Callable[[], WeightedTerms]
    phrase_owners: tuple[NDArray[np.int64], NDArray[np.int64]] = field(kw_only=True)


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
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Distinct phrases, ascending, the sum of each one's values, and how many they are."""
    if not len(phrases):
        return phrases, values, phrases
    order = np.argsort(phrases, kind="stable")
    phrases = phrases[order]
    first = np.flatnonzero(np.append(True, phrases[1:] != phrases[:-1]))
    return phrases[first], np.add.reduceat(values[order], first), np.diff(first, append=len(phrases))
