"""Why a phrase has its score: the factors whose product it is, and what they were made from."""

from __future__ import annotations

import numpy as np

from erukg.backends import TermEncoder
from erukg.core.ranking import Pool, Ranked, Weights
from erukg.core.results import Explanation, TermWeight

__all__ = ["explain_score"]


def explain_score(ranked: Ranked, k: int, pool: Pool, weights: Weights, encoder: TermEncoder) -> Explanation:
    """The explanation of the k-th ranked candidate."""
    i = int(ranked.pool[k])
    ids = pool.terms.ids[pool.terms.indptr[i] : pool.terms.indptr[i + 1]]
    at = np.searchsorted(weights.ids, ids)
    before = float(pool.words_before[i])
    factors = {
        "position": float(ranked.omega[k] ** ranked.power),
        "phraseness": float(ranked.phraseness[k] ** ranked.weight),
        "informativeness": float(ranked.informativeness[k]),
    }
    if ranked.single[k] != 1:
        factors["single_word"] = float(ranked.single[k])
    if ranked.commonness[k] != 1:
        factors["commonness"] = float(ranked.commonness[k])
    if ranked.novelty[k] != 1:
        factors["novelty"] = float(ranked.novelty[k])
    return Explanation(
        terms=tuple(
            TermWeight(token, float(weights.document[j]), float(weights.neighbours[j]), float(ranked.mixed[j]))
            for token, j in zip(encoder.tokens(ids), at.tolist(), strict=True)
        ),
        informativeness=float(ranked.informativeness[k]),
        phraseness=float(ranked.phraseness[k]),
        phraseness_document=float(pool.phraseness_document[i]),
        phraseness_neighbours=float(pool.phraseness_neighbours[i]),
        position=float(ranked.omega[k]),
        words_before=int(before) if np.isfinite(before) else None,
        factors=factors,
    )
