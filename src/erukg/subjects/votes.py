"""What tagged documents that are like a text say of it: each votes for its tags, the more alike the more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection import Collection
from erukg.collection.analysis import Query, terms_of
from erukg.collection.likeness import NEAREST
from erukg.collection.search import idf
from erukg.core.neighbours import Source
from erukg.subjects.centres import Centres
from erukg.subjects.concepts import matching_form
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["NEIGHBOURS", "Asked", "TaggedDocuments", "Votes"]

Floats: TypeAlias = NDArray[np.float64]
Terms: TypeAlias = NDArray[np.uint64]

#: How many of the most similar documents vote, and how many of them are looked at by themselves.
NEIGHBOURS, _FEW = 100, (5, 20, 50)
# So many are found by BM25, which favours long documents; by the power of their length they stand back.
_FOUND, _LENGTH, _SHORTEST = 450, 0.3, 20
# So many are asked about a concept that few name, and how much less those count that are less alike.
_ASKED, _ASKED_SHARPNESS, _SHARPNESS_OF_LIKES = 300, 4, 2
# What is known before any document is asked counts as this many: that one in ten indexers chooses what a text names,
# that none chooses what it does not, and then what all that are asked say.
_NAMED, _DOUBT, _FEW_DOUBT = 0.1, 5.0, 1.5
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
    asked: Asked


@dataclass(frozen=True, slots=True)
class Asked:
    """The neighbours that are asked about concepts, the most alike first: how alike, and the concepts they carry."""

    documents: NDArray[np.int64]
    scores: Floats
    carried: tuple[NDArray[np.int64], NDArray[np.int64]]


class TaggedDocuments:
    """A collection whose documents carry tags, read as concepts of a vocabulary. Thread-safe."""

    def __init__(self, collection: Collection, vocabulary: Vocabulary) -> None:
        self.collection = collection
        self._vocabulary = vocabulary
        self._known: dict[tuple[str, str], int] = {}
        self._terms: dict[int, list[NDArray[np.uint64]]] = {}

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

    @cached_property
    def centres(self) -> Centres:
        """The centres of the documents that carry each concept."""
        return Centres(self.collection, self.concept, len(self._vocabulary))

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
        order = np.argsort(-scores, kind="stable")[:_ASKED]
        flat, counts = self.centres.carried_by(hits.documents[order])
        kept = np.flatnonzero(counts)
        if not len(kept):
            return None
        documents, scores = hits.documents[order][kept], scores[order][kept]
        places = np.repeat(np.arange(len(kept)), counts[kept])
        asked = Asked(documents, scores, (flat, places))
        documents, scores = documents[:NEIGHBOURS], scores[:NEIGHBOURS]
        flat, places = flat[places < NEIGHBOURS], places[places < NEIGHBOURS]
        concepts, row = np.unique(flat, return_inverse=True)
        n = len(concepts)
        shares = np.stack([_voted(scores[:few], places, row, n) for few in (*_FEW, NEIGHBOURS)], 1)
        sharp = (scores / scores[0]) ** _SHARPNESS
        nearest = np.full(n, len(scores))
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
            asked=asked,
        )

    def likewise(self, asked: Asked, terms: Terms, concepts: NDArray[np.int64], present: NDArray[np.bool_]) -> Floats:
        """How likely each of some concepts, ascending, is to be carried by documents like the text that name it, or
        that do not name it, as the text does or does not: what a text names is given more readily, and whatever is
        given without a name, as "Humans" is, is told from what is not.
        """
        carried = np.zeros((len(concepts), len(asked.documents)), np.bool_)
        flat, places = asked.carried
        at = np.searchsorted(concepts, flat)
        known = np.flatnonzero(np.isin(flat, concepts))
        carried[at[known], places[known]] = True
        naming = self._naming(asked.documents, terms, concepts)
        same = naming[:, :-1] == (naming[:, -1] | present)[:, None]
        right, alike = carried & same, asked.scores / asked.scores[0]
        expected: Floats = np.where(present, _NAMED, 0.0)
        for weights, doubt in (
            (alike**_ASKED_SHARPNESS, _DOUBT),
            (np.where(np.arange(len(alike)) < NEIGHBOURS, alike**_SHARPNESS_OF_LIKES, 0), _FEW_DOUBT),
        ):
            expected = (right @ weights + doubt * expected) / (same @ weights + doubt)
        return expected

    def _naming(self, documents: NDArray[np.int64], terms: Terms, concepts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the documents, and last of all the text, have all words of a label of each concept, a row each."""
        labels = [self._label_terms(concept) for concept in concepts.tolist()]
        words = [label for each in labels for label in each]
        every, place = np.unique(np.concatenate([np.empty(0, np.uint64), *words]), return_inverse=True)
        held = np.concatenate((self.collection.holding(documents, every), np.isin(every, terms)[:, None]), 1)
        whole = np.logical_and.reduceat(held[place], np.cumsum([0, *map(len, words[:-1])]), 0) if words else held
        out = np.zeros((len(concepts), held.shape[1]), np.bool_)
        np.logical_or.at(out, np.repeat(np.arange(len(labels)), [len(each) for each in labels]), whole)
        return out

    def _label_terms(self, concept: int) -> list[NDArray[np.uint64]]:
        """The terms of each of a concept's labels, of those with the same ones the first."""
        found = self._terms.get(concept)
        if found is None:
            texts = (self._vocabulary.label_text(int(label)) for label in self._vocabulary.labels_of(concept))
            terms = (np.unique(terms_of(matching_form(text))) for text in texts)
            found = self._terms[concept] = list({each.tobytes(): each for each in terms if len(each)}.values())
        return found

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
