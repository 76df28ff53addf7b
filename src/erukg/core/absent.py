"""Which absent phrases are given, and when none is: too little speaks for some, and others repeat a better one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from erukg.core.analysis import Analysis
from erukg.core.confidence import fit_of_phrases
from erukg.core.neighbours import Background, Glossary, Source
from erukg.core.ranking import Learned, Ranked, rank_pool
from erukg.core.settings import Settings
from erukg.core.stems import stem_phrase

__all__ = ["choose_absent", "is_hopeless", "is_unlike", "sources_of"]

# Phrases looked at for each that is asked for, as some may be withheld.
_SPARE = 5
# The present phrases that they must not vary; a fixed number, so that asking for more does not change the first ones.
_COMPARED = 10
_MORE = 4
# A text of fewer words says too little for one neighbour's phrase to be trusted: so many must agree.
_SHORT_TEXT = 30
_AGREEING = 3
# What comes no nearer to a text shares a word with it and not its meaning: "online dating" for dates in a spreadsheet.
_FOREIGN = 0.1
# No phrase comes near enough to a text of so low a fit.
_HOPELESS = -0.6


def is_unlike(analysis: Analysis, settings: Settings) -> bool:
    """Whether the text is unlike the collection's documents, so that few of their phrases are given or none."""
    fit = analysis.neighbourhood.fit
    return settings.abstain and fit is not None and fit < 0


def is_hopeless(analysis: Analysis, settings: Settings) -> bool:
    """Whether it is so unlike them that none can be given: without knowing what comes near in meaning, at once."""
    fit, bound = analysis.neighbourhood.fit, 0 if analysis.pool.affinity is None else _HOPELESS
    return settings.abstain and fit is not None and fit < bound


def choose_absent(
    analysis: Analysis,
    glossary: Glossary,
    settings: Settings,
    shown: Sequence[Sequence[str]],
    top_k: int,
    learned: Learned | None = None,
) -> tuple[Ranked, list[str], list[bool]]:
    """The best `top_k` absent phrases that enough speaks for, beside the `shown` ones and their variants.

    The last are whether each contains, or lies in, one of the best shown.

    The pool knows its words (`Pool.with_words`).
    """
    pool, weights = analysis.pool, analysis.weights
    ranked = rank_pool(pool, weights, settings, present=False, limit=_SPARE * top_k, learned=learned)
    confidence, holders = ranked.confidence(weights.neighbourhood.fit), pool.holders[ranked.pool]
    keep = np.ones(len(holders), np.bool_) if confidence is None else confidence >= settings.min_confidence
    if settings.abstain and len(analysis.document) < _SHORT_TEXT:
        keep &= holders >= _AGREEING
    if settings.abstain and pool.affinity is not None:
        near = pool.affinity[ranked.pool]
        keep &= (near >= _FOREIGN) & (fit_of_phrases(weights.neighbourhood.fit, near) > 0)
    open_ = np.flatnonzero(keep)
    if confidence is not None:
        # As sure as they are: what comes near to the text has more of it than its score alone gives.
        open_ = open_[np.argsort(-confidence[open_], kind="stable")]
    others = {stem_phrase(form) for forms in shown[:_COMPARED] for form in forms}
    # No mere variant of a better one, nor of those shown.
    seen = set(others) if settings.drop_contained else set()
    kept: list[int] = []
    phrases: list[str] = []
    related: list[bool] = []
    # Few are withheld here, so not many more need be read than are asked for.
    block = top_k + _MORE
    for start in range(0, len(open_), block):
        part = open_[start : start + block]
        for k, phrase in zip(part.tolist(), analysis.absent_phrases(ranked.pool[part], glossary), strict=True):
            stems = stem_phrase(phrase)
            if len(kept) == top_k or stems in seen:
                continue
            if settings.drop_contained:
                seen.add(stems)
            kept.append(k)
            phrases.append(phrase)
            related.append(any(stems in other or other in stems for other in others))
        if len(kept) == top_k:
            break
    return ranked.take(np.array(kept, np.int64)), phrases, related


def sources_of(background: Background, analysis: Analysis, ids: NDArray[np.int64]) -> list[tuple[Source, ...]]:
    """The neighbours that have each of these phrases of the glossary; those that are not in it (-1) have none."""
    known = iter(background.sources(analysis.neighbourhood, ids[ids >= 0]))
    return [tuple(next(known)) if id >= 0 else () for id in ids.tolist()]
