"""How near a text lies to the documents that carry a concept, all of them together: to their centre.

Similar documents say little of a concept that few carry, and each of them says what it happens to say. The centre of a
concept's documents keeps what these have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection import Collection
from erukg.collection.analysis import Query
from erukg.collection.arrays import PackedLists, offsets_of
from erukg.collection.search import idf
from erukg.core.hashing import hash_phrases
from erukg.core.kernels import kernel

__all__ = ["Centres"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

# A centre whose length squared is no more is that of nothing.
_NOTHING = 1e-9


class Centres:
    """The centres of the concepts that the documents of a collection carry. Thread-safe.

    A document is a direction: its distinct words, each as long as its idf. A centre is the sum of such directions, of
    length 1 each, over the documents that carry the concept. Of the centres only the lengths are kept, since how near a
    text lies to one is the sum of how near it lies to the documents.
    """

    def __init__(self, collection: Collection, concept: Callable[[str, str], int], concepts: int) -> None:
        """`concept` gives the number of a tag's concept, of so many, by URI and label; -1 where it has none."""
        self._collection = collection
        self._documents = collection.documents()
        self._texts, self._ids = _names(collection)
        starts, carried = _carried(collection, concept, concepts)
        self._lengths, self._squares = _measured(collection, starts, carried, concepts)
        self._held = PackedLists(carried, offsets_of(np.diff(starts)))
        owners = np.repeat(np.arange(len(self._documents)), np.diff(starts))
        counts = np.bincount(carried, minlength=concepts)
        self._carriers = PackedLists(owners[np.argsort(carried, kind="stable")], offsets_of(counts))

    def carried_by(self, documents: Ints) -> tuple[Ints, Ints]:
        """The concepts of each of some documents, ascending and end to end, and how many each carries."""
        held = self._held.take(np.searchsorted(self._documents, documents))
        return held.values, np.diff(held.offsets)

    def nearness(self, text: Query, id: str | None, concepts: Ints) -> Floats:
        """The cosine between a text and the centre of each of some concepts, 0 where no document carries one.

        The text's own document does not count: it is left out of the centres that it belongs to.
        """
        rarity = idf(self._collection.frequencies(text.terms), len(self._collection)) ** 2
        own = max(float(np.sqrt(rarity.sum())), _NOTHING)
        likeness = self._collection.summed(text.terms, rarity)[self._documents] / (self._lengths * own)
        carriers = self._carriers.take(concepts)
        row, flat = np.repeat(np.arange(len(concepts)), np.diff(carriers.offsets)), carriers.values
        sums = np.bincount(row, likeness[flat], len(concepts))
        squares = self._squares[concepts]
        itself = self._texts == np.uint64(text.key)
        if id is not None:
            itself |= self._ids == hash_phrases([id])[0]
        if itself.any():
            times = np.bincount(row, itself[flat], len(concepts))
            squares = squares - 2 * times * sums + times**2
            sums = sums - np.bincount(row, (likeness * itself)[flat], len(concepts))
        return np.where(squares > _NOTHING, sums / np.sqrt(np.maximum(squares, _NOTHING)), 0.0)


def _names(collection: Collection) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The numbers of the documents' texts, and the hashes of their ids."""
    none = np.empty(0, np.uint64)
    parts = [(segment.texts[rows], segment.ids.hashes()[rows]) for segment, rows in collection.live_rows()]
    return np.concatenate([none, *(texts for texts, _ in parts)]), np.concatenate([none, *(ids for _, ids in parts)])


def _carried(collection: Collection, concept: Callable[[str, str], int], concepts: int) -> tuple[Ints, Ints]:
    """The concepts that document i carries are carried[starts[i]:starts[i + 1]]; each is named once."""
    pairs, before = [np.empty(0, np.int64)], 0
    for segment, rows in collection.live_rows():
        held, counts = segment.tags.held(rows)
        used = np.flatnonzero(counts)
        known = np.full(len(counts), -1)
        known[used] = [concept(tag.uri, tag.label) for tag in segment.tags.table(used)]
        owner = np.repeat(np.arange(before, before + len(rows)), np.diff(held.offsets))
        flat = known[held.values]
        # Two tags of a document may mean one concept.
        pairs.append(np.unique((owner * concepts + flat)[flat >= 0]))
        before += len(rows)
    owners, carried = np.divmod(np.concatenate(pairs), max(concepts, 1))
    return np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=before)))), carried


def _measured(collection: Collection, starts: Ints, carried: Ints, concepts: int) -> tuple[Floats, Floats]:
    """The lengths of all documents, and the squares of those of the centres."""
    postings = collection.joined_postings()
    rarity = idf(postings.frequencies, postings.documents) ** 2
    lengths, squares = np.zeros(postings.documents), np.zeros(concepts)
    for terms, local, documents, _ in postings.parts():
        lengths += np.bincount(documents, np.repeat(rarity[terms], np.diff(local)), len(lengths))
    lengths = np.maximum(np.sqrt(lengths), _NOTHING)
    sums, found = np.zeros(concepts), np.empty(concepts, np.int64)
    for terms, local, documents, _ in postings.parts():
        _add_squares(local, documents, rarity[terms], 1 / lengths, starts, carried, sums, found, squares)
    return lengths, squares


@kernel()
def _add_squares(
    indptr: Ints,
    documents: NDArray[np.int32],
    rarity: Floats,
    shares: Floats,
    starts: Ints,
    carried: Ints,
    sums: Floats,
    found: Ints,
    squares: Floats,
) -> None:
    """Add to the centres' squares what some terms have in them; `sums`, all 0, and `found` are room to work in."""
    for t in range(indptr.size - 1):
        count = 0
        for j in range(indptr[t], indptr[t + 1]):
            d = documents[j]
            for k in range(starts[d], starts[d + 1]):
                concept = carried[k]
                if sums[concept] == 0:
                    found[count] = concept
                    count += 1
                sums[concept] += shares[d]
        for k in range(count):
            squares[found[k]] += rarity[t] * sums[found[k]] ** 2
            sums[found[k]] = 0
