"""From candidates and weights to a ranked list: the array half of Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core import scoring
from erukg.core.backend import Pieces
from erukg.core.confidence import ABSENT, PLAIN_ABSENT, PRESENT, fit_of_phrases
from erukg.core.factors import NOVELTY, Evidence, factor_values
from erukg.core.forms import JOINTS
from erukg.core.neighbours import Neighbourhood, Terms
from erukg.core.pool import Pool, look_up
from erukg.core.settings import Settings

__all__ = ["Learned", "Ranked", "Weights", "rank_pool"]

#: What a learned ranking says of some rows of the pool, given their pieces and the weight of each of these.
Learned: TypeAlias = Callable[[NDArray[np.int64], Terms, NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Weights:
    """Term weights of a document: for each of `ids` (ascending) w^x and Σ s̃ w^x'; and the weights of its words.

    A word weighs as much as its pieces together; words that only join others weigh NaN.
    """

    ids: NDArray[np.int32]
    document: NDArray[np.float64]
    neighbourhood: Neighbourhood
    words: NDArray[np.float64]

    @classmethod
    def combine(
        cls,
        ids: NDArray[np.int32],
        document: NDArray[np.float32],
        neighbourhood: Neighbourhood,
        text: Sequence[str],
        pieces: Pieces,
    ) -> Weights:
        """The weights of a text whose words and their pieces, all among `ids`, are given."""
        weights = document.astype(np.float64)
        totals = np.zeros(len(pieces.ids) + 1)
        weights[ids.searchsorted(pieces.ids)].cumsum(out=totals[1:])
        words = totals[pieces.starts[1:]] - totals[pieces.starts[:-1]]
        words[[i for i, word in enumerate(text) if word in JOINTS]] = np.nan
        return cls(ids, weights, neighbourhood, words)

    @cached_property
    def neighbours(self) -> NDArray[np.float64]:
        """Σ s̃ w^x', looked up when first needed: with α = 1 and no explanation it never is."""
        return look_up(self.neighbourhood.term_ids, self.neighbourhood.term_weights, self.ids)

    def mixed(self, alpha: float) -> NDArray[np.float64]:
        """ŵ, their mix."""
        return self.document if alpha == 1 else scoring.mix(alpha, self.document, self.neighbours)

    @cached_property
    def _places(self) -> NDArray[np.int32]:
        place = np.zeros(int(self.ids[-1]) + 1 if len(self.ids) else 0, np.int32)
        place[self.ids] = np.arange(len(self.ids), dtype=np.int32)
        return place

    def index(self, terms: Terms) -> Terms:
        """The same phrases with positions in `ids` instead of vocabulary ids."""
        return Terms(terms.indptr, self._places[terms.ids])


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidates of one kind (present or absent), best first.

    scores    s_x(c), the products of their factors
    factors   the factors' values by name (`erukg.core.factors`)
    evidence  what the factors were computed from
    weights   ŵ of the document's terms
    """

    scores: NDArray[np.float64]
    factors: dict[str, NDArray[np.float64]]
    evidence: Evidence
    weights: NDArray[np.float64]

    @property
    def pool(self) -> NDArray[np.int64]:
        """Their rows in the pool."""
        return self.evidence.rows

    def confidence(self, fit: float | None) -> NDArray[np.float64] | None:
        """How likely people are to choose each in a text of this fit; None if settings change the scale of scores."""
        present = self.evidence.present
        if not self.evidence.settings.calibrated(present=present):
            return None
        if present:
            return PRESENT.confidence(self.scores, fit)
        near = self.evidence.affinity
        calibration = PLAIN_ABSENT if self.evidence.learned is None else ABSENT
        return calibration.confidence(self.scores, fit if near is None else fit_of_phrases(fit, near))

    def take(self, which: NDArray[np.int64]) -> Ranked:
        """Some of them, in the order given."""
        factors = {name: values[which] for name, values in self.factors.items()}
        return Ranked(self.scores[which], factors, self.evidence.take(which), self.weights)


def rank_pool(
    pool: Pool, weights: Weights, settings: Settings, *, present: bool, limit: int, learned: Learned | None = None
) -> Ranked:
    """Score the present or the absent candidates of the pool (Eqs. 4 to 12) and keep the best `limit`."""
    rows = np.flatnonzero(np.isfinite(pool.words_before) if present else np.isinf(pool.words_before))
    gamma = settings.length_penalty if present else settings.absent_length_penalty
    mixed = weights.mixed(settings.alpha if present else settings.absent_alpha)
    chosen, pieces = pool.terms.rows(rows)
    terms = weights.index(chosen)
    informativeness = scoring.informativeness(mixed, terms, gamma)
    telling = np.flatnonzero(informativeness > 0)
    if len(telling) < len(rows):
        # The others, most of the neighbours' phrases, score 0 whatever else speaks for them.
        rows, informativeness = rows[telling], informativeness[telling]
        chosen, pieces = pool.terms.rows(rows)
        terms = weights.index(chosen)
    whole = cover = lead = least = np.ones(len(rows))
    if present and settings.balance:
        lead, least = scoring.balances(weights.words, pool.words[rows])
    if not present and pool.begins is not None and pool.hidden is not None:
        if settings.absent_parts < 1:
            whole = scoring.whole_share(mixed, terms, pool.hidden[pieces], settings.absent_parts)
        if settings.absent_cover > 0:
            cover = scoring.cover(mixed, terms, pool.begins[pieces])
    evidence = Evidence(
        settings,
        present,
        pool,
        rows,
        phraseness=scoring.mix(settings.beta, pool.phraseness_document[rows], pool.phraseness_neighbours[rows]),
        informativeness=informativeness,
        lead=lead,
        least=least,
        whole_words=whole,
        cover=cover,
        learned=None if learned is None else learned(rows, chosen, mixed[terms.ids]),
    )
    factors = factor_values(evidence)
    scores = scoring.product(factors)
    if settings.diversity > 0:
        order = scoring.best(scores, len(scores))
        kept, novelty = scoring.diversify(scores[order], terms.take(order), mixed, settings.diversity, limit)
        order = order[kept]
        factors[NOVELTY][order] = novelty
        scores = scores * factors[NOVELTY]
    else:
        order = scoring.best(scores, limit)
    return Ranked(scores, factors, evidence, mixed).take(order)
