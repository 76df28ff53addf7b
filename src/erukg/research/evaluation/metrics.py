"""Precision, recall and F1 at k by document, and their macro averages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.errors import InputError
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import Gold, Protocol, ground_truth
from erukg.research.evaluation.stemming import Variant, phrase_key

__all__ = ["CUTOFFS", "DEPTH", "METRICS", "KindScores", "Prediction", "Scores"]
__all__ += ["aligned_truth", "average", "hits", "score"]

Prediction = tuple[Sequence[str], Sequence[str]]
"""The present and the absent phrases predicted for one document, best first."""

CUTOFFS = (5, 10)
DEPTH = 50  # predictions of a kind that are looked at, before de-duplication
METRICS = tuple(f"{m}@{k}" for m in "FPR" for k in CUTOFFS)


@dataclass(frozen=True, slots=True)
class KindScores:
    """Figures for the present or for the absent phrases of a set, as fractions.

    `scores["F@5"]` is the mean over the `documents` that have gold of this kind (nan when none has);
    `by_document` has their single values in the order of the set.
    """

    documents: int
    by_document: dict[str, NDArray[np.float64]]

    def __getitem__(self, metric: str) -> float:
        values = self.by_document[metric]
        return float(values.mean()) if values.size else float("nan")

    def means(self) -> dict[str, float]:
        return {metric: self[metric] for metric in self.by_document}


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a system did on one set under one protocol, by kind of phrase."""

    dataset: str
    protocol: Protocol
    kinds: Mapping[str, KindScores]

    @property
    def present(self) -> KindScores:
        return self.kinds["present"]

    @property
    def absent(self) -> KindScores:
        return self.kinds["absent"]


def hits(phrases: Sequence[str], gold: dict[str, int], variant: Variant = "nltk") -> list[int]:
    """The ranks, from 1, at which a gold phrase is named for the first time.

    `phrases` are best first and de-duplicated by their stems, the first staying; a gold phrase named a second
    time by one of its alternatives is a wrong answer.
    """
    seen: set[str] = set()
    found: set[int] = set()
    ranks: list[int] = []
    for phrase in phrases[:DEPTH]:
        key = phrase_key(phrase, variant)
        if not key or key in seen:
            continue
        seen.add(key)
        number = gold.get(key)
        if number is not None and number not in found:
            found.add(number)
            ranks.append(len(seen))
        if len(seen) >= CUTOFFS[-1]:
            break
    return ranks


def score(predictions: Sequence[Prediction], dataset: Dataset, protocol: Protocol = "paper") -> Scores:
    """Compare predictions, one per record and in the same order, with the gold of a set.

    P@k divides by k however few were predicted (missing answers are wrong ones), R@k by the number of
    distinct gold phrases of the kind, F@k is their harmonic mean in each document. Ties are the system's to
    order: lists are taken as they come.
    """
    pairs = list(zip(predictions, aligned_truth(predictions, dataset, protocol), strict=True))
    present = [(hits(p[0], g.present, g.variant), g.n_present) for p, g in pairs if g.n_present]
    absent = [(hits(p[1], g.absent, g.variant), g.n_absent) for p, g in pairs if g.n_absent]
    return Scores(dataset.name, protocol, {"present": _kind(present), "absent": _kind(absent)})


def aligned_truth(predictions: Sequence[Prediction], dataset: Dataset, protocol: Protocol) -> Sequence[Gold]:
    """The gold of every record, having made sure that there is one prediction for each."""
    if len(predictions) != len(dataset):
        raise InputError(
            f"There are {len(predictions)} predictions for the {len(dataset)} documents of '{dataset.name}'; "
            "give one for each, in the order of the set."
        )
    return ground_truth(dataset, protocol)


def _kind(documents: list[tuple[list[int], int]]) -> KindScores:
    n_gold = np.array([n for _, n in documents], np.float64)
    by_document: dict[str, NDArray[np.float64]] = {}
    for k in CUTOFFS:
        n_right = np.array([sum(rank <= k for rank in ranks) for ranks, _ in documents], np.float64)
        by_document[f"P@{k}"] = n_right / k
        by_document[f"R@{k}"] = n_right / n_gold
        by_document[f"F@{k}"] = 2 * n_right / (k + n_gold)  # = 2PR/(P+R), and 0 without a division by 0
    return KindScores(len(documents), {metric: by_document[metric] for metric in METRICS})


def average(scores: Sequence[Scores], kind: str) -> dict[str, float]:
    """The plain mean of each metric over the sets that have gold of the kind, small and large; nan where none has."""
    counted = [part for s in scores if (part := s.kinds[kind]).documents]
    metrics = scores[0].kinds[kind].by_document
    return {m: sum(part[m] for part in counted) / len(counted) if counted else float("nan") for m in metrics}
