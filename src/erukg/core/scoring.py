"""The paper's equations as functions over arrays: one entry, or one row, per candidate.

Symbols are the paper's: c a candidate and c_i its terms, x the document, N(x) its neighbours, w term weights,
C_x the noun phrases of x. Everything is float64: the arrays are short and ranks should not hang on rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.neighbours import Terms

__all__ = [
    "balances",
    "best",
    "cover",
    "diversify",
    "document_phraseness",
    "informativeness",
    "mix",
    "product",
    "top_neighbour_candidates",
    "whole_share",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def mix(share: float, document: Floats, neighbours: Floats) -> Floats:
    """α w^x + (1 - α) Σ s̃ w^x' (Eq. 5), and likewise β for phraseness (Eq. 7)."""
    return share * document + (1 - share) * neighbours


def informativeness(weights: Floats, terms: Terms, gamma: float) -> Floats:
    """f̂(c, x) = Σ_{c_i ∈ c} ŵ_{c_i} / (|c| - γ) (Eq. 4); `terms.ids` index `weights`."""
    lengths = terms.lengths
    filled = np.flatnonzero(lengths)
    out = np.zeros(len(terms))
    if len(filled):
        # reduceat misreads empty rows, so only the others are handed to it; they lie end to end all the same.
        out[filled] = np.add.reduceat(weights[terms.ids], terms.indptr[filled]) / (lengths[filled] - gamma)
    return out


def balances(words: Floats, ranges: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """How much the first and the lightest word of each range of words weigh beside the mean of its words, at most 1.

    `words` holds the weight of every word of a text, NaN for words that only join others.
    """
    first, least = np.ones(len(ranges)), np.ones(len(ranges))
    several = np.flatnonzero(ranges[:, 1] - ranges[:, 0] > 1)
    if len(several):
        chosen = ranges[several]
        begins = chosen[:, 0]
        joins = np.isnan(words)
        # A last entry, so that a range may end with the text.
        content, weights = np.ones(len(words) + 1), np.zeros(len(words) + 1)
        weights[:-1] = words
        content[:-1][joins] = weights[:-1][joins] = 0
        flat = chosen.ravel()
        # Every second result is what lies between two ranges.
        mean = np.add.reduceat(weights, flat)[::2] / np.maximum(np.add.reduceat(content, flat)[::2], 1)
        mean = np.maximum(mean, 1e-9)
        weights[:-1][joins] = np.inf
        lightest = np.minimum.reduceat(weights, flat)[::2]
        first[several] = np.minimum(np.maximum(weights[begins] / mean, 0.05), 1)
        least[several] = np.minimum(np.maximum(lightest / mean, 0.05), 1)
    return first, least


def whole_share(weights: Floats, terms: Terms, hidden: NDArray[np.bool_], discount: float) -> Floats:
    """What is left of each candidate's weight when that of its `hidden` terms counts `discount`."""
    owners, weight = terms.owners, weights[terms.ids]
    total = np.bincount(owners, weight, len(terms))
    lost = np.bincount(owners[hidden], weight[hidden], len(terms))
    return 1 - (1 - discount) * np.divide(lost, total, out=np.zeros(len(terms)), where=total > 0)


def cover(weights: Floats, terms: Terms, begins: NDArray[np.bool_]) -> Floats:
    """The share of each candidate's words that have any weight; words start where `begins` says."""
    starts = np.flatnonzero(begins)
    if not len(starts):
        return np.ones(len(terms))
    owners = terms.owners[starts]
    weighty = np.maximum.reduceat(weights[terms.ids], starts) > 0
    words = np.bincount(owners, minlength=len(terms))
    found = np.bincount(owners, weighty, len(terms))
    return np.divide(found, words, out=np.ones(len(terms)), where=words > 0)


def document_phraseness(counts: Ints, by_frequency: bool) -> Floats:
    """P(c | C_x) (Eq. 8): 1 / |C_x|, or in proportion to how often c occurs."""
    mass = counts.astype(np.float64) if by_frequency else np.ones(len(counts))
    total = mass.sum()
    return mass / total if total > 0 else mass


def top_neighbour_candidates(phraseness: Floats, limit: int) -> Ints:
    """Top_limit(C_N(x), P_pn): their indices, best first; equal ones in the order given."""
    return _highest(phraseness, np.arange(len(phraseness)), limit)


def best(scores: Floats, limit: int) -> Ints:
    """The `limit` highest scores above 0: their indices, best first; equal ones in the order given."""
    return _highest(scores, np.flatnonzero(scores > 0), limit)


def _highest(values: Floats, among: Ints, limit: int) -> Ints:
    """Those `among` the indices, ascending, that have the `limit` highest values, best first."""
    if 0 < limit < len(among) // 2:
        # Only what can be one of them is worth sorting.
        lowest = np.partition(values[among], len(among) - limit)[len(among) - limit]
        among = among[values[among] >= lowest]
    return among[np.argsort(-values[among], kind="stable")[:limit]]


def product(factors: Mapping[str, Floats]) -> Floats:
    """s_x(c) (Eqs. 11 and 12): the product of the factors of each candidate."""
    out: Floats = reduce(np.multiply, factors.values())
    return out


def diversify(scores: Floats, terms: Terms, weights: Floats, diversity: float, limit: int) -> tuple[Ints, Floats]:
    """Choose `limit` candidates one by one, each time the one with the highest score · (1 - diversity · overlap).

    Overlap is the share of a candidate's term weight that lies on terms of candidates already chosen. Returns the
    chosen indices, best first, and each one's factor (1 - diversity · overlap) when it was chosen.
    """
    n = len(scores)
    limit = min(limit, n)
    owner, weight = terms.owners, weights[terms.ids]
    total = np.bincount(owner, weight, n)
    covered = np.zeros(len(weights), bool)
    open_ = np.ones(n, bool)
    chosen = np.empty(limit, np.int64)
    factors = np.empty(limit)
    for k in range(limit):
        repeated = np.bincount(owner, weight * covered[terms.ids], n)
        factor = 1 - diversity * np.divide(repeated, total, out=np.zeros(n), where=total > 0)
        best = int(np.argmax(np.where(open_, scores * factor, -np.inf)))
        chosen[k], factors[k] = best, factor[best]
        open_[best] = False
        covered[terms.ids[terms.indptr[best] : terms.indptr[best + 1]]] = True
    return chosen, factors
