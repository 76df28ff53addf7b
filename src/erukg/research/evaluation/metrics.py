"""Predictions against the gold of a set: the measures of each kind of phrase by document and for the set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from erukg.errors import InputError
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import Gold, Protocol, ground_truth
from erukg.research.evaluation.measures import Answers, measure, ranks_needed
from erukg.research.evaluation.stemming import phrase_key

__all__ = ["CUTOFFS", "DEPTH", "METRICS", "STORED", "KindScores", "Prediction", "Scores"]
__all__ += ["aligned_truth", "average", "judge", "kind_scores", "score"]

Prediction = tuple[Sequence[str], Sequence[str]]
"""The present and the absent phrases predicted for one document, best first."""

CUTOFFS = (5, 10)
DEPTH = 50  # predictions of a kind that systems are asked for and, unless told otherwise, that are looked at
METRICS = tuple(f"{m}@{k}" for m in "FPR" for k in CUTOFFS)
#: What stored runs hold of every system.
STORED = (*METRICS, "F@M", "P@M", "R@M", "F@O", "F@5u", "F@10u")
STORED += ("micro-F@5", "micro-F@10", "micro-F@M", "micro-F@O", "catseq-F@5", "catseq-F@M")


@dataclass(frozen=True, slots=True)
class KindScores:
    """Figures for the present or for the absent phrases of a set, as fractions.

    `scores["F@5"]` is the mean over the `documents` that have gold of this kind (nan when none has); `by_document` has
    their single values in the order of the set. `of_set` has the measures that are no means over documents.
    """

    documents: int
    by_document: dict[str, NDArray[np.float64]]
    of_set: dict[str, float] = field(default_factory=dict)

    def __getitem__(self, metric: str) -> float:
        if metric in self.of_set:
            return self.of_set[metric]
        values = self.by_document[metric]
        return float(values.mean()) if values.size else float("nan")

    def means(self) -> dict[str, float]:
        return {metric: self[metric] for metric in (*self.by_document, *self.of_set)}


@dataclass(frozen=True, slots=True)
class Scores:
    """How well a system did on one set under one protocol, by kind of phrase."""

    dataset: str
    protocol: str
    kinds: Mapping[str, KindScores]

    @property
    def present(self) -> KindScores:
        return self.kinds["present"]

    @property
    def absent(self) -> KindScores:
        return self.kinds["absent"]


def judge(keys: Iterable[str], gold: Mapping[str, int], n_gold: int, enough: int | None = None) -> Answers:
    """At which ranks a gold phrase is named for the first time, by the keys of phrases, best first.

    Equal keys are one answer, at the place of the first; empty ones are none. A gold phrase named a second time by one
    of its alternatives is a wrong answer. Ranks after `enough` do not matter.
    """
    seen: set[str] = set()
    found: set[int] = set()
    ranks: list[int] = []
    for key in keys:
        if not key or key in seen:
            continue
        seen.add(key)
        number = gold.get(key)
        if number is not None and number not in found:
            found.add(number)
            ranks.append(len(seen))
        if enough is not None and len(seen) >= enough:
            break
    return Answers(ranks, len(seen), n_gold)


def score(
    predictions: Sequence[Prediction],
    dataset: Dataset,
    protocol: Protocol = "paper",
    measures: Sequence[str] = METRICS,
    depth: int = DEPTH,
) -> Scores:
    """Compare predictions, one per record and in the same order, with the gold of a set.

    P@k divides by k however few were predicted (missing answers are wrong ones), R@k by the number of
    distinct gold phrases of the kind, F@k is their harmonic mean in each document; `measures` says what the names of
    others mean. Ties are the system's to order: lists are taken as they come, the first `depth` phrases of each.
    """
    kinds: dict[str, list[Answers]] = {"present": [], "absent": []}
    for (present, absent), g in zip(predictions, aligned_truth(predictions, dataset, protocol), strict=True):
        parts = (("present", present, g.present, g.n_present), ("absent", absent, g.absent, g.n_absent))
        for kind, phrases, gold, n_gold in parts:
            if n_gold:
                keys = (phrase_key(phrase, g.variant) for phrase in phrases[:depth])
                kinds[kind].append(judge(keys, gold, n_gold, ranks_needed(measures, n_gold)))
    scores = {kind: kind_scores(answers, measures, len(dataset)) for kind, answers in kinds.items()}
    return Scores(dataset.name, protocol, scores)


def aligned_truth(predictions: Sequence[Prediction], dataset: Dataset, protocol: Protocol) -> Sequence[Gold]:
    """The gold of every record, having made sure that there is one prediction for each."""
    if len(predictions) != len(dataset):
        raise InputError(
            f"There are {len(predictions)} predictions for the {len(dataset)} documents of '{dataset.name}'; "
            "give one for each, in the order of the set."
        )
    return ground_truth(dataset, protocol)


def kind_scores(answers: Sequence[Answers], measures: Sequence[str], documents: int) -> KindScores:
    """The measures of the documents that have gold, out of so many that the set has."""
    known = {name: measure(name) for name in measures}
    by_document = {name: m.by_document(answers) for name, m in known.items() if m.average is None}
    of_set = {name: m.of_set(answers, documents) for name, m in known.items() if m.average is not None}
    return KindScores(len(answers), by_document, of_set)


def average(scores: Sequence[Scores], kind: str) -> dict[str, float]:
    """The plain mean of each metric over the sets that have gold of the kind, small and large; nan where none has."""
    counted = [part for s in scores if (part := s.kinds[kind]).documents]
    metrics = scores[0].kinds[kind].means()
    return {m: sum(part[m] for part in counted) / len(counted) if counted else float("nan") for m in metrics}
