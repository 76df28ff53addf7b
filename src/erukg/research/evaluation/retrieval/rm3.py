"""RM3: a query made longer by what its best documents have in common (Abdul-Jaleel et al., 2004).

As in Anserini, which most published RM3 figures come from: the query's first results weigh in with their
BM25 scores, each with its most frequent terms as a distribution; rare spellings and words of more than a
tenth of all documents do not take part; equal weights are ordered by the alphabet.

    P(t|R) ∝ Σ_d score(d) · tf(t, d) / Σ_t' tf(t', d)        over the best terms of the best documents
    weight(t) = w · P(t|query) + (1 - w) · P(t|R)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from erukg.research.evaluation.retrieval.index import Index

__all__ = ["RM3", "mixed"]

_USABLE = re.compile(r"[a-z0-9]{2,20}")
_MOST_DOCUMENTS = 0.1  # a term in a larger share of all documents says nothing


@dataclass(frozen=True, slots=True)
class RM3:
    """How many feedback documents and terms, and the weight w of the query itself."""

    documents: int = 10
    terms: int = 10
    weight: float = 0.5

    def expand(self, query: Mapping[str, float], index: Index) -> dict[str, float]:
        """The weights of the longer query; both parts have the sum 1 before they are mixed."""
        model = self.relevance_model(query, index)
        if not model:
            return mixed([(1.0, query)])
        return mixed([(self.weight, query), (1 - self.weight, model)])

    def relevance_model(self, query: Mapping[str, float], index: Index) -> dict[str, float]:
        """P(t|R), the best terms only, with the sum 1."""
        found = index.search(query, self.documents)
        total: dict[str, float] = {}
        for document, score in zip(found.documents.tolist(), found.scores.tolist(), strict=True):
            counts = {s: c for s, c in index.terms_of(document).items() if self._takes_part(s, index)}
            for stem, value in _to_one(_best(counts, self.terms)).items():
                total[stem] = total.get(stem, 0.0) + score * value
        return _to_one(_best(total, self.terms))

    def _takes_part(self, stem: str, index: Index) -> bool:
        if not _USABLE.fullmatch(stem):
            return False
        return bool(index.frequencies[index.numbers[stem]] <= _MOST_DOCUMENTS * index.size)


def mixed(parts: Iterable[tuple[float, Mapping[str, float]]]) -> dict[str, float]:
    """One query of several: each part gets the sum that stands before it, and an empty one nothing."""
    out: dict[str, float] = {}
    for mass, weights in parts:
        for stem, value in _to_one(weights).items():
            out[stem] = out.get(stem, 0.0) + mass * value
    return out


def _best(weights: Mapping[str, float], n: int) -> dict[str, float]:
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:n])


def _to_one(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {stem: value / total for stem, value in weights.items()} if total > 0 else {}
