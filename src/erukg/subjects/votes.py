"""What tagged documents that are like a text say of it: each votes for its tags, the more alike the more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection import Collection
from erukg.collection.analysis import Query
from erukg.collection.likeness import NEAREST
from erukg.collection.search import idf
from erukg.core.neighbours import Source
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["NEIGHBOURS", "TaggedDocuments", "Votes"]

Floats: TypeAlias = NDArray[np.float64]
Terms: TypeAlias = NDArray[np.uint64]

#: How many of the most similar documents vote, and how many of them are looked at by themselves.
NEIGHBOURS, _FEW = 100, (5, 20, 50)
# So many are found by BM25, which favours long documents; by the power of their length they stand back.
_FOUND, _LENGTH, _SHORTEST = 150, 0.3, 20
# A word counts for the root of its occurrences, doubly in the title; a rare one for more than its idf.
_IN_TITLE, _RARITY = 2.0, 0.3
# Counts of words are whole numbers to a collection.
_SCALE = 1000
# How much less a neighbour counts that is less alike than the nearest: the power of its score beside that one's.
_SHARPNESS = 4


@dataclass(frozen=True, slots=True)
class Votes:
    """Of each concept that a neighbour carries, ascending.

    shares    its share of the votes of the nearest 5, 20, 50 and all, columns
    sharp     its share where nearness counts for more
    nearest   the place of its nearest carrier, from 0
    likeness  that one's score beside the best one's
    places    Σ 1 / (5 + place) over its carriers
    fit       how much the nearest neighbour shares with the text, of all that there is to share
    fall      the score of the twentieth neighbour beside the best one's
    """

    concepts: NDArray[np.int64]
    shares: Floats
    sharp: Floats
    nearest: NDArray[np.int64]
    likeness: Floats
    places: Floats
    fit: float
    fall: float
    documents: NDArray[np.int64]
    weights: Floats
    carriers: tuple[NDArray[np.int64], NDArray[np.int64]]


class TaggedDocuments:
    """A collection whose documents carry tags, read as concepts of a vocabulary. Thread-safe."""

    def __init__(self, collection: Collection, vocabulary: Vocabulary) -> None:
        self.collection = collection
        self._vocabulary = vocabulary
        self._known: dict[tuple[str, str], int] = {}

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many documents carry each concept."""
        out = np.zeros(len(self._vocabulary), np.int64)
        labels = self.collection.tag_labels()
        for uri, count in self.collection.tag_counts().items():
            concept = self.concept(uri, labels.get(uri, uri))
            if concept >= 0:
                out[concept] += count
        return out

    def concept(self, uri: str, label: str) -> int:
        """The concept that a tag means: that of its URI, or else the one with its label; -1 if there is none."""
        key = uri, label
        found = self._known.get(key)
        if found is None:
            found = self._vocabulary.find(uri)
            if found < 0:
                found = self._vocabulary.find_label(label)
            self._known[key] = found
        return found

    def are_unlike(self, query: Query, id: str | None) -> bool:
        """Whether a text, as the query that it makes, is so unlike the documents that their tags say nothing of it."""
        if self.collection.manifest.likeness is None:
            return False
        hits = self.collection.search_terms(query, NEAREST, exclude=id)
        fit = self.collection.with_fit(query, hits, NEAREST).fit
        return fit is not None and fit < 0

    def votes(self, text: Query, title: Terms, id: str | None) -> Votes | None:
        """The votes for a text; None when no tagged document is like it. The text's own document has none."""
        rarity = idf(self.collection.frequencies(text.terms), len(self.collection))
        query = _weighed(text, title, rarity)
        hits = self.collection.search_terms(query, _FOUND, exclude=id)
        if not len(hits.documents):
            return None
        lengths = np.maximum(self.collection.lengths(hits.documents), _SHORTEST)
        scores = hits.scores.astype(np.float64) / lengths**_LENGTH
        order = np.argsort(-scores, kind="stable")[:NEIGHBOURS]
        tags = self.collection.tags_of(hits.documents[order])
        held = [sorted({c for tag in each if (c := self.concept(tag.uri, tag.label)) >= 0}) for each in tags]
        kept = np.flatnonzero([len(each) > 0 for each in held])
        if not len(kept):
            return None
        documents, scores = hits.documents[order][kept], scores[order][kept]
        places = np.repeat(np.arange(len(kept)), [len(held[k]) for k in kept])
        flat = np.array([concept for k in kept.tolist() for concept in held[k]], np.int64)
        concepts, row = np.unique(flat, return_inverse=True)
        n = len(concepts)
        shares = np.stack([_voted(scores[:few], places, row, n) for few in (*_FEW, NEIGHBOURS)], 1)
        sharp = (scores / scores[0]) ** _SHARPNESS
        nearest = np.full(n, len(kept))
        np.minimum.at(nearest, row, places)
        # What a document as long as this text would score that said the same.
        own = max(int(text.counts.sum()), _SHORTEST) ** _LENGTH
        most = float(query.counts @ rarity)
        return Votes(
            concepts,
            shares,
            _voted(sharp, places, row, n),
            nearest,
            scores[nearest] / scores[0],
            np.bincount(row, 1 / (5.0 + places), n).astype(np.float64),
            fit=float(scores[0]) * own / most if most > 0 else 0.0,
            fall=float(scores[min(19, len(scores) - 1)] / scores[0]),
            documents=documents,
            weights=sharp / sharp.sum(),
            carriers=(row, places),
        )

    def sources(self, votes: Votes, rows: Sequence[int], most: int) -> list[tuple[Source, ...]]:
        """The nearest carriers of the concepts in these rows of the votes."""
        row, places = votes.carriers
        chosen = [places[row == each][:most] for each in rows]
        used = np.unique(np.concatenate([np.empty(0, np.int64), *chosen]))
        documents, weights = votes.documents[used], votes.weights[used].tolist()
        ids, titles = self.collection.ids(documents), self.collection.titles(documents)
        known = dict(zip(used.tolist(), map(Source, ids, weights, titles), strict=True))
        return [tuple(known[place] for place in each.tolist()) for each in chosen]


def _voted(weights: Floats, places: NDArray[np.int64], row: NDArray[np.int64], n: int) -> Floats:
    """The share that each of n rows has of the weights of the first neighbours."""
    inside = places < len(weights)
    total: Floats = np.bincount(row[inside], weights[places[inside]], n) / weights.sum()
    return total


def _weighed(text: Query, title: Terms, rarity: Floats) -> Query:
    """A text as a query whose terms count by how often they occur and how rare they are, more in the title."""
    weights = np.sqrt(text.counts)
    weights[np.isin(text.terms, title)] *= _IN_TITLE
    weights *= rarity**_RARITY
    return Query(text.terms, np.rint(_SCALE * weights).astype(np.int64), text.key)
