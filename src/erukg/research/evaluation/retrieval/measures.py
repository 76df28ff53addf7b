"""Recall and nDCG as trec_eval computes them, by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.errors import require
from erukg.research.evaluation.retrieval.beir import Qrels

__all__ = ["DEPTH", "MEASURES", "QueryScores", "average", "score"]

DEPTH = 1000
MEASURES = ("R@1000", "R@100", "nDCG@10")

Run = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class QueryScores:
    """Figures of one set as fractions; `by_query` has single values in the order of `queries`."""

    dataset: str
    queries: tuple[str, ...]
    by_query: Mapping[str, NDArray[np.float64]]

    def __getitem__(self, measure: str) -> float:
        return float(self.by_query[measure].mean())

    def means(self) -> dict[str, float]:
        return {measure: self[measure] for measure in self.by_query}


def score(dataset: str, queries: Sequence[str], qrels: Qrels, run: Run) -> QueryScores:
    """Compare what was found, by query id document ids with scores, with the judgements.

    A query for which nothing was found counts 0. Equal scores are ordered as trec_eval does, by document id.
    """
    ir_measures = require("ir_measures", "eval", "Retrieval evaluation")
    require("pytrec_eval", "eval", "Retrieval evaluation")
    rows = {id: i for i, id in enumerate(queries)}
    out = {name: np.zeros(len(queries)) for name in MEASURES}
    wanted = [ir_measures.parse_measure(name) for name in MEASURES]
    judged = {id: dict(qrels[id]) for id in queries}
    found = {id: dict(run[id]) for id in queries if run.get(id)}
    for metric in ir_measures.pytrec_eval.iter_calc(wanted, judged, found):
        out[str(metric.measure)][rows[metric.query_id]] = metric.value
    return QueryScores(dataset, tuple(queries), out)


def average(scores: Sequence[QueryScores]) -> dict[str, float]:
    """The plain mean over sets, small and large alike."""
    return {measure: sum(s[measure] for s in scores) / len(scores) for measure in MEASURES}
