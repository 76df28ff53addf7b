"""How good suggested concepts are: F1 and nDCG by document, and recall by how often a concept was used before.

F1@k is that of the first k suggestions, averaged over documents; of a shorter list all of it, so that silence is not
counted as wrong answers. nDCG@10 has gains of 0 and 1, and its ideal list begins with all gold concepts. Both are what
`annif eval` prints.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.research.evaluation.subjects.records import TaggedRecord

__all__ = ["BANDS", "MEASURES", "Band", "BandRecall", "SubjectScores", "band_of", "f1", "ndcg", "score"]

MEASURES = ("F1@5", "F1@10", "nDCG@10")
_DEPTH = 10


@dataclass(frozen=True, slots=True)
class Band:
    """Concepts that `low` to `high` tagged documents carry; `high` is None where there is no end."""

    name: str
    low: int
    high: int | None


BANDS = (Band("0", 0, 0), Band("1–4", 1, 4), Band("5–49", 5, 49), Band("50+", 50, None))


@dataclass(frozen=True, slots=True)
class BandRecall:
    """Of the gold concepts of a band, counted by document, how many there are and how many were among the first ten."""

    gold: int
    found: int

    @property
    def recall(self) -> float | None:
        return self.found / self.gold if self.gold else None


@dataclass(frozen=True, slots=True)
class SubjectScores:
    """Figures of one row: single values by document that has gold, and recall by band."""

    by_document: Mapping[str, NDArray[np.float64]]
    bands: Mapping[str, BandRecall]

    @property
    def documents(self) -> int:
        return len(self.by_document[MEASURES[0]])

    def __getitem__(self, measure: str) -> float:
        return float(self.by_document[measure].mean())


def f1(suggested: Sequence[str], gold: Collection[str], k: int) -> float:
    """F1 of the first `k` suggestions."""
    first = suggested[:k]
    hits = sum(uri in gold for uri in first)
    return 2 * hits / (len(first) + len(gold)) if hits else 0.0


def ndcg(suggested: Sequence[str], gold: Collection[str], k: int) -> float:
    """The discounted gain of the first `k` suggestions beside that of the best list there could be."""
    gain = sum(1 / np.log2(place + 2) for place, uri in enumerate(suggested[:k]) if uri in gold)
    ideal = sum(1 / np.log2(place + 2) for place in range(min(k, len(gold))))
    return float(gain / ideal) if ideal else 0.0


def band_of(count: int) -> str:
    """The name of the band that a concept of so many tagged documents is in."""
    return next(band.name for band in BANDS if count >= band.low and (band.high is None or count <= band.high))


def score(
    records: Sequence[TaggedRecord],
    suggested: Mapping[str, Sequence[str]],
    counts: Mapping[str, int],
    without: Collection[str] = (),
) -> SubjectScores:
    """Compare the URIs suggested by document with those that indexers chose.

    `counts` has how many tagged documents carry each concept. Concepts in `without` are taken out of both sides first,
    and documents that have no gold then are left out.
    """
    values: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    gold_of = dict.fromkeys((band.name for band in BANDS), 0)
    found_of = dict(gold_of)
    for record in records:
        gold = record.gold.difference(without)
        if not gold:
            continue
        listed = [uri for uri in dict.fromkeys(suggested.get(record.id, ())) if uri not in without]
        first = set(listed[:_DEPTH])
        figures = f1(listed, gold, 5), f1(listed, gold, 10), ndcg(listed, gold, 10)
        for measure, value in zip(MEASURES, figures, strict=True):
            values[measure].append(value)
        for uri in gold:
            band = band_of(counts.get(uri, 0))
            gold_of[band] += 1
            found_of[band] += uri in first
    bands = {name: BandRecall(gold_of[name], found_of[name]) for name in gold_of}
    return SubjectScores({measure: np.array(column) for measure, column in values.items()}, bands)
