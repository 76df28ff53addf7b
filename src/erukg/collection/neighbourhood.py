"""From neighbours to what the equations read of them, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import PackedLists, damaged, join
from erukg.collection.segment import ROW
from erukg.core.kernels import kernel
from erukg.core.neighbours import FEW, MORE, Neighbourhood, Support, WeightedTerms

__all__ = ["HeldPhrases", "Hits", "Holders", "LazyNeighbourhood", "phrases_held", "sum_by_phrase"]

HeldPhrases: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]
"""C̃_x' ∩ glossary of some documents: phrase, place of the document among them, P(c | C̃_x'), and whether the document
has it in its title.
"""


@dataclass(frozen=True, slots=True)
class Hits:
    """Documents found, best first: their numbers in the collection and BM25 scores.

    `fit` says how much the text is like the collection's documents (`Neighbourhood.fit`), where that was worked out.
    """

    documents: NDArray[np.int64]
    scores: NDArray[np.float32]
    fit: float | None = None


class Holders(NamedTuple):
    """Which of the neighbours have each phrase.

    keys        a phrase and, in the last `bits`, the place of one of its holders in `neighbours`; ascending
    neighbours  places among the neighbours
    """

    keys: NDArray[np.int64]
    bits: int
    neighbours: NDArray[np.int64]

    @classmethod
    def of(cls, phrases: NDArray[np.int64], neighbours: NDArray[np.int64]) -> Holders:
        """Of all neighbours' phrases and the place of the one that has each."""
        n, bits = len(phrases), len(phrases).bit_length()
        # No two keys are equal, so the quickest way of sorting keeps the order of a phrase's holders.
        return cls(np.sort((phrases << bits) + np.arange(n)), bits, neighbours)

    def find(self, phrases: NDArray[np.int64]) -> list[list[int]]:
        """The holders of each of some phrases, the nearest neighbour first."""
        bounds = np.searchsorted(self.keys, np.concatenate((phrases, phrases + 1)) << self.bits).tolist()
        every = self.neighbours[self.keys & ((1 << self.bits) - 1)]
        return [sorted(every[a:b].tolist()) for a, b in zip(bounds, bounds[len(phrases) :], strict=False)]


@dataclass(eq=False)
class LazyNeighbourhood(Neighbourhood):
    """A neighbourhood whose term weights are read from the collection when they are first asked for."""

    terms: Callable[[], WeightedTerms]
    holders: Holders = field(kw_only=True)


@kernel()
def _collect_phrases(
    phrases: NDArray[np.uint32],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    glossary: NDArray[np.int32],
    glossary_size: int,
    out_phrases: NDArray[np.int64],
    out_neighbours: NDArray[np.int64],
    out_shares: NDArray[np.float64],
    out_titled: NDArray[np.bool_],
) -> int:
    """C̃_x' ∩ glossary of each document: its phrases, whose they are, P(c | C̃_x') = 1 / |C̃_x'|, is it in the title.

    Returns how many there are, or -1 when the data is damaged. Starts and stops must lie within `phrases`,
    and the outputs hold as many entries as the lists together.
    """
    n = 0
    for i in range(starts.size):
        first = n
        for j in range(starts[i], stops[i]):
            row = phrases[j] & ROW
            if row >= glossary.size:
                return -1
            number = glossary[row]
            if number >= glossary_size:
                return -1
            if number >= 0:
                out_phrases[n] = number
                out_neighbours[n] = i
                out_titled[n] = phrases[j] > ROW
                n += 1
        for k in range(first, n):
            out_shares[k] = 1.0 / (n - first)
    return n


def phrases_held(
    parts: Iterable[tuple[PackedLists, NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]], size: int
) -> HeldPhrases:
    """The phrases, in a glossary of `size` of them, of some documents of several segments.

    Of each segment: the phrases of its documents, the numbers that its forms have in the glossary, the places among the
    documents of those that are its own, and their rows in it.
    """
    return _join([_phrases_held(*part, size) for part in parts])


def _phrases_held(
    held: PackedLists, glossary: NDArray[np.int32], places: NDArray[np.int64], rows: NDArray[np.int64], size: int
) -> HeldPhrases:
    starts, stops = held.bounds(rows)
    room = int((stops - starts).sum())
    out = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.float64), np.empty(room, np.bool_)
    count = _collect_phrases(held.values, starts, stops, glossary, size, *out)
    if count < 0:
        raise damaged(held.path, "its documents' phrases are not as they were written")
    return out[0][:count], places[out[1][:count]], out[2][:count], out[3][:count]


def _join(parts: Sequence[HeldPhrases]) -> HeldPhrases:
    if len(parts) == 1:
        return parts[0]
    phrases, neighbours, probabilities, titled = zip(*parts, strict=True) if parts else ((), (), (), ())
    return (
        join(phrases, np.int64),
        join(neighbours, np.int64),
        join(probabilities, np.float64),
        join(titled, np.bool_),
    )


@kernel()
def _sum_up(
    keys: NDArray[np.int64],
    bits: int,
    neighbours: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    titled: NDArray[np.bool_],
    shares: NDArray[np.float64],
    phrases: NDArray[np.int64],
    totals: NDArray[np.float64],
    holders: NDArray[np.int64],
    out: NDArray[np.float32],
) -> int:
    """Fill the arrays, and the rows of `out` in the order of `Support`, for each distinct phrase; how many there are.

    A key is a phrase and, in its last `bits`, the place of one of its holders; they are ascending.
    """
    n = -1
    for key in keys:
        phrase, k = key >> bits, key & ((1 << bits) - 1)
        i = neighbours[k]
        if n < 0 or phrases[n] != phrase:
            n += 1
            phrases[n], totals[n], holders[n] = phrase, 0.0, 0
            out[:, n] = 0
            out[4, n] = shares.size
        gain = probabilities[k] * shares[i]
        totals[n] += gain
        holders[n] += 1
        if i < FEW:
            out[0, n] += gain
            out[2, n] += 1
        if i < MORE:
            out[1, n] += gain
            out[3, n] += 1
        if i < out[4, n]:
            out[4, n] = i
            out[5, n] = shares[i] / shares[0]
        out[6, n] += probabilities[k] / (10 + i)
        if titled[k]:
            out[7, n] += shares[i]
    return n + 1


def sum_by_phrase(
    held: Holders,
    probabilities: NDArray[np.float64],
    titled: NDArray[np.bool_],
    shares: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], Support]:
    """The distinct ones of the neighbours' phrases, ascending, the share and the holders of each, and its support."""
    n = len(held.keys)
    distinct, totals, holders = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    out = np.empty((len(Support._fields), n), np.float32)
    found = _sum_up(*held, probabilities, titled, shares, distinct, totals, holders, out)
    out = out[:, :found]
    out[0] /= shares[:FEW].sum()
    out[1] /= shares[:MORE].sum()
    return distinct[:found], totals[:found].astype(np.float32), holders[:found], Support(*out)
