"""Why a phrase has its score: the factors whose product it is, and what they were computed from."""

from __future__ import annotations

import numpy as np

from erukg.core.backend import Backend
from erukg.core.factors import position
from erukg.core.pool import Pool
from erukg.core.ranking import Ranked, Weights
from erukg.core.results import Explanation, TermWeight

__all__ = ["explain_score"]


def explain_score(ranked: Ranked, k: int, pool: Pool, weights: Weights, backend: Backend) -> Explanation:
    """The explanation of the k-th ranked candidate."""
    i = int(ranked.pool[k])
    evidence = ranked.evidence
    ids = pool.terms.ids[pool.terms.indptr[i] : pool.terms.indptr[i + 1]]
    at = np.searchsorted(weights.ids, ids)
    before = pool.words_before[i]
    return Explanation(
        factors={name: float(values[k]) for name, values in ranked.factors.items()},
        terms=tuple(
            TermWeight(token, float(weights.document[j]), float(weights.neighbours[j]), float(ranked.weights[j]))
            for token, j in zip(backend.tokens(ids), at.tolist(), strict=True)
        ),
        informativeness=float(evidence.informativeness[k]),
        phraseness=float(evidence.phraseness[k]),
        phraseness_document=float(pool.phraseness_document[i]),
        phraseness_neighbours=float(pool.phraseness_neighbours[i]),
        position=float(position(pool.words_before[i : i + 1])[0]),
        words_before=int(before) if np.isfinite(before) else None,
    )
