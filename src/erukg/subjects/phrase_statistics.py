"""How writers use a phrase, by the generator's collection: what is only a word is told from what names a subject."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erukg.collection import Collection
from erukg.collection.analysis import terms_of
from erukg.core.hashing import hash_phrases
from erukg.core.neighbours import Neighbourhood
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["NEIGHBOURS", "Lent", "PhraseStatistics", "Usage"]

_REMEMBERED = 1 << 16
#: Neighbours in the collection that are asked for their phrases.
NEIGHBOURS = 400


class Usage(NamedTuple):
    """Logarithms, of one phrase.

    frequency  the share of the documents that have its rarest word
    keyness    how many documents it is a keyphrase of, beside how many have its rarest word
    titled     how many of the first have it in their title
    """

    frequency: float
    keyness: float
    titled: float


class Lent(NamedTuple):
    """Concepts whose label is a keyphrase of similar documents, ascending; its share of them all and of the nearest."""

    concepts: NDArray[np.int64]
    shares: NDArray[np.float64]
    nearest: NDArray[np.float64]

    @staticmethod
    def none() -> Lent:
        return Lent(np.empty(0, np.int64), np.empty(0), np.empty(0))


#: What is taken for granted where there is no collection to tell.
_UNKNOWN = Usage(-6.0, -4.0, -2.0)


class PhraseStatistics:
    """Looks phrases up in a collection and remembers them. Thread-safe."""

    def __init__(self, collection: Collection | None, vocabulary: Vocabulary) -> None:
        self._collection = collection
        self._known: dict[str, Usage] = {}
        self._concepts = np.empty(0, np.int64)
        if collection is not None:
            hashes = collection.glossary.hashes(np.arange(len(collection.glossary)))
            folds = vocabulary.label_folds
            if len(folds) and len(hashes):
                place = np.minimum(np.searchsorted(folds, hashes), len(folds) - 1)
                self._concepts = np.where(folds[place] == hashes, vocabulary.label_owners[place], -1).astype(np.int64)

    def usage(self, folds: Sequence[str]) -> list[Usage]:
        """Of each of these folded phrases."""
        if self._collection is None:
            return [_UNKNOWN] * len(folds)
        known = self._known
        missing = [each for each in dict.fromkeys(folds) if each not in known]
        if len(known) + len(missing) > _REMEMBERED:
            # A fresh dict, not clear(): another thread may be reading the old one.
            known, missing = {}, list(dict.fromkeys(folds))
        if missing:
            known.update(zip(missing, self._look_up(self._collection, missing), strict=True))
            self._known = known
        return [known[each] for each in folds]

    def lent(self, text: str, id: str | None, found: Neighbourhood | None = None) -> Lent:
        """Concepts that the phrases of similar documents speak for; none for texts unlike all of them.

        Those documents are searched for unless `found` has them.
        """
        if self._collection is None or not np.any(self._concepts >= 0):
            return Lent.none()
        if found is None:
            found = self._collection.neighbourhood(text, NEIGHBOURS, exclude=id)
        if not len(found.phrase_ids) or found.support is None or (found.fit is not None and found.fit < 0):
            return Lent.none()
        return self._among(found)

    def _among(self, found: Neighbourhood) -> Lent:
        assert found.support is not None
        assert self._collection is not None
        concepts = self._concepts[found.phrase_ids]
        chosen = np.flatnonzero(concepts >= 0)
        counts = self._collection.glossary.counts(found.phrase_ids[chosen])
        # A phrase that all the collection has says little of this text.
        weight = found.phrase_shares[chosen] * np.log1p(len(self._collection) / np.maximum(counts, 1))
        order = chosen[np.argsort(-weight, kind="stable")]
        distinct, first = np.unique(concepts[order], return_index=True)
        rows = order[first]
        return Lent(distinct, found.phrase_shares[rows].astype(np.float64), found.support.few[rows].astype(np.float64))

    def _look_up(self, collection: Collection, folds: Sequence[str]) -> list[Usage]:
        terms = [np.unique(terms_of(each)) for each in folds]
        every = np.unique(np.concatenate([np.empty(0, np.uint64), *terms]))
        frequencies = collection.frequencies(every)
        numbers = collection.glossary.find(hash_phrases(list(folds)))
        listed = np.flatnonzero(numbers >= 0)
        counts, titled = np.zeros(len(folds), np.int64), np.zeros(len(folds), np.int64)
        counts[listed] = collection.glossary.counts(numbers[listed])
        titled[listed] = collection.glossary.titled(numbers[listed])
        documents = max(len(collection), 1)
        out = []
        for own, count, in_title in zip(terms, counts.tolist(), titled.tolist(), strict=True):
            rarest = int(frequencies[np.searchsorted(every, own)].min()) if len(own) else documents
            keyness = math.log1p(count) - math.log1p(rarest)
            part = math.log1p(in_title) - math.log1p(count) if count else -6.0
            out.append(Usage(math.log((rarest + 1) / (documents + 1)), keyness, part))
        return out
