"""What the learned ranking of absent phrases reads of each of them: a row per phrase, a column per feature.

Everything is computed from what generation has at hand anyway: the neighbours' support, the weights of the
phrase's word pieces, the stems that it shares with the text and with its best phrases, and what the collection knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel
from erukg.core.neighbours import Glossary, Terms
from erukg.core.pool import Pool

__all__ = ["FEATURES", "GROUPS", "TextProfile", "absent_features"]

Floats: TypeAlias = NDArray[np.float64]

#: Each feature and the group that it is explained with.
FEATURES: dict[str, str] = {
    "few": "neighbours",
    "more": "neighbours",
    "all": "neighbours",
    "few_holders": "neighbours",
    "more_holders": "neighbours",
    "all_holders": "neighbours",
    "best": "neighbours",
    "likeness": "neighbours",
    "near": "neighbours",
    "titled": "titles",
    "in_titles": "titles",
    "title_share": "titles",
    "count": "titles",
    "weight": "weights",
    "least_weight": "weights",
    "most_weight": "weights",
    "first_weight": "weights",
    "last_weight": "weights",
    "shared": "wording",
    "shared_pairs": "wording",
    "mean_standing": "wording",
    "least_standing": "wording",
    "most_standing": "wording",
    "head_standing": "wording",
    "words": "wording",
    "composed": "wording",
    "paired": "wording",
}
GROUPS = tuple(dict.fromkeys(FEATURES.values()))

# Present phrases beyond these say little about the text.
_COMPARED = 40
_TINY = 1e-9
# The last features are those of phrases that the text's own words make.
_COMPOSED = 2


@dataclass(frozen=True, slots=True)
class TextProfile:
    """What a text is about, by classes of word pieces that share a stem.

    classes   the class of each piece of the vocabulary
    found     whether the text has a piece of each class
    pairs     the pairs of classes that stand side by side in it, ascending, each as one number
    standing  for each class the score of the best present phrase with such a piece, beside the best of all
    heads     the same for phrases that end with it
    """

    classes: NDArray[np.int32]
    found: NDArray[np.bool_]
    pairs: NDArray[np.int64]
    standing: Floats
    heads: Floats

    @classmethod
    def of(
        cls,
        text: NDArray[np.int32],
        classes: NDArray[np.int32],
        terms: Terms,
        present: NDArray[np.int64],
        scores: Floats,
    ) -> TextProfile:
        """The profile of a text with these pieces, whose present phrases are those rows of `terms`, best first."""
        n = int(classes.max(initial=0)) + 1
        found, standing, heads = np.zeros(n, np.bool_), np.zeros(n), np.zeros(n)
        own = classes[text].astype(np.int64)
        found[own] = True
        pairs = np.sort(own[:-1] * n + own[1:])
        best = terms.take(present[:_COMPARED])
        if len(best):
            share = scores[: len(best)] / scores[0]
            filled = np.flatnonzero(best.lengths)
            np.maximum.at(standing, classes[best.ids], share.repeat(best.lengths))
            np.maximum.at(heads, classes[best.ids[best.indptr[filled + 1] - 1]], share[filled])
        return cls(classes, found, pairs, standing, heads)


def absent_features(
    pool: Pool,
    rows: NDArray[np.int64],
    terms: Terms,
    weights: Floats,
    profile: TextProfile,
    glossary: Glossary,
) -> NDArray[np.float32]:
    """The features of the pool's absent phrases in `rows`, whose `terms` have these `weights`, one for each piece.

    The pool knows its words and its support; every phrase has at least one piece.
    """
    assert pool.support is not None
    assert pool.begins is not None
    own = len(pool) - len(pool.support.few)
    support, ids = pool.support.take(rows - own), pool.glossary_ids[rows]
    counts, titled = pool.commonness[rows], np.where(ids >= 0, glossary.titled(np.maximum(ids, 0)), 0)
    known = (
        _log(support.few),
        _log(support.more),
        _log(np.where(pool.holders[rows] > 0, pool.phraseness_neighbours[rows], 0)),
        support.few_holders,
        support.more_holders,
        pool.holders[rows],
        support.best,
        support.likeness,
        _log(support.near),
        _log(support.titled),
        np.log1p(titled),
        (titled + 0.5) / (counts + 2),
        np.log(counts),
    )
    out = np.empty((len(FEATURES), len(rows)), np.float32)
    for column, values in enumerate(known):
        out[column] = values
    text = profile.classes, profile.found, profile.pairs, profile.standing, profile.heads
    last = len(FEATURES) - _COMPOSED
    _read_pieces(rows, pool.terms.indptr, pool.begins, terms.indptr, terms.ids, weights, *text, out[len(known) : last])
    out[last:] = 0
    if pool.composed is not None and pool.paired is not None:
        out[last], out[last + 1] = pool.composed[rows], np.log1p(pool.paired[rows])
    # A column is read at a time.
    return out.T


@kernel()
def _read_pieces(
    rows: NDArray[np.int64],
    pool_indptr: NDArray[np.int64],
    begins: NDArray[np.bool_],
    indptr: NDArray[np.int64],
    ids: NDArray[np.int32],
    weights: Floats,
    classes: NDArray[np.int32],
    found: NDArray[np.bool_],
    pairs: NDArray[np.int64],
    standing: Floats,
    heads: Floats,
    out: NDArray[np.float32],
) -> None:
    """Fill the last features, from "weight" to "words", a column of `out` per phrase: all that its pieces tell."""
    for i in range(rows.size):
        first, stop = indptr[i], indptr[i + 1]
        n = stop - first
        if n == 0:  # in a damaged collection
            out[:, i] = 0
            continue
        weight = mean = 0.0
        shared = beside = words = 0
        least = lowest = np.inf
        most = highest = -np.inf
        before = np.int64(-1)
        for j in range(first, stop):
            c = np.int64(classes[ids[j]])
            weight += weights[j]
            least, most = min(least, weights[j]), max(most, weights[j])
            mean += standing[c]
            lowest, highest = min(lowest, standing[c]), max(highest, standing[c])
            if found[c]:
                shared += 1
                if before >= 0:
                    pair = before * found.size + c
                    place = np.searchsorted(pairs, pair)
                    if place < pairs.size and pairs[place] == pair:
                        beside += 1
            before = c if found[c] else np.int64(-1)
        for j in range(pool_indptr[rows[i]], pool_indptr[rows[i] + 1]):
            words += begins[j]
        out[0, i] = np.log(max(weight / n, _TINY))
        out[1, i], out[2, i] = least, most
        out[3, i], out[4, i] = weights[first], weights[stop - 1]
        out[5, i] = shared / n
        out[6, i] = beside / max(n - 1, 1)
        out[7, i] = mean / n
        out[8, i], out[9, i] = lowest, highest
        out[10, i] = heads[classes[ids[stop - 1]]]
        out[11, i] = words


def _log(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.log(np.maximum(values, _TINY)))
