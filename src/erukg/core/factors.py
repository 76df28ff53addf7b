"""The factors of a score: each is defined, named and put into words here, and nowhere else.

A score is the product of its factors (Eqs. 11 and 12). To add one, write its function over `Evidence` and list it in
`FACTORS`: the ranking, the explanations and every format of them follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.pool import Pool
from erukg.core.settings import Settings

__all__ = ["FACTORS", "NOVELTY", "Evidence", "Factor", "factor_values"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the factors are computed from: some candidates of a pool, all of one kind.

    present          whether they are the candidates that occur in the text
    pool, rows       the pool, and their rows in it: `pool.commonness[rows]`
    phraseness       P_pn(c) of each
    informativeness  f̂(c, x) of each
    whole_words      the share of it that no word gets from being a part of others in the text
    cover            the share of its words that say something about the text
    """

    settings: Settings
    present: bool
    pool: Pool
    rows: NDArray[np.int64]
    phraseness: Floats
    informativeness: Floats
    whole_words: Floats
    cover: Floats

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: NDArray[np.int64]) -> Evidence:
        """Some of them, in the order given."""
        return replace(
            self,
            rows=self.rows[which],
            phraseness=self.phraseness[which],
            informativeness=self.informativeness[which],
            whole_words=self.whole_words[which],
            cover=self.cover[which],
        )


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its name in data, a label and a sentence for people, and its values for some candidates."""

    name: str
    label: str
    help: str
    values: Callable[[Evidence], Floats]
    present: bool = True
    absent: bool = True


def position(words_before: Floats) -> Floats:
    """ω_x(c) = 1 + 1 / log2(P_x(c) + 2); P = ∞ for absent phrases gives 1."""
    return 1 + 1 / np.log2(words_before + 2)


def _position(evidence: Evidence) -> Floats:
    power = evidence.settings.position
    return np.ones(len(evidence)) if power == 0 else position(evidence.pool.words_before[evidence.rows]) ** power


def _phraseness(evidence: Evidence) -> Floats:
    settings, values = evidence.settings, evidence.phraseness
    exponent = settings.phraseness if evidence.present else settings.absent_phraseness
    # What is no phrase at all scores 0, even where the exponent is 0.
    return np.where(values > 0, values**exponent, 0.0)


def _single_word(evidence: Evidence) -> Floats:
    settings = evidence.settings
    value = settings.single_word if evidence.present else settings.absent_single_word
    return np.where(evidence.pool.single[evidence.rows], value, 1.0)


def _agreement(evidence: Evidence) -> Floats:
    return evidence.pool.holders[evidence.rows] ** evidence.settings.absent_agreement


def _commonness(evidence: Evidence) -> Floats:
    return evidence.pool.commonness[evidence.rows] ** evidence.settings.absent_commonness


NOVELTY = "novelty"
FACTORS = (
    Factor(
        "position",
        "early in the text",
        "Higher the earlier the phrase first occurs: ω to the power of the setting 'position'.",
        _position,
        absent=False,
    ),
    Factor(
        "phraseness",
        "used as a phrase",
        "How much the text and similar documents use these words as a phrase: P_pn to the power λ.",
        _phraseness,
    ),
    Factor(
        "informativeness",
        "describes the text",
        "How much the phrase's words say about the text: the mean weight of its word pieces, f̂.",
        lambda evidence: evidence.informativeness,
    ),
    Factor(
        "single_word",
        "a single word",
        "Below 1 for phrases of one word, which say less: the setting 'single_word'.",
        _single_word,
    ),
    Factor(
        "whole_words",
        "by whole words",
        "Below 1 when a word of the phrase stands in the text only as a part of other words.",
        lambda evidence: evidence.whole_words,
        present=False,
    ),
    Factor(
        "cover",
        "by all its words",
        "Below 1 when some words of the phrase have nothing to do with the text.",
        lambda evidence: evidence.cover**evidence.settings.absent_cover,
        present=False,
    ),
    Factor(
        "agreement",
        "shared by similar documents",
        "Higher the more of the similar documents have the phrase.",
        _agreement,
        present=False,
    ),
    Factor(
        "commonness",
        "an established term",
        "Higher the more documents of the collection the phrase describes.",
        _commonness,
        present=False,
    ),
    Factor(
        NOVELTY,
        "new beside better phrases",
        "Below 1 when better phrases already use the same words: the setting 'diversity'.",
        # Depends on which phrases were chosen before, so the ranking fills it in.
        lambda evidence: np.ones(len(evidence)),
    ),
)


def factor_values(evidence: Evidence) -> dict[str, Floats]:
    """The values of every factor that candidates of this kind have, by name."""
    return {f.name: f.values(evidence) for f in FACTORS if (f.present if evidence.present else f.absent)}
