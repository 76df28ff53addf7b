"""From candidates and weights to a ranked list: the array half of Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from erukg.core import scoring
from erukg.core.candidates import Candidates
from erukg.core.factors import NOVELTY, Evidence, factor_values
from erukg.core.folding import hash_phrases
from erukg.core.neighbours import Glossary, Neighbourhood, Terms
from erukg.core.settings import Settings

__all__ = ["Pool", "Ranked", "Weights", "build_pool", "drop_contained", "rank_pool"]


@dataclass(frozen=True, eq=False)
class Weights:
    """Term weights of a document: for each of `ids` (ascending) w^x and Σ s̃ w^x'."""

    ids: NDArray[np.int32]
    document: NDArray[np.float64]
    neighbourhood: Neighbourhood

    @classmethod
    def combine(cls, ids: NDArray[np.int32], document: NDArray[np.float32], neighbourhood: Neighbourhood) -> Weights:
        return cls(ids, document.astype(np.float64), neighbourhood)

    @cached_property
    def neighbours(self) -> NDArray[np.float64]:
        """Σ s̃ w^x', looked up when first needed: with α = 1 and no explanation it never is."""
        return _look_up(self.neighbourhood.term_ids, self.neighbourhood.term_weights, self.ids)

    def mixed(self, alpha: float) -> NDArray[np.float64]:
        """ŵ, their mix."""
        return self.document if alpha == 1 else scoring.mix(alpha, self.document, self.neighbours)

    def index(self, terms: Terms) -> Terms:
        """The same phrases with positions in `ids` instead of vocabulary ids."""
        place = np.zeros(int(self.ids[-1]) + 1 if len(self.ids) else 0, np.int32)
        place[self.ids] = np.arange(len(self.ids), dtype=np.int32)
        return Terms(terms.indptr, place[terms.ids])


@dataclass(frozen=True, slots=True)
class Pool:
    """Ĉ_x: the document's own candidates first, then those only its neighbours have.

    glossary_ids          number in the glossary, -1 if not in it
    phraseness_document   P(c | C_x)
    phraseness_neighbours Σ s̃ P(c | C̃_x')
    commonness            how many documents of D it describes; 1 for those that are not in the glossary
    words_before          P_x(c), infinite for absent phrases
    single                whether it is one word; only asked of present phrases
    """

    own: int
    glossary_ids: NDArray[np.int64]
    phraseness_document: NDArray[np.float64]
    phraseness_neighbours: NDArray[np.float64]
    commonness: NDArray[np.float64]
    words_before: NDArray[np.float64]
    single: NDArray[np.bool_]
    terms: Terms

    @classmethod
    def of_phrases(cls, words_before: NDArray[np.float64], single: NDArray[np.bool_], terms: Terms) -> Pool:
        """Phrases that somebody else vouches for, all equally phrase-like."""
        n = len(words_before)
        return cls(n, np.full(n, -1, np.int64), np.ones(n), np.zeros(n), np.ones(n), words_before, single, terms)

    def __len__(self) -> int:
        return len(self.glossary_ids)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates of one kind (present or absent), best first.

    pool      their rows in the pool
    scores    s_x(c), the products of their factors
    factors   the factors' values by name (`erukg.core.factors`)
    evidence  what the factors were computed from
    weights   ŵ of the document's terms
    """

    pool: NDArray[np.int64]
    scores: NDArray[np.float64]
    factors: dict[str, NDArray[np.float64]]
    evidence: Evidence
    weights: NDArray[np.float64]

    def take(self, rows: NDArray[np.int64]) -> Ranked:
        """Some of them, in the order given."""
        return Ranked(
            self.pool[rows],
            self.scores[rows],
            {name: values[rows] for name, values in self.factors.items()},
            self.evidence.take(rows),
            self.weights,
        )


def build_pool(
    candidates: Candidates,
    own_terms: Terms,
    neighbourhood: Neighbourhood,
    glossary: Glossary | None,
    settings: Settings,
) -> Pool:
    """Ĉ_x = C_x ∪ Top_100(C_N(x), P_pn) (Eq. 10), every neighbour candidate still counted as absent."""
    n = len(candidates.folds)
    own_share = scoring.document_phraseness(candidates.counts, settings.frequency)
    single = np.array([" " not in folded for folded in candidates.folds], np.bool_)
    words_before = candidates.positions.astype(np.float64)
    if glossary is None or not len(neighbourhood.phrase_ids):
        return Pool(n, np.full(n, -1, np.int64), own_share, np.zeros(n), np.ones(n), words_before, single, own_terms)

    own_ids = glossary.find(hash_phrases(candidates.folds))
    others = neighbourhood.phrase_ids
    own_neighbour_share = _look_up(others, neighbourhood.phrase_shares, own_ids)
    shares = neighbourhood.phrase_shares.astype(np.float64)
    in_document = np.zeros(len(others))
    at = np.searchsorted(others, own_ids)
    hit = (own_ids >= 0) & (at < len(others)) & (others[np.minimum(at, len(others) - 1)] == own_ids)
    in_document[at[hit]] = own_share[hit]
    phraseness = scoring.mix(settings.beta, in_document, shares)
    best = scoring.top_neighbour_candidates(phraseness, settings.neighbour_candidates)
    extra = best[(in_document[best] == 0) & (phraseness[best] > 0)]
    return Pool(
        own=n,
        glossary_ids=np.concatenate((own_ids, others[extra])),
        phraseness_document=np.concatenate((own_share, np.zeros(len(extra)))),
        phraseness_neighbours=np.concatenate((own_neighbour_share, shares[extra])),
        commonness=np.concatenate((np.ones(n), glossary.counts(others[extra]).astype(np.float64))),
        words_before=np.concatenate((words_before, np.full(len(extra), np.inf))),
        single=np.concatenate((single, np.zeros(len(extra), np.bool_))),
        terms=_join(own_terms, glossary.terms(others[extra])),
    )


def rank_pool(pool: Pool, weights: Weights, settings: Settings, *, present: bool, limit: int) -> Ranked:
    """Score the present or the absent candidates of the pool (Eqs. 4 to 12) and keep the best `limit`."""
    rows = np.flatnonzero(np.isfinite(pool.words_before) == present)
    gamma = settings.length_penalty if present else settings.absent_length_penalty
    mixed = weights.mixed(settings.alpha if present else settings.absent_alpha)
    terms = weights.index(pool.terms)
    evidence = Evidence(
        settings,
        present,
        words_before=pool.words_before[rows],
        phraseness=scoring.mix(settings.beta, pool.phraseness_document[rows], pool.phraseness_neighbours[rows]),
        informativeness=scoring.informativeness(mixed, terms, gamma)[rows],
        single=pool.single[rows],
        commonness=pool.commonness[rows],
    )
    factors = factor_values(evidence)
    scores = scoring.product(factors)
    if settings.diversity > 0:
        order = scoring.best(scores, len(scores))
        kept, novelty = scoring.diversify(scores[order], terms.take(rows[order]), mixed, settings.diversity, limit)
        order = order[kept]
        factors[NOVELTY][order] = novelty
        scores = scores * factors[NOVELTY]
    else:
        order = scoring.best(scores, limit)
    return Ranked(rows, scores, factors, evidence, mixed).take(order)


def drop_contained(ranked: Ranked, folds: Iterable[str], limit: int | None = None) -> Ranked:
    """The best `limit` without the single words that are part of a better phrase; `folds` are those of the ranked
    phrases, of which no more are taken than it needs.
    """
    seen: set[str] = set()
    keep: list[int] = []
    if limit != 0:
        for k, folded in enumerate(folds):
            words = folded.split()
            if len(words) > 1 or folded not in seen:
                keep.append(k)
                if len(keep) == limit:
                    break
            seen.update(words)
    return ranked.take(np.array(keep, np.int64))


def _look_up(
    ids: NDArray[np.int32] | NDArray[np.int64],
    values: NDArray[np.float32],
    wanted: NDArray[np.int32] | NDArray[np.int64],
) -> NDArray[np.float64]:
    """The value of each wanted id in a sparse vector with ascending `ids`, 0 where it has none."""
    if not len(ids):
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[at] == wanted, values[at], 0).astype(np.float64)


def _join(a: Terms, b: Terms) -> Terms:
    return Terms(np.concatenate((a.indptr, a.indptr[-1] + b.indptr[1:])), np.concatenate((a.ids, b.ids)))
