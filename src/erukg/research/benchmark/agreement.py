"""How far two rankings of the same document's phrases agree.

For each document the phrases in the best k of either list are compared: Spearman's rank correlation of their places in
the two whole lists. A phrase that one list does not hold has the place after its last. The figure of a run is the mean
over documents; overlap is the share of the best k that both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["agreement", "overlap", "rank_correlation"]


def rank_correlation(first: Sequence[str], second: Sequence[str], k: int = 10) -> float:
    """Spearman's ρ over the phrases in the best `k` of either list; 1 where there are fewer than two."""
    chosen = list(dict.fromkeys((*first[:k], *second[:k])))
    if len(chosen) < 2:
        return 1.0 if list(first[:k]) == list(second[:k]) else 0.0
    a, b = (_ranks(_places(chosen, phrases)) for phrases in (first, second))
    a, b = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale > 0 else 0.0


def overlap(first: Sequence[str], second: Sequence[str], k: int = 10) -> float:
    """The share of the best `k` that both lists have."""
    a, b = set(first[:k]), set(second[:k])
    return len(a & b) / max(len(a), len(b)) if a or b else 1.0


def agreement(pairs: Iterable[tuple[Sequence[str], Sequence[str]]], k: int = 10) -> dict[str, float | int]:
    """Both figures over many documents: means, and the lowest tenth of correlations."""
    both = [(rank_correlation(a, b, k), overlap(a, b, k), list(a[:k]) == list(b[:k])) for a, b in pairs]
    if not both:
        return {"documents": 0}
    correlations, overlaps, same = (np.array(column, float) for column in zip(*both, strict=True))
    return {
        "documents": len(both),
        "rank_correlation": float(correlations.mean()),
        "rank_correlation_p10": float(np.percentile(correlations, 10)),
        "overlap": float(overlaps.mean()),
        "identical": float(same.mean()),
    }


def _places(chosen: Sequence[str], phrases: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    where = {phrase: place for place, phrase in reversed(list(enumerate(phrases)))}
    return np.array([where.get(phrase, len(phrases)) for phrase in chosen], np.float64)


def _ranks(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Ranks with ties at their mean."""
    ordered = np.sort(values)
    return (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") - 1) / 2
