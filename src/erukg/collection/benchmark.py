"""Search timed against bm25s in one run: the same documents, terms, queries and formula, one thread each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import Query, terms_of, text_key
from erukg.collection.encoded import DocumentRecord, EncodedDocument
from erukg.collection.postings import number_terms
from erukg.collection.reader import Collection
from erukg.collection.writer import Writer
from erukg.errors import InputError, require
from erukg.readers import BadDocument, read_documents

__all__ = ["SearchTiming", "compare_search"]

_NOTHING = EncodedDocument(np.empty(0, np.int64), np.empty(0, np.float64), ())
_ROUND = 50


@dataclass(frozen=True, slots=True)
class SearchTiming:
    """One size of D: milliseconds a query of each system, and how well the results agree.

    recall      share of bm25s's best documents that are found too (documents tied with its last one count as
                found)
    error       largest relative difference between the sorted scores
    """

    documents: int
    queries: int
    erukg_ms: float
    bm25s_ms: float
    bytes: int
    recall: float
    error: float

    @property
    def ratio(self) -> float:
        """How many times faster erukg is."""
        return self.bm25s_ms / self.erukg_ms


def compare_search(
    sources: Sequence[str | Path],
    sizes: Sequence[int],
    *,
    queries: int = 1000,
    neighbours: int = 100,
    seed: int = 0,
    folder: str | Path | None = None,
) -> Iterator[SearchTiming]:
    """Index the first documents of `sources` at each of the `sizes` and time whole documents as queries.

    The collection grows by additions and is merged at each size. The systems take turns every 50 queries.
    bm25s gets its queries in batches with its numba backend and terms already numbered, which is its best
    case.
    """
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        path = Path(temporary) / "collection"
        documents = _documents(sources)
        flat: list[NDArray[np.uint64]] = []
        with Writer.create(path, fingerprint="benchmark", vocab_size=1) as writer:
            for size in sorted(sizes):
                while len(flat) < size:
                    record = next(documents, None)
                    if record is None:
                        raise InputError(f"The sources hold {len(flat)} documents, fewer than the {size} asked for.")
                    flat.append(terms_of(record.text))
                    if writer.add(DocumentRecord(str(len(flat)), record.text), _NOTHING):
                        writer.commit()
                writer.commit()
                writer.merge()
                yield _compare(Collection.open(path), flat, queries, neighbours, seed)


def _documents(sources: Sequence[str | Path]) -> Iterator[DocumentRecord]:
    for item in read_documents([str(source) for source in sources]):
        if not isinstance(item, BadDocument):
            yield DocumentRecord(item.id, item.text)


def _compare(
    collection: Collection, flat: list[NDArray[np.uint64]], n_queries: int, keep: int, seed: int
) -> SearchTiming:
    retrieve, numbered = _bm25s(flat, keep)
    chosen = np.random.default_rng(seed).choice(len(flat), min(n_queries, len(flat)), replace=False).tolist()
    ours_queries = [_query(flat[i]) for i in chosen]
    theirs_queries = [numbered[i] for i in chosen]
    for query in ours_queries[:3]:
        collection.search_terms(query, keep)
    retrieve(theirs_queries[:3])
    ours_time = theirs_time = 0.0
    recalls, errors = [], []
    for i in range(0, len(chosen), _ROUND):
        start = time.perf_counter()
        ours = [collection.search_terms(query, keep) for query in ours_queries[i : i + _ROUND]]
        middle = time.perf_counter()
        documents, scores = retrieve(theirs_queries[i : i + _ROUND])
        theirs_time += time.perf_counter() - middle
        ours_time += middle - start
        for hits, their_documents, their_scores in zip(ours, documents, scores, strict=True):
            recall, error = _agreement(hits.documents, hits.scores, their_documents, their_scores)
            recalls.append(recall)
            errors.append(error)
    size = sum(entry.bytes for entry in collection.manifest.files)
    n = len(chosen)
    return SearchTiming(
        len(flat),
        n,
        ours_time / n * 1e3,
        theirs_time / n * 1e3,
        size,
        float(np.mean(recalls)),
        float(np.max(errors)),
    )


def _query(terms: NDArray[np.uint64]) -> Query:
    distinct, counts = np.unique(terms, return_counts=True)
    # Another key than the text's own, so that the document finds itself: bm25s does not pass it over.
    return Query(distinct, counts, text_key(terms) ^ 1)


def _bm25s(flat: list[NDArray[np.uint64]], keep: int) -> tuple[Any, list[list[int]]]:
    bm25s = require("bm25s", "dev", "Comparing search speed")
    distinct, numbers = number_terms(np.concatenate(flat))
    ends = np.cumsum([len(f) for f in flat])
    numbered = [part.tolist() for part in np.split(numbers, ends[:-1])]
    vocabulary = {str(i): i for i in range(len(distinct))}
    retriever = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
    retriever.index((numbered, vocabulary), show_progress=False)

    def retrieve(queries: list[list[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
        found = retriever.retrieve(queries, k=min(keep, len(flat)), show_progress=False, n_threads=1)
        return found.documents, found.scores

    return retrieve, numbered


def _agreement(
    documents: NDArray[np.int64],
    scores: NDArray[np.float32],
    theirs: NDArray[Any],
    their_scores: NDArray[Any],
) -> tuple[float, float]:
    positive = their_scores > 0
    theirs, their_scores = theirs[positive], their_scores[positive].astype(np.float64)
    if not len(theirs):
        return 1.0, 0.0
    n = min(len(scores), len(their_scores))
    error = float(np.max(np.abs(scores[:n] - their_scores[:n]) / their_scores[:n], initial=0.0))
    # A document as good as the last one found may be left out in favour of its equal.
    sure = theirs[their_scores > their_scores[-1] * (1 + 1e-5)]
    return float(np.isin(sure, documents).mean()) if len(sure) else 1.0, error
