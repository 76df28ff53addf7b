"""The learned ranking of absent phrases at work: what it reads of a document, and what it says of its candidates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from erukg.core.absent_features import TextProfile, absent_features
from erukg.core.analysis import Analysis
from erukg.core.backend import Backend
from erukg.core.hashing import hash_phrases
from erukg.core.neighbours import Glossary, Terms
from erukg.core.ranking import Learned, Ranked, rank_pool
from erukg.core.settings import Settings
from erukg.core.stems import stem_classes

__all__ = ["AbsentCandidates", "LearnedRanking"]


@dataclass(frozen=True, slots=True)
class AbsentCandidates:
    """The absent phrases that a document could get: the hashes of their folds, and the features of each."""

    hashes: NDArray[np.uint64]
    features: NDArray[np.float32]


class LearnedRanking:
    """The ranking of a model, if it has one. Thread-safe."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def of(self, analysis: Analysis, present: Ranked, glossary: Glossary, settings: Settings) -> Learned | None:
        """What it says of the absent phrases in the pool, beside the `present` ones; None where there is none."""
        ranker, pool = self._backend.ranker, analysis.pool
        if ranker is None or pool.support is None or settings.absent_learned == 0:
            return None
        profile = self._profile(analysis, present)

        def learned(rows: NDArray[np.int64], terms: Terms, weights: NDArray[np.float64]) -> NDArray[np.float64]:
            return ranker.contributions(absent_features(pool, rows, terms, weights, profile, glossary))

        return learned

    def candidates(
        self, analysis: Analysis, present: Ranked, glossary: Glossary, settings: Settings
    ) -> AbsentCandidates:
        """What a ranking can be learned from: every absent phrase of the pool with a score, and its features."""
        pool = analysis.pool
        if pool.support is None:
            return AbsentCandidates(np.empty(0, np.uint64), np.empty((0, 0), np.float32))
        rows = np.sort(rank_pool(pool, analysis.weights, settings, present=False, limit=len(pool)).pool)
        terms = pool.terms.take(rows)
        weights = analysis.weights.mixed(settings.absent_alpha)[analysis.weights.index(terms).ids]
        features = absent_features(pool, rows, terms, weights, self._profile(analysis, present), glossary)
        ids, hashes = pool.glossary_ids[rows], np.empty(len(rows), np.uint64)
        hashes[ids >= 0] = glossary.hashes(ids[ids >= 0])
        hashes[ids < 0] = hash_phrases([analysis.composed[row].fold for row in rows[ids < 0].tolist()])
        return AbsentCandidates(hashes, features)

    def _profile(self, analysis: Analysis, present: Ranked) -> TextProfile:
        return TextProfile.of(analysis.pieces.ids, self._classes, analysis.pool.terms, present.pool, present.scores)

    @cached_property
    def _classes(self) -> NDArray[np.int32]:
        return stem_classes(self._backend.tokens(range(self._backend.vocab_size)))
