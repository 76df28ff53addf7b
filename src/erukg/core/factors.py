"""The factors of a score: each is defined, named and put into words here, and nowhere else.

A score is the product of its factors (Eqs. 11 and 12). To add one, write its function over `Evidence`, or over
`PhraseEvidence` for phrases that a caller brings, and list it in `FACTORS`: the ranking, the explanations and every
format of them follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.absent_features import GROUPS
from erukg.core.pool import Pool
from erukg.core.scoring import product
from erukg.core.settings import Settings

__all__ = [
    "FACTORS",
    "NOVELTY",
    "RELEVANCE",
    "STANDING",
    "Evidence",
    "Factor",
    "PhraseEvidence",
    "confidence",
    "factor_values",
]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the factors are computed from: some candidates of a pool, all of one kind.

    present          whether they are the candidates that occur in the text
    pool, rows       the pool, and their rows in it: `pool.commonness[rows]`
    phraseness       P_pn(c) of each
    informativeness  f̂(c, x) of each
    lead, least      how much the first and the lightest word of each weigh beside the mean of its words
    whole_words      the share of it that no word gets from being a part of others in the text
    cover            the share of its words that say something about the text
    learned          what each group of features adds to the learned ranking; None where there is none
    """

    settings: Settings
    present: bool
    pool: Pool
    rows: NDArray[np.int64]
    phraseness: Floats
    informativeness: Floats
    lead: Floats
    least: Floats
    whole_words: Floats
    cover: Floats
    learned: Floats | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def affinity(self) -> Floats | None:
        """How near each comes to the text in meaning; None where the model does not tell."""
        return None if self.pool.affinity is None else self.pool.affinity[self.rows]

    def take(self, which: NDArray[np.int64]) -> Evidence:
        """Some of them, in the order given."""
        return Evidence(
            self.settings,
            self.present,
            self.pool,
            rows=self.rows[which],
            phraseness=self.phraseness[which],
            informativeness=self.informativeness[which],
            lead=self.lead[which],
            least=self.least[which],
            whole_words=self.whole_words[which],
            cover=self.cover[which],
            learned=None if self.learned is None else self.learned[which],
        )


@dataclass(frozen=True, slots=True)
class PhraseEvidence:
    """What the factors of phrases that a caller brings are computed from.

    words      the geometric mean of their words' weights in the text
    meaning    the share of what each calls up in the model that the text calls up too
    weakest    the same of the word of each that fits the text least
    likeness   how alike the vectors of phrase and text are: 0 as by chance, 1 the same
    present    whether the phrase occurs in the text
    used       whether similar documents of the collection go by it
    """

    words: Floats
    meaning: Floats
    weakest: Floats
    likeness: Floats
    present: NDArray[np.bool_]
    used: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor: its name in data, a label and a sentence for people, and its values for some candidates.

    Which candidates have it: those present in the text, those absent from it, those `ranked` for a caller. Some need
    what not every model tells: the field of `Evidence` that is None then.
    """

    name: str
    label: str
    help: str
    values: Callable[[Any], Floats]
    present: bool = True
    absent: bool = True
    ranked: bool = False
    needs: str | None = None


def _learned(group: str, label: str, help: str) -> Factor:
    """The part that a group of features has in the learned ranking."""
    place = GROUPS.index(group)

    def values(evidence: Evidence) -> Floats:
        assert evidence.learned is not None
        return np.exp(evidence.settings.absent_learned * evidence.learned[:, place])

    return Factor(f"learned_{group}", label, help, values, present=False, needs="learned")


def _ranked(name: str, label: str, help: str, values: Callable[[PhraseEvidence], Floats]) -> Factor:
    return Factor(name, label, help, values, present=False, absent=False, ranked=True)


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
    # What the text's own words make, no neighbour need have.
    return np.maximum(evidence.pool.holders[evidence.rows], 1) ** evidence.settings.absent_agreement


def _form(evidence: Evidence) -> Floats:
    return evidence.pool.form[evidence.rows]


def _balance(evidence: Evidence) -> Floats:
    power = evidence.settings.balance
    if power == 0:
        return np.ones(len(evidence))
    # "effect of heat" is a phrase only if both sides of "of" matter to the text.
    joined = evidence.pool.joined[evidence.rows]
    return np.where(joined, evidence.least ** (_JOINED * power), 1.0) * evidence.lead**power


def _commonness(evidence: Evidence) -> Floats:
    return evidence.pool.commonness[evidence.rows] ** evidence.settings.absent_commonness


def _affinity(evidence: Evidence) -> Floats:
    settings = evidence.settings
    assert evidence.affinity is not None
    nearer = evidence.affinity - _USUAL
    if evidence.present:
        # What is far tells what a phrase in the text is worth; the nearest ones are no better than those less near.
        return np.exp(settings.affinity * np.minimum(nearer, 0.0))
    return np.exp(settings.absent_affinity * nearer)


def _filled_in_later(evidence: Evidence | PhraseEvidence) -> Floats:
    return np.ones(len(evidence))


_JOINED = 5
# How near phrases of a text come to it as a rule.
_USUAL = 0.3
# How much it counts that a ranked phrase occurs in the text, and that similar documents go by it.
_OCCURS, _USED = 7.0, 4.0
# Likeness counts nearly in full from 0.8 on, by half at 0.36 and hardly below 0.
_STEEP, _HALF = 6.0, 0.36
# What is left of a phrase with a word that does not fit at all.
_UNFIT = 0.02
# The score of ranked phrases that people choose as often as not, and the confidence from which on one is relevant.
_EVEN, _LEAST = 0.19, 0.1


def _likeness(evidence: PhraseEvidence) -> Floats:
    return 1 / (1 + np.exp(-_STEEP * (evidence.likeness - _HALF)))


def confidence(scores: Floats) -> Floats:
    """How likely people are to choose ranked phrases with these scores."""
    return scores / (scores + _EVEN)


NOVELTY, RELEVANCE, STANDING = "novelty", "relevance", "standing"
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
        "form",
        "a well-made phrase",
        "Below 1 for words that say little, parts of longer phrases and loose ones with 'of'; above 1 for known terms.",
        _form,
        absent=False,
    ),
    Factor(
        "balance",
        "every word counts",
        "Below 1 when the phrase's first word, or one side of its 'of', says little about the text.",
        _balance,
        absent=False,
    ),
    Factor(
        "affinity",
        "near the text in meaning",
        "Below 1 for phrases far in meaning from the whole text; above 1 for absent ones that are near it.",
        _affinity,
        needs="affinity",
    ),
    Factor(
        STANDING,
        "stands for a part of it",
        "Above 1 when the phrase takes the place, and the score, of a part that only stands inside it.",
        # Which phrases stand for others is seen when the list is made.
        _filled_in_later,
        absent=False,
    ),
    Factor(
        "commonness",
        "an established term",
        "Higher the more documents of the collection the phrase describes.",
        _commonness,
        present=False,
    ),
    _learned(
        "neighbours",
        "near documents have it",
        "Learned from titles: higher the nearer and the more the similar documents are that have the phrase.",
    ),
    _learned(
        "titles",
        "titles are made of it",
        "Learned from titles: higher when documents, similar ones above all, have the phrase in their title.",
    ),
    _learned(
        "weights",
        "each word describes the text",
        "Learned from titles: how the weights of the phrase's words in the text are spread.",
    ),
    _learned(
        "wording",
        "in the words of the text",
        "Learned from titles: higher when the text's best phrases share its words.",
    ),
    Factor(
        NOVELTY,
        "new beside better phrases",
        "Below 1 when better phrases already use the same words: the setting 'diversity'.",
        # Depends on which phrases were chosen before, so the ranking fills it in.
        _filled_in_later,
        ranked=True,
    ),
    _ranked(
        "words",
        "its words weigh in the text",
        "How much the phrase's words say about the text: the root of the geometric mean of their weights.",
        lambda evidence: np.sqrt(evidence.words),
    ),
    _ranked(
        "meaning",
        "means what the text is about",
        "The share of what the phrase calls up in the model that the text calls up too, to the power 1.5.",
        lambda evidence: evidence.meaning**1.5,
    ),
    _ranked(
        "completeness",
        "every word of it fits",
        "The root of the same share for that word of the phrase which fits the text least.",
        lambda evidence: np.sqrt(evidence.weakest + _UNFIT),
    ),
    _ranked(
        "likeness",
        "like the text as a whole",
        "From 0 to 1, higher the more alike phrase and text are as a whole.",
        _likeness,
    ),
    _ranked(
        "occurrence",
        "occurs in the text",
        f"{_OCCURS:g} for phrases that occur in the text, else 1.",
        lambda evidence: np.where(evidence.present, _OCCURS, 1.0),
    ),
    _ranked(
        "usage",
        "similar documents go by it",
        f"{_USED:g} for phrases that describe similar documents of the collection, else 1.",
        lambda evidence: np.where(evidence.used, _USED, 1.0),
    ),
    _ranked(
        RELEVANCE,
        "close enough to the text",
        "0 for phrases that the other factors hold to be hardly about the text, else 1.",
        # Depends on the product of the others, so it is filled in after them.
        _filled_in_later,
    ),
)


def factor_values(evidence: Evidence | PhraseEvidence) -> dict[str, Floats]:
    """The values of every factor that candidates of this kind have, by name."""
    if isinstance(evidence, PhraseEvidence):
        factors = {f.name: f.values(evidence) for f in FACTORS if f.ranked}
        factors[RELEVANCE] = np.where(confidence(product(factors)) >= _LEAST, 1.0, 0.0)
        return factors
    chosen = [f for f in FACTORS if (f.present if evidence.present else f.absent)]
    return {f.name: f.values(evidence) for f in chosen if f.needs is None or getattr(evidence, f.needs) is not None}
