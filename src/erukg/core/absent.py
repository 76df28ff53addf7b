"""Which absent phrases are given, and when none is: too little speaks for some, and others repeat a better one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from erukg.core.folding import fold
from erukg.core.neighbours import Glossary, Neighbourhood
from erukg.core.pool import Pool
from erukg.core.ranking import Ranked, Weights, rank_pool
from erukg.core.results import Notice
from erukg.core.settings import Settings

__all__ = ["UNLIKE", "choose_absent", "distinct_variants", "is_unlike"]

UNLIKE = Notice(
    "unlike-collection", "The text is unlike the documents of the collection, so no absent phrases are given."
)
# Phrases looked at for each that is asked for, as some may be withheld.
_SPARE = 5
# A text of fewer words says too little for one neighbour's phrase to be trusted: so many must agree.
_SHORT_TEXT = 30
_AGREEING = 3

_ENDING = re.compile(r"(?:ations?|ments?|ings?|ions?|ers?|ors?|ed|es|s|ally|al|ly|ity|ities|ive|able|ics?|e|y)$")
_SHORTEST_STEM = 4


def is_unlike(neighbourhood: Neighbourhood, settings: Settings) -> bool:
    """Whether the text is so unlike the collection that its neighbours' phrases are withheld."""
    return settings.abstain and neighbourhood.fit is not None and neighbourhood.fit < 0


def choose_absent(
    pool: Pool, weights: Weights, glossary: Glossary, settings: Settings, shown: Iterable[str], words: int, top_k: int
) -> tuple[Ranked, list[str]]:
    """The best `top_k` absent phrases of a text of so many words that enough speaks for, beside the `shown` ones.

    The pool knows its words (`Pool.with_words`).
    """
    ranked = rank_pool(pool, weights, settings, present=False, limit=_SPARE * top_k)
    confidence, holders = ranked.confidence(weights.neighbourhood.fit), pool.holders[ranked.pool]
    keep = np.ones(len(holders), np.bool_) if confidence is None else confidence >= settings.min_confidence
    if settings.abstain and words < _SHORT_TEXT:
        keep &= holders >= _AGREEING
    ranked = ranked.take(np.flatnonzero(keep))
    phrases = glossary.phrases(pool.glossary_ids[ranked.pool])
    kept = distinct_variants(phrases, shown) if settings.drop_contained else np.arange(len(phrases))
    return ranked.take(kept[:top_k]), [phrases[i] for i in kept[:top_k].tolist()]


def distinct_variants(phrases: Sequence[str], others: Iterable[str]) -> NDArray[np.int64]:
    """Which of the phrases, best first, are no mere variant of a better one or of the `others`."""
    seen = {_stems(phrase) for phrase in others}
    keep = []
    for i, phrase in enumerate(phrases):
        stems = _stems(phrase)
        if stems not in seen:
            seen.add(stems)
            keep.append(i)
    return np.array(keep, np.int64)


def _stems(phrase: str) -> str:
    """The phrase without the endings that make variants of it: "learned indexes" and "learning index" are equal."""
    return " ".join(map(_stem, fold(phrase).split()))


@lru_cache(maxsize=1 << 13)
def _stem(word: str) -> str:
    stem = _ENDING.sub("", word)
    return stem if len(stem) >= _SHORTEST_STEM else word
