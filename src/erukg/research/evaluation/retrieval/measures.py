"""nDCG and recall as trec_eval computes them, by query, and recall that is no better for longer lists alone.

A longer query matches more documents, and where most queries match fewer than 1,000 documents, more of them is more
recall whatever they are. `R@1000 padded` takes that away: every run is filled up to 1,000 with the documents it lacks
in random order, and the mean over all orders is

    R@1000 + relevant documents not found / relevant documents · (1000 - n) / (N - n)

of a query with n documents found in a corpus of N. So it needs no seed and has no luck in it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.errors import require
from erukg.research.evaluation.retrieval.beir import Qrels

__all__ = ["DEPTH", "MEASURES", "PADDED", "QueryScores", "average", "score"]

DEPTH = 1000
PADDED = "R@1000 padded"
_TREC = ("nDCG@10", "R@100", "R@1000")
MEASURES = ("nDCG@10", "R@100", PADDED, "R@1000")
"""The most telling first; the last is what others publish."""

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


def score(dataset: str, queries: Sequence[str], qrels: Qrels, run: Run, documents: Collection[str]) -> QueryScores:
    """Compare what was found, by query id document ids with scores, with the judgements.

    A query for which nothing was found counts 0. Equal scores are ordered as trec_eval does, by document id.
    `documents` are the ids of the whole corpus.
    """
    ir_measures = require("ir_measures", "eval", "Retrieval evaluation")
    require("pytrec_eval", "eval", "Retrieval evaluation")
    rows = {id: i for i, id in enumerate(queries)}
    out = {name: np.zeros(len(queries)) for name in MEASURES}
    wanted = [ir_measures.parse_measure(name) for name in _TREC]
    judged = {id: dict(qrels[id]) for id in queries}
    found = {id: dict(run[id]) for id in queries if run.get(id)}
    for metric in ir_measures.pytrec_eval.iter_calc(wanted, judged, found):
        out[str(metric.measure)][rows[metric.query_id]] = metric.value
    gained = [_by_padding(judged[id], found.get(id, {}), documents) for id in queries]
    out[PADDED] = out["R@1000"] + gained
    return QueryScores(dataset, tuple(queries), out)


def _by_padding(grades: Mapping[str, int], found: Collection[str], documents: Collection[str]) -> float:
    """What documents in random order after those found add to recall at 1000, on average."""
    relevant = [id for id, grade in grades.items() if grade > 0]
    missed = sum(id in documents and id not in found for id in relevant)
    room, rest = DEPTH - len(found), len(documents) - len(found)
    return missed / len(relevant) * min(1.0, room / rest) if missed and room > 0 else 0.0


def average(scores: Sequence[QueryScores]) -> dict[str, float]:
    """The plain mean over sets, small and large alike."""
    return {measure: sum(s[measure] for s in scores) / len(scores) for measure in MEASURES}
