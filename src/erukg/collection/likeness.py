"""How much a text is like a collection's documents, by numbers that its search knows anyway.

Two signals tell: a text from elsewhere has rarer words, and its neighbours share less of what it says. Both depend on
the length of the text and on the collection, so what is usual is fitted when a collection is built (see
`calibration.py`) and kept in its manifest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NEAREST", "Likeness", "Signals", "Usual", "fit_likeness", "signals"]

#: The neighbours whose scores are looked at.
NEAREST = 10
# A text of fewer words is a query rather than a document and is compared with queries.
_SHORT = math.log1p(20)
# The least alike that count are so many times as far from the middle as one in twenty is: a few documents in a
# thousand. Queries say less of where they come from, so those unlike one in twenty are not answered.
_FURTHER, _FURTHER_SHORT = 1.85, 1.0
_FAR = 0.05
# When only a text's weightiest words are searched for, its neighbours share the others so much less.
_REST = 0.13
# Beyond this many times the longest usual document nothing is known of what is usual.
_LONGER = 4


class Signals(NamedTuple):
    """Of a text: the logarithm of its length, the mean idf of its words, and how much its neighbours share of them."""

    length: float
    rarity: float
    nearness: float


def signals(
    counts: NDArray[np.int64],
    weights: NDArray[np.float64],
    length: int,
    scores: NDArray[np.float32],
    words: int = 0,
) -> Signals | None:
    """The signals of a text with `length` words, stop words left out, or None when the collection knows none of them.

    `counts` and `weights` are how often its words occur in it and their idf, 0 for unknown ones, `scores` those of its
    best neighbours, searched for with so many `words`, 0 for all. A neighbour that said the same and no more would
    score nearly the sum of counts times weights.
    """
    known, worth = weights > 0, counts * weights
    total = float(worth.sum())
    if total <= 0:
        return None
    searched = total if not words or len(worth) <= words else float(np.partition(worth, -words)[-words:].sum())
    shared = float(scores[:NEAREST].sum(dtype=np.float64)) / (NEAREST * searched)
    shared *= (searched + _REST * (total - searched)) / total
    return Signals(math.log1p(length), float(weights[known].mean()), math.log(shared + 0.001))


@dataclass(frozen=True, slots=True)
class Usual:
    """The value of a signal that is usual at a length, a polynomial of its logarithm, and the spread around it."""

    level: tuple[float, ...]
    spread: tuple[float, ...]

    def distance(self, value: float, length: float) -> float:
        """How many spreads the value lies above what is usual."""
        return (value - _polynomial(self.level, length)) / math.exp(_polynomial(self.spread, length))


@dataclass(frozen=True, slots=True)
class Likeness:
    """What is usual for a collection.

    documents      how many it held when this was fitted
    longest        logarithm of the greatest length it is known for
    rarity         what is usual of the signals
    nearness
    middle, least  the likeness of a typical document, and of the least alike that still count as such
    short_…        the same for queries
    """

    documents: int
    longest: float
    rarity: Usual
    nearness: Usual
    middle: float
    least: float
    short_middle: float
    short_least: float

    def fit(self, found: Signals) -> float:
        """1 for a typical text, 0 for the least alike that count; below 0 the text is unlike the collection."""
        middle, least = (self.short_middle, self.short_least) if found.length < _SHORT else (self.middle, self.least)
        return (self._raw(found) - least) / (middle - least)

    def _raw(self, found: Signals) -> float:
        length = min(found.length, self.longest)
        return self.nearness.distance(found.nearness, length) - self.rarity.distance(found.rarity, length)


def fit_likeness(documents: int, texts: list[Signals], queries: list[Signals]) -> Likeness:
    """What is usual, from documents of the collection and from queries that ask for them, each itself left out."""
    lengths, rarity, nearness = (np.array(values) for values in zip(*texts, *queries, strict=True))
    longest = float(np.quantile(lengths[: len(texts)], 0.99)) + math.log(_LONGER)
    plain = Likeness(documents, longest, _usual(lengths, rarity), _usual(lengths, nearness), 0.0, 0.0, 0.0, 0.0)
    middle, least = _bounds([plain._raw(found) for found in texts], _FURTHER)
    short_middle, short_least = _bounds([plain._raw(found) for found in queries], _FURTHER_SHORT)
    return Likeness(documents, longest, plain.rarity, plain.nearness, middle, least, short_middle, short_least)


def _usual(lengths: NDArray[np.float64], values: NDArray[np.float64]) -> Usual:
    level = np.polynomial.polynomial.polyfit(lengths, values, 2)
    off = np.abs(values - np.polynomial.polynomial.polyval(lengths, level))
    spread = np.polynomial.polynomial.polyfit(lengths, np.log(off + 0.001), 1)
    return Usual(tuple(level.tolist()), tuple(spread.tolist()))


def _bounds(likeness: list[float], further: float) -> tuple[float, float]:
    far, middle = np.quantile(likeness, [_FAR, 0.5]).tolist()
    # All alike: a spread of 0 would make every other text infinitely far away.
    return middle, middle - further * max(middle - far, 0.1)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return sum(c * x**power for power, c in enumerate(coefficients))
