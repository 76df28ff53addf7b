"""BM25 with weighted query terms over texts in memory, in one field or in two.

The analysis is that of collections (`erukg.collection.analysis`), the formula Lucene's with exact lengths:

    Σ_t weight(t) · ln(1 + (N - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · length / average))

A field beside the text has df, length and average of its own, and its score is added with a boost, as an engine does
with `text` and `keyphrases^0.4`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import stems
from erukg.collection.search import idf
from erukg.errors import InputError

__all__ = ["K1", "B", "Fields", "Found", "Index", "Postings", "Scorer", "TokenisedCorpus", "best", "query_weights"]

K1 = 0.9
B = 0.4


def query_weights(text: str) -> dict[str, float]:
    """How often each stem stands in the text: the plain BM25 query."""
    return {stem: float(count) for stem, count in Counter(stems(text)).items()}


@dataclass(frozen=True, eq=False)
class TokenisedCorpus:
    """Texts as numbered stems: `terms[i]` stands in the text number `documents[i]`."""

    size: int
    numbers: Mapping[str, int]
    documents: NDArray[np.int32]
    terms: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Iterable[str]) -> TokenisedCorpus:
        return _tokenise({}, texts)

    def field(self, texts: Iterable[str]) -> TokenisedCorpus:
        """Another field of the same documents, with the same numbers for the same stems."""
        out = _tokenise(self.numbers, texts)
        if out.size != self.size:
            raise InputError(f"There are {out.size} texts to add to {self.size}; give one for each.")
        return out

    def extended(self, texts: Iterable[str]) -> TokenisedCorpus:
        """Each text with another one behind it; `texts` has one for each, in order."""
        more = self.field(texts)
        documents = np.concatenate((self.documents, more.documents))
        return TokenisedCorpus(self.size, more.numbers, documents, np.concatenate((self.terms, more.terms)))


def _tokenise(known: Mapping[str, int], texts: Iterable[str]) -> TokenisedCorpus:
    numbers = dict(known)
    documents, terms = array("i"), array("i")
    size = 0
    for text in texts:
        found = [numbers.setdefault(stem, len(numbers)) for stem in stems(text)]
        terms.extend(found)
        documents.extend(repeat(size, len(found)))
        size += 1
    return TokenisedCorpus(size, numbers, np.frombuffer(documents, np.int32), np.frombuffer(terms, np.int32))


@dataclass(frozen=True, slots=True)
class Found:
    """Documents by number, best first, with their scores."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]


def best(scores: NDArray[np.float64], n: int) -> Found:
    """The best `n` documents with a score above 0; of equal scores the earlier one comes first."""
    found = np.flatnonzero(scores > 0)
    if len(found) > n:
        least = np.partition(scores[found], -n)[-n]
        found = found[scores[found] >= least]
    order = np.lexsort((found, -scores[found]))[:n]
    return Found(found[order], scores[found[order]])


class Postings:
    """By term the documents that hold it, each with what it adds to the document's score."""

    def __init__(
        self, terms: NDArray[np.int32], documents: NDArray[np.int32], impacts: NDArray[np.floating], vocabulary: int
    ) -> None:
        order = np.argsort(terms, kind="stable")
        self._documents, self._impacts = documents[order], impacts[order]
        self.frequencies = np.bincount(terms, minlength=vocabulary)
        """In how many documents each term stands."""
        self._offsets = np.concatenate(([0], np.cumsum(self.frequencies)))

    def add(self, scores: NDArray[np.float64], term: int, factor: float) -> None:
        """Add the term's impacts, times the factor, to the scores of its documents."""
        part = slice(self._offsets[term], self._offsets[term + 1])
        scores[self._documents[part]] += factor * self._impacts[part]


class Scorer(Protocol):
    """What gives every document a score for a weighted query."""

    def scores(self, weights: Mapping[str, float]) -> NDArray[np.float64]: ...


class Index:
    """Posting lists for search, and the documents' own terms for feedback."""

    def __init__(self, corpus: TokenisedCorpus, k1: float = K1, b: float = B) -> None:
        self.size = corpus.size
        self.numbers = corpus.numbers
        self.stems = list(corpus.numbers)
        width = max(len(self.stems), 1)
        pairs, counts = np.unique(corpus.documents.astype(np.int64) * width + corpus.terms, return_counts=True)
        documents, terms = (pairs // width).astype(np.int32), (pairs % width).astype(np.int32)
        self._own_terms, self._own_counts = terms, counts.astype(np.int32)
        self._own_offsets = np.searchsorted(documents, np.arange(self.size + 1))
        lengths = np.bincount(corpus.documents, minlength=self.size)
        scale = k1 * (1 - b + b * lengths / max(float(lengths.mean()), 1e-9)) if self.size else lengths
        self._postings = Postings(terms, documents, counts / (counts + scale[documents]), len(self.stems))
        self.frequencies = self._postings.frequencies
        self.idf = idf(self.frequencies, self.size)

    def scores(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        """Every document's score; 0 for one without a term of the query."""
        out = np.zeros(self.size)
        for stem in sorted(weights):  # one order of adding, so that a query's scores never differ in a last digit
            number = self.numbers.get(stem)
            if number is not None:
                self._postings.add(out, number, weights[stem] * self.idf[number])
        return out

    def search(self, weights: Mapping[str, float], n: int) -> Found:
        """The best `n` documents that hold a term of the query; of equal scores the earlier one comes first."""
        return best(self.scores(weights), n)

    def numbers_of(self, document: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The terms of a document by number, and how often each stands in it."""
        part = slice(self._own_offsets[document], self._own_offsets[document + 1])
        return self._own_terms[part], self._own_counts[part]

    def terms_of(self, document: int) -> dict[str, int]:
        """The stems of a document with how often each stands in it."""
        terms, counts = self.numbers_of(document)
        return {self.stems[term]: count for term, count in zip(terms.tolist(), counts.tolist(), strict=True)}


@dataclass(frozen=True, slots=True)
class Fields:
    """The text and a field beside it, both searched with the same query and each by its own statistics."""

    text: Index
    field: Index
    boost: float

    def scores(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        return self.text.scores(weights) + self.boost * self.field.scores(weights)
