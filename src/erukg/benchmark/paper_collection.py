"""A collection as a plain program would hold it: documents to look up one by one, and an index of bm25s."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import terms_of
from erukg.collection.postings import decode
from erukg.collection.reader import Collection, Hits, open_parts
from erukg.errors import CollectionError, require

__all__ = ["PlainCollection"]


class PlainCollection:
    """The documents of a collection with their phrases and term weights, found by bm25s over the same terms.

    bm25s stands in for Lucene, which is several times slower with a whole document as query.
    """

    def __init__(self, folder: Path, step: Callable[[int, int], None] | None = None) -> None:
        collection = Collection.open(folder)
        self._terms: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
        self._phrases: list[list[str]] = []
        count = sum(entry.documents for entry in collection.manifest.segments)
        glossary = collection.glossary
        for number in range(count):
            known = collection.gather(Hits(np.array([number], np.int64), np.ones(1, np.float32)))
            self._terms.append((known.term_ids, known.term_weights))
            self._phrases.append(glossary.phrases(known.phrase_ids))
            if step is not None and (number + 1) % 1000 == 0:
                step(number + 1, count)
        self._numbers, self._retriever = _index(folder, count)

    def __len__(self) -> int:
        return len(self._terms)

    def search(self, text: str, n: int) -> list[tuple[int, float]]:
        """The `n` most similar documents with their BM25 scores above 0."""
        query = [number for term in terms_of(text).tolist() if (number := self._numbers.get(term)) is not None]
        if not query:
            return []
        found = self._retriever.retrieve([query], k=min(n, len(self)), show_progress=False, n_threads=1)
        pairs = zip(found.documents[0].tolist(), found.scores[0].tolist(), strict=True)
        return [(document, score) for document, score in pairs if score > 0]

    def weights(self, document: int) -> dict[int, float]:
        """w^x' of a document."""
        ids, weights = self._terms[document]
        return dict(zip(ids.tolist(), weights.tolist(), strict=True))

    def phrases(self, document: int) -> list[str]:
        """C̃_x' of a document."""
        return self._phrases[document]


def _index(folder: Path, count: int) -> tuple[dict[int, int], Any]:
    bm25s = require("bm25s", "dev", "The paper's pipeline with a collection")
    _, segments, commit = open_parts(folder)
    vocabulary = np.unique(np.concatenate([np.empty(0, np.uint64), *(s.vocabulary for s in segments)]))
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int32]] = []
    base = 0
    for segment, state in zip(segments, commit.states, strict=True):
        numbers = np.arange(base, base + len(segment), dtype=np.int32)
        if len(state.dead):
            numbers[state.dead != 0] = -1
        # Room for removed documents too: their postings are passed over and leave gaps at the ends of lists.
        ends = np.concatenate(([0], np.cumsum(segment.frequencies, dtype=np.int64)))
        documents, frequencies = np.empty(ends[-1], np.int32), np.zeros(ends[-1], np.int32)
        every = np.arange(len(segment.vocabulary), dtype=np.int64)
        place = ends[:-1].copy()
        try:
            decode(
                segment.postings, segment.postings_offsets, 0, len(every), every, numbers, place, documents, frequencies
            )
        except ValueError as error:
            raise CollectionError(f"{segment.path} is damaged: {error}; restore or build it again.") from error
        own = np.repeat(np.searchsorted(vocabulary, segment.vocabulary), np.diff(ends))
        rows.append(np.repeat(own, frequencies))
        columns.append(np.repeat(documents, frequencies))
        base += len(segment)
    terms, owners = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(owners, kind="stable")
    cuts = np.cumsum(np.bincount(owners, minlength=count))[:-1]
    texts = [part.tolist() for part in np.split(terms[order], cuts)]
    retriever = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
    retriever.index((texts, {str(i): i for i in range(len(vocabulary))}), show_progress=False)
    return {term: i for i, term in enumerate(vocabulary.tolist())}, retriever
