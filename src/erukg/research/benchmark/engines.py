"""Other search engines over the very terms of a collection, for comparing the time of a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.errors import require

__all__ = ["Bm25s", "Engine", "Found", "MakeEngine", "Tantivy", "TermLists"]

PURPOSE = "Comparing search speed"
_HEAP = 1_000_000_000  # enough for half a million abstracts in one segment


#: Documents found, best first, and their scores.
Found = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class TermLists:
    """Documents as lists of terms, each term a number from 0 to `distinct` - 1."""

    numbers: NDArray[np.int32]
    starts: NDArray[np.int64]
    distinct: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, document: int) -> NDArray[np.int32]:
        if not 0 <= document < len(self):
            raise IndexError(document)
        return self.numbers[self.starts[document] : self.starts[document + 1]]


class Engine(Protocol):
    """A search engine that has indexed documents, which it numbers from 0 in their order."""

    def search(self, queries: Sequence[NDArray[np.int32]]) -> tuple[float, list[Found]]:
        """Search with documents as queries. The seconds leave out what turns terms into the engine's queries."""
        ...

    def close(self) -> None:
        """Give back memory and processes."""
        ...


#: Indexes documents, to find so many of them for a query, in an empty folder.
MakeEngine = Callable[[TermLists, int, Path], Engine]


class Bm25s:
    """bm25s with its numba backend, its queries in batches: its best case."""

    settings = "method lucene, numba backend, k1 = 0.9, b = 0.4, queries in batches, terms numbered already"

    def __init__(self, documents: TermLists, keep: int, folder: Path) -> None:
        bm25s = require("bm25s", "dev", PURPOSE)
        self.keep = keep
        vocabulary = {str(i): i for i in range(documents.distinct)}
        self.retriever: Any = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
        lists = [documents[i].tolist() for i in range(len(documents))]
        self.retriever.index((lists, vocabulary), show_progress=False)

    def search(self, queries: Sequence[NDArray[np.int32]]) -> tuple[float, list[Found]]:
        lists = [query.tolist() for query in queries]
        start = time.perf_counter()
        found = self.retriever.retrieve(lists, k=self.keep, show_progress=False, n_threads=1)
        seconds = time.perf_counter() - start
        scores = found.scores.astype(np.float64)
        return seconds, list(zip(found.documents.astype(np.int64), scores, strict=True))

    def close(self) -> None:
        self.retriever = None


class Tantivy:
    """tantivy, an engine like Lucene in Rust: one segment, queries made beforehand, nothing but the best asked for.

    Its k1 = 1.2 and b = 0.75 cannot be set, and it rounds the length of documents with more than 40 terms.
    """

    settings = "one segment, k1 = 1.2, b = 0.75 (cannot be set), document lengths rounded, queries made beforehand"

    def __init__(self, documents: TermLists, keep: int, folder: Path) -> None:
        self.tantivy: Any = require("tantivy", "dev", PURPOSE)
        self.keep = keep
        schema = self.tantivy.SchemaBuilder()
        schema.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
        schema.add_unsigned_field("number", fast=True)
        self.schema = schema.build()
        index = self.tantivy.Index(self.schema, path=str(folder))
        writer = index.writer(heap_size=_HEAP, num_threads=1)
        for i in range(len(documents)):
            document = self.tantivy.Document()
            document.add_text("terms", " ".join(map(str, documents[i].tolist())))
            document.add_unsigned("number", i)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self.searcher: Any = index.searcher()

    def search(self, queries: Sequence[NDArray[np.int32]]) -> tuple[float, list[Found]]:
        made = [self._query(query) for query in queries]
        search, keep = self.searcher.search, self.keep
        start = time.perf_counter()
        results = [search(query, keep, count=False) for query in made]
        seconds = time.perf_counter() - start
        return seconds, [self._found(result.hits) for result in results]

    def close(self) -> None:
        self.searcher = None

    def _query(self, terms: NDArray[np.int32]) -> Any:
        make, should = self.tantivy.Query, self.tantivy.Occur.Should
        parts = []
        for term, count in zip(*(part.tolist() for part in np.unique(terms, return_counts=True)), strict=True):
            query = make.term_query(self.schema, "terms", str(term), index_option="freq")
            parts.append((should, query if count == 1 else make.boost_query(query, float(count))))
        return make.boolean_query(parts)

    def _found(self, hits: list[tuple[float, Any]]) -> Found:
        numbers = self.searcher.fast_field_values("number", [address for _, address in hits])
        return np.array(numbers, np.int64), np.array([score for score, _ in hits], np.float64)
