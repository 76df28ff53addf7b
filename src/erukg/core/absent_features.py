"""What the learned ranking of absent phrases reads of each of them: a row per phrase, a column per feature.

Everything is an array operation over what generation has at hand anyway: the neighbours' support, the weights of the
phrase's word pieces, the stems that it shares with the text and with its best phrases, and what the collection knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

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
}
GROUPS = tuple(dict.fromkeys(FEATURES.values()))

# Present phrases beyond these say little about the text.
_COMPARED = 40
_TINY = 1e-9


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
    def of(cls, text: NDArray[np.int32], classes: NDArray[np.int32], present: Terms, scores: Floats) -> TextProfile:
        """The profile of a text with these pieces, whose `present` phrases come best first with their scores."""
        n = int(classes.max(initial=0)) + 1
        found, standing, heads = np.zeros(n, np.bool_), np.zeros(n), np.zeros(n)
        own = classes[text].astype(np.int64)
        found[own] = True
        pairs = np.unique(own[:-1] * n + own[1:])
        best = present.take(np.arange(min(len(present), _COMPARED)))
        if len(best):
            share = scores[: len(best)] / scores[0]
            filled = np.flatnonzero(np.diff(best.indptr))
            np.maximum.at(standing, classes[best.ids], np.repeat(share, np.diff(best.indptr)))
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
    starts, ends, lengths = terms.indptr[:-1], terms.indptr[1:], np.diff(terms.indptr)
    counts, titled = pool.commonness[rows], glossary.titled(ids)
    classes = profile.classes[terms.ids].astype(np.int64)
    standing = profile.standing[classes]
    begins = pool.begins[pool.terms.rows(rows)[1]]
    return np.stack(
        [
            _log(support.few),
            _log(support.more),
            _log(pool.phraseness_neighbours[rows]),
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
            _log(np.add.reduceat(weights, starts) / lengths),
            np.minimum.reduceat(weights, starts),
            np.maximum.reduceat(weights, starts),
            weights[starts],
            weights[ends - 1],
            np.add.reduceat(profile.found[classes].astype(np.float64), starts) / lengths,
            _pairs(classes, starts, profile) / np.maximum(lengths - 1, 1),
            np.add.reduceat(standing, starts) / lengths,
            np.minimum.reduceat(standing, starts),
            np.maximum.reduceat(standing, starts),
            profile.heads[classes[ends - 1]],
            np.add.reduceat(begins.astype(np.float64), starts),
        ],
        axis=1,
        dtype=np.float32,
        casting="same_kind",
    )


def _pairs(classes: NDArray[np.int64], starts: NDArray[np.int64], profile: TextProfile) -> Floats:
    """How many neighbouring pieces of each phrase are neighbours in the text as well."""
    known = np.zeros(len(classes))
    pairs = classes[:-1] * len(profile.found) + classes[1:]
    if len(pairs) and len(profile.pairs):
        place = np.minimum(np.searchsorted(profile.pairs, pairs), len(profile.pairs) - 1)
        known[1:] = profile.pairs[place] == pairs
        known[starts] = 0  # the piece before belongs to another phrase
    return np.asarray(np.add.reduceat(known, starts), np.float64)


def _log(values: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.log(np.maximum(values, _TINY)))
