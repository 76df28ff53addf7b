"""Search timed against other engines in one run: the same documents, terms and queries, one thread each."""

from __future__ import annotations

import importlib.util
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import Query, terms_of, text_key
from erukg.collection.encoded import DocumentRecord, EncodedDocument
from erukg.collection.postings import number_terms
from erukg.collection.reader import Collection
from erukg.collection.writer import Writer
from erukg.errors import InputError, did_you_mean, require
from erukg.io import BadDocument, read_documents
from erukg.research.benchmark.engines import PURPOSE, Bm25s, Engine, Found, MakeEngine, Tantivy, TermLists
from erukg.research.benchmark.lucene import Lucene, LuceneProgram
from erukg.research.benchmark.machine import report_head
from erukg.research.benchmark.plan import Step, no_step, split_names

__all__ = ["ENGINES", "choose_engines", "compare_search", "growth", "run_search"]

#: The engine whose results the others' are held against: it computes the same formula exactly.
REFERENCE = "bm25s"

_NOTHING = EncodedDocument(np.empty(0, np.int64), np.empty(0, np.float64), ())
_ROUND = 50
_WARM = 3  # rounds until a Java machine has compiled what matters
_ENGINE_SECONDS = 120.0  # an engine that would need longer for the queries of one size gets every n-th of them


def compare_search(
    sources: Sequence[str | Path],
    sizes: Sequence[int],
    against: Mapping[str, MakeEngine],
    *,
    queries: int = 1000,
    neighbours: int = 100,
    seed: int = 0,
    folder: str | Path | None = None,
    engine_seconds: float = _ENGINE_SECONDS,
) -> Iterator[dict[str, Any]]:
    """Index the first documents of `sources` at each of the `sizes` and time whole documents as queries.

    The collection grows by additions and is merged at each size; the engines `against` index anew. The systems take
    turns every 50 queries. One that would need more than `engine_seconds` at a size gets every n-th query. A size has
    milliseconds per query, bytes of the collection and, where bm25s takes part, how well the results agree with its:

    recall      share of its best documents that are found too (documents tied with its last one count as found)
    error       largest relative difference between the sorted scores
    engines     by name the queries that each answered, its milliseconds and recall, and how many times faster erukg is
    """
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        path = Path(temporary) / "collection"
        found = read_documents([str(source) for source in sources])
        documents = (item.text for item in found if not isinstance(item, BadDocument))
        flat: list[NDArray[np.uint64]] = []
        with Writer.create(path, fingerprint="benchmark", vocab_size=1) as writer:
            for size in sorted(sizes):
                while len(flat) < size:
                    text = next(documents, None)
                    if text is None:
                        raise InputError(f"The sources hold {len(flat)} documents, fewer than the {size} asked for.")
                    flat.append(terms_of(text))
                    if writer.add(DocumentRecord(str(len(flat)), text), _NOTHING):
                        writer.commit()
                writer.commit()
                writer.merge()
                chosen = np.random.default_rng(seed).choice(size, min(queries, size), replace=False).tolist()
                with tempfile.TemporaryDirectory(dir=temporary) as scratch, ExitStack() as stack:
                    runs = _index(against, flat, neighbours, Path(scratch), stack)
                    yield _compare(Collection.open(path), flat, runs, chosen, neighbours, engine_seconds)


@dataclass(slots=True)
class _EngineRun:
    """An engine, which queries it gets, and what it did with them."""

    engine: Engine
    documents: TermLists
    every: int = 1
    seconds: float = 0.0
    found: dict[int, Found] = field(default_factory=dict)

    def search(self, chosen: Sequence[int]) -> None:
        mine = [i for i in chosen if i not in self.found]
        if mine:
            seconds, found = self.engine.search([self.documents[i] for i in mine])
            self.seconds += seconds
            self.found.update(zip(mine, found, strict=True))

    def warm_up(self, chosen: Sequence[int], n_queries: int, limit: float) -> None:
        documents = [self.documents[i] for i in chosen]
        seconds = 0.0
        for _ in range(_WARM):
            seconds = self.engine.search(documents)[0]
        self.every = max(1, math.ceil(seconds / len(documents) * n_queries / limit))


def _index(
    against: Mapping[str, MakeEngine], flat: list[NDArray[np.uint64]], keep: int, scratch: Path, stack: ExitStack
) -> dict[str, _EngineRun]:
    distinct, numbers = number_terms(np.concatenate(flat))
    starts = np.concatenate(([0], np.cumsum([len(terms) for terms in flat])))
    documents = TermLists(numbers, starts, len(distinct))
    runs = {}
    for i, (name, make) in enumerate(against.items()):
        own = scratch / str(i)
        own.mkdir()
        runs[name] = _EngineRun(make(documents, min(keep, len(documents)), own), documents)
        stack.callback(runs[name].engine.close)
    return runs


def _compare(
    collection: Collection,
    flat: list[NDArray[np.uint64]],
    runs: dict[str, _EngineRun],
    chosen: list[int],
    keep: int,
    limit: float,
) -> dict[str, Any]:
    queries = {i: _query(flat[i]) for i in chosen}
    for i in chosen[:_ROUND]:
        collection.search_terms(queries[i], keep)
    for run in runs.values():
        run.warm_up(chosen[:_ROUND], len(chosen), limit)
    seconds: dict[int, float] = {}
    ours: dict[int, Found] = {}
    for at in range(0, len(chosen), _ROUND):
        for i in chosen[at : at + _ROUND]:
            start = time.perf_counter()
            hits = collection.search_terms(queries[i], keep)
            seconds[i] = time.perf_counter() - start
            ours[i] = hits.documents, hits.scores.astype(np.float64)
        for run in runs.values():
            run.search([i for place, i in enumerate(chosen[at : at + _ROUND], at) if place % run.every == 0])
    reference = runs[REFERENCE].found if REFERENCE in runs else {}
    both = [i for i in chosen if i in reference]
    return {
        "documents": len(flat),
        "queries": len(chosen),
        "erukg_ms": sum(seconds.values()) / len(chosen) * 1e3,
        "bytes": sum(entry.bytes for entry in collection.manifest.files),
        "recall": _mean_recall(ours, reference),
        "error": max(_error(ours[i][1], reference[i][1]) for i in both) if both else None,
        "engines": {
            name: {
                "queries": len(run.found),
                "ms": run.seconds / len(run.found) * 1e3,
                "ratio": run.seconds / sum(seconds[i] for i in run.found),
                "recall": _mean_recall(run.found, reference),
            }
            for name, run in runs.items()
        },
    }


def _query(terms: NDArray[np.uint64]) -> Query:
    distinct, counts = np.unique(terms, return_counts=True)
    # Another key than the text's own, so that the document finds itself: the others do not pass it over.
    return Query(distinct, counts, text_key(terms) ^ 1)


def _mean_recall(found: Mapping[int, Found], reference: Mapping[int, Found]) -> float | None:
    recalls = [_recall(found[i][0], *reference[i]) for i in found if i in reference]
    return float(np.mean(recalls)) if recalls else None


def _recall(documents: NDArray[np.int64], theirs: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    theirs, scores = theirs[scores > 0], scores[scores > 0]
    # A document as good as the last one found may be left out in favour of its equal.
    sure = theirs[scores > scores[-1] * (1 + 1e-5)] if len(theirs) else theirs
    return float(np.isin(sure, documents).mean()) if len(sure) else 1.0


def _error(scores: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    theirs = theirs[theirs > 0]
    n = min(len(scores), len(theirs))
    return float(np.max(np.abs(scores[:n] - theirs[:n]) / theirs[:n], initial=0.0))


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
    for name in ENGINES if names is None else split_names(names):
        if name not in ENGINES:
            hint = did_you_mean(name, ENGINES, "there are: {known}.")
            raise InputError(f"There is no search engine '{name}'; {hint}")
        if names is not None:
            require(name, "dev", PURPOSE)
        elif importlib.util.find_spec(name) is None:
            missing[name] = f"not run: not installed; pip install {name}"
            continue
        engines[name] = ENGINES[name]
    settings = {name: str(getattr(ENGINES[name], "settings", "")) for name in engines}
    for jars in lucene:
        program = LuceneProgram.check(jars)
        engines[program.name] = partial(Lucene, program)
        settings[program.name] = program.settings
    if not any(name.startswith("lucene") for name in engines):
        missing["lucene"] = "not run: give --lucene JAR"
    return engines, settings, missing


def run_search(
    sources: Sequence[str | Path],
    sizes: Sequence[int],
    *,
    against: str | None = None,
    lucene: Sequence[str] = (),
    queries: int = 1000,
    neighbours: int = 100,
    folder: str | Path | None = None,
    step: Step = no_step,
) -> dict[str, Any]:
    """Search timed against other engines at each of the `sizes` of D; the report is ready to be written as JSON.

    `against` names engines with commas between them (None: those installed); each item of `lucene` is the jars of one.
    """
    wanted = sorted(set(sizes))
    engines, how, missing = choose_engines(against, lucene)
    timings: list[dict[str, Any]] = []
    for timing in compare_search(sources, wanted, engines, queries=queries, neighbours=neighbours, folder=folder):
        timings.append(timing)
        step(len(timings), len(wanted))
    return {
        **report_head("erukg-benchmark-search", 2),
        "settings": {
            "sources": [str(source) for source in sources],
            "sizes": wanted,
            "queries": queries,
            "neighbours": neighbours,
            "engines": how,
        },
        "sizes": growth(timings),
        "not_run": missing,
    }


def growth(timings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The timings with time per query relative to the first size, as it is and divided by the growth of D."""
    out = []
    for timing in timings:
        times = timing["erukg_ms"] / timings[0]["erukg_ms"]
        per_document = times * timings[0]["documents"] / timing["documents"]
        out.append({**timing, "times_first": times, "times_first_per_document": per_document})
    return out
