"""Queries made longer for a search engine: phrases with weights, beside which the query's own words keep theirs.

A query of n words, each with boost 1, shares its mass with what is added: of λ/(1 - λ) · n, the phrases in the query
get two thirds, which gives its important words more weight, and those from the collection one third; terms, when they
are asked for, get another third. Within a kind

    weight(c) ∝ score(c) for present phrases and terms, √score(c) for absent phrases,

so that Σ weight(c) · words(c) is the kind's mass. Every kind has its own mass as scores of different kinds are not on
one scale; the root is taken as those of absent phrases fall steeply.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from erukg.core.inputs import checked_count
from erukg.core.results import Keyphrases, Notice, remarks
from erukg.core.search_words import search_words
from erukg.errors import InputError

__all__ = ["ExpandedQuery", "QueryOptions", "SearchPhrase", "weigh_query"]

_PRESENT, _ABSENT, _TERMS = 2 / 3, 1 / 3, 1 / 3
_MOST = 1000  # phrases or words of a kind
_DIGITS = 4  # of a weight: more would say nothing and make queries longer


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How a query is expanded.

    weight   λ, the share of the longer query that its phrases have
    present  how many phrases of the query itself, at most
    absent   how many phrases of similar documents, at most
    terms    how many of the model's best words that the query does not have, at most
    """

    weight: float = 0.3
    present: int = 10
    absent: int = 20
    terms: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.weight, int | float) or not 0 <= self.weight <= 0.9:
            raise InputError(f"The weight of expansion is a number from 0 to 0.9, not {self.weight!r}.")
        for name in ("present", "absent", "terms"):
            checked_count(getattr(self, name), name, _MOST)


@dataclass(frozen=True, slots=True)
class SearchPhrase:
    """Words to search for beside a query, each with this weight; `kind` is "present", "absent" or "term"."""

    phrase: str
    kind: str
    weight: float

    def to_dict(self) -> dict[str, Any]:
        return {"phrase": self.phrase, "kind": self.kind, "weight": self.weight}


@dataclass(frozen=True, slots=True)
class ExpandedQuery:
    """A query and what to search for beside it; the query's own words have weight 1."""

    text: str
    phrases: tuple[SearchPhrase, ...] = ()
    id: str | None = None
    error: str | None = None
    notices: tuple[Notice, ...] = ()

    def word_weights(self) -> dict[str, float]:
        """Every word to search for, lower-case, with its whole weight; for engines that take single terms."""
        out: dict[str, float] = {}
        for word in search_words(self.text):
            out[word] = out.get(word, 0.0) + 1.0
        for phrase in self.phrases:
            for word in search_words(phrase.phrase):
                out[word] = out.get(word, 0.0) + phrase.weight
        return out

    def to_dict(self) -> dict[str, Any]:
        """`{"id", "text", "phrases": [{"phrase", "kind", "weight"}]}`, and `notices` and `error` if any."""
        phrases = [phrase.to_dict() for phrase in self.phrases]
        return {"id": self.id, "text": self.text, "phrases": phrases, **remarks(self.notices, self.error)}


def weigh_query(
    text: str, found: Keyphrases, terms: Iterable[tuple[str, float]] = (), options: QueryOptions | None = None
) -> ExpandedQuery:
    """The query with the phrases that were found for it, and perhaps single `terms` with their scores, weighted."""
    chosen = options or QueryOptions()
    mass = chosen.weight / (1 - chosen.weight) * len(search_words(text))
    present = {k.phrase: k.score for k in found.present[: chosen.present]}
    absent = {k.phrase: math.sqrt(max(k.score, 0.0)) for k in found.absent[: chosen.absent]}
    phrases = (
        *_weighted(present, "present", _PRESENT * mass),
        *_weighted(absent, "absent", _ABSENT * mass),
        *_weighted(dict(terms), "term", _TERMS * mass),
    )
    return ExpandedQuery(text, phrases, found.id, notices=found.notices)


def _weighted(scores: Mapping[str, float], kind: str, mass: float) -> list[SearchPhrase]:
    total = sum(score * len(search_words(phrase)) for phrase, score in scores.items() if score > 0)
    if not total or not mass:
        return []
    weights = {phrase: _rounded(mass * score / total) for phrase, score in scores.items() if score > 0}
    return [SearchPhrase(phrase, kind, weight) for phrase, weight in weights.items() if weight > 0]


def _rounded(weight: float) -> float:
    return float(f"{weight:.{_DIGITS}g}")
