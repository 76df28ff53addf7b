"""A collection as a plain program would hold it: documents to look up one by one, and another engine's index."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import terms_of
from erukg.collection.postings import decode
from erukg.collection.reader import Collection, Hits, open_parts
from erukg.research.benchmark.engines import Bm25s, Engine, MakeEngine, TermLists
from erukg.research.benchmark.lucene import Lucene, LuceneProgram

__all__ = ["PlainCollection"]


class PlainCollection:
    """The documents of a collection with their phrases and term weights, and an index over the same terms.

    The index is Lucene's where jars of it are given; otherwise bm25s stands in, which is several times as fast with a
    whole document as query. It finds at most `keep` documents.
    """

    def __init__(
        self,
        folder: Path,
        step: Callable[[int, int], None] | None = None,
        lucene: LuceneProgram | None = None,
        keep: int = 100,
    ) -> None:
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
        self._numbers, lists = _term_lists(folder, count)
        make: MakeEngine = Bm25s if lucene is None else partial(Lucene, lucene)
        self._scratch = tempfile.TemporaryDirectory(prefix="erukg-")
        self._engine: Engine = make(lists, min(keep, count), Path(self._scratch.name))

    def __len__(self) -> int:
        return len(self._terms)

    def close(self) -> None:
        """Give back the index, and the process that may hold it."""
        self._engine.close()
        self._scratch.cleanup()

    def search(self, text: str, n: int) -> list[tuple[int, float]]:
        """The `n` most similar documents with their BM25 scores above 0."""
        query = [number for term in terms_of(text).tolist() if (number := self._numbers.get(term)) is not None]
        if not query:
            return []
        _, [(documents, scores)] = self._engine.search([np.array(query, np.int32)])
        pairs = zip(documents[:n].tolist(), scores[:n].tolist(), strict=True)
        return [(document, score) for document, score in pairs if score > 0]

    def weights(self, document: int) -> dict[int, float]:
        """w^x' of a document."""
        ids, weights = self._terms[document]
        return dict(zip(ids.tolist(), weights.tolist(), strict=True))

    def phrases(self, document: int) -> list[str]:
        """C̃_x' of a document."""
        return self._phrases[document]


def _term_lists(folder: Path, count: int) -> tuple[dict[int, int], TermLists]:
    """The number of each term, and the documents as lists of them."""
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
        decode(segment.postings, 0, len(every), every, numbers, place, documents, frequencies)
        own = np.repeat(np.searchsorted(vocabulary, segment.vocabulary), np.diff(ends))
        rows.append(np.repeat(own, frequencies))
        columns.append(np.repeat(documents, frequencies))
        base += len(segment)
    terms, owners = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(owners, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=count))))
    lists = TermLists(terms[order].astype(np.int32), starts, len(vocabulary))
    return {term: i for i, term in enumerate(vocabulary.tolist())}, lists
