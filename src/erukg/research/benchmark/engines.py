"""Other search engines over the very terms of a collection, for comparing the time of a search."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.errors import InputError, did_you_mean, require
from erukg.research.benchmark.lucene import Lucene, LuceneProgram
from erukg.research.benchmark.search_timing import Engine, Found, MakeEngine, TermLists

__all__ = ["ENGINES", "Bm25s", "Tantivy", "choose_engines"]

_PURPOSE = "Comparing search speed"
_HEAP = 1_000_000_000  # enough for half a million abstracts in one segment


class Bm25s:
    """bm25s with its numba backend, its queries in batches: its best case."""

    settings = "method lucene, numba backend, k1 = 0.9, b = 0.4, queries in batches, terms numbered already"

    def __init__(self, documents: TermLists, keep: int, folder: Path) -> None:
        bm25s = require("bm25s", "dev", _PURPOSE)
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
        self.tantivy: Any = require("tantivy", "dev", _PURPOSE)
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


#: The engines that are Python packages; a Lucene comes with its jars.
ENGINES: dict[str, Callable[[TermLists, int, Path], Engine]] = {"bm25s": Bm25s, "tantivy": Tantivy}


def choose_engines(
    names: str | None, lucene: Iterable[str] = ()
) -> tuple[dict[str, MakeEngine], dict[str, str], dict[str, str]]:
    """The engines to compare with, how each is set, and why others take no part.

    `names` has commas between them; None means every engine that is installed. Each item of `lucene` is a Lucene: its
    jars with colons between them. What is asked for and cannot run is refused here, before any work.
    """
    engines: dict[str, MakeEngine] = {}
    missing: dict[str, str] = {}
    if names is None:
        for name in ENGINES:
            if importlib.util.find_spec(name) is None:
                missing[name] = f"not run: not installed; pip install {name}"
            else:
                engines[name] = ENGINES[name]
    else:
        for name in dict.fromkeys(part.strip() for part in names.split(",") if part.strip()):
            if name not in ENGINES:
                hint = did_you_mean(name, ENGINES, "there are: {known}.")
                raise InputError(f"There is no search engine '{name}'; {hint}")
            require(name, "dev", _PURPOSE)
            engines[name] = ENGINES[name]
    settings = {name: str(getattr(ENGINES[name], "settings", "")) for name in engines}
    for jars in lucene:
        program = LuceneProgram.check(jars)
        engines[program.name] = partial(Lucene, program)
        settings[program.name] = program.settings
    if not any(name.startswith("lucene") for name in engines):
        missing["lucene"] = "not run: give --lucene JAR"
    return engines, settings, missing
