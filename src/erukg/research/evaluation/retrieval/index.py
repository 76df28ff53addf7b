"""BM25 with weighted query terms over texts in memory.

The analysis is that of collections (`erukg.collection.analysis`), the formula Lucene's with exact lengths:

    Σ_t weight(t) · ln(1 + (N - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · length / average))
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import stems
from erukg.collection.search import idf
from erukg.errors import InputError

__all__ = ["K1", "B", "Found", "Index", "TokenisedCorpus", "query_weights"]

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
        empty = np.empty(0, np.int32)
        return _add(cls(0, {}, empty, empty), texts)

    def extended(self, texts: Iterable[str]) -> TokenisedCorpus:
        """Each text with another one behind it; `texts` has one for each, in order."""
        out = _add(self, texts)
        if out.size != self.size:
            raise InputError(f"There are {out.size} texts to add to {self.size}; give one for each.")
        return out


def _add(corpus: TokenisedCorpus, texts: Iterable[str]) -> TokenisedCorpus:
    numbers = dict(corpus.numbers)
    documents, terms = array("i"), array("i")
    size = 0
    for text in texts:
        found = [numbers.setdefault(stem, len(numbers)) for stem in stems(text)]
        terms.extend(found)
        documents.extend(repeat(size, len(found)))
        size += 1
    return TokenisedCorpus(
        size,
        numbers,
        np.concatenate((corpus.documents, np.frombuffer(documents, np.int32))),
        np.concatenate((corpus.terms, np.frombuffer(terms, np.int32))),
    )


@dataclass(frozen=True, slots=True)
class Found:
    """Documents by number, best first, with their scores."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]


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
        self.frequencies = np.bincount(terms, minlength=len(self.stems))
        """In how many documents each stem stands."""
        self._idf = idf(self.frequencies, self.size)
        lengths = np.bincount(corpus.documents, minlength=self.size)
        scale = k1 * (1 - b + b * lengths / max(float(lengths.mean()), 1e-9)) if self.size else lengths
        order = np.argsort(terms, kind="stable")
        self._documents = documents[order]
        self._impacts = (counts / (counts + scale[documents]))[order]
        self._offsets = np.concatenate(([0], np.cumsum(self.frequencies)))

    def search(self, weights: Mapping[str, float], n: int) -> Found:
        """The best `n` documents that hold a term of the query; of equal scores the earlier one comes first."""
        scores = np.zeros(self.size)
        for stem in sorted(weights):  # one order of adding, so that a query's scores never differ in a last digit
            number = self.numbers.get(stem)
            if number is not None:
                part = slice(self._offsets[number], self._offsets[number + 1])
                scores[self._documents[part]] += weights[stem] * self._idf[number] * self._impacts[part]
        found = np.flatnonzero(scores > 0)
        if len(found) > n:
            least = np.partition(scores[found], -n)[-n]
            found = found[scores[found] >= least]
        order = np.lexsort((found, -scores[found]))[:n]
        return Found(found[order], scores[found[order]])

    def terms_of(self, document: int) -> dict[str, int]:
        """The stems of a document with how often each stands in it."""
        part = slice(self._own_offsets[document], self._own_offsets[document + 1])
        pairs = zip(self._own_terms[part].tolist(), self._own_counts[part].tolist(), strict=True)
        return {self.stems[term]: count for term, count in pairs}
