"""Running retrieval methods over test sets and scoring what they find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from erukg.research.evaluation.bootstrap import Difference, differences_by_set
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.keyphrases import Progress, predict
from erukg.research.evaluation.retrieval.beir import RetrievalSet, SetFiles, load_retrieval_set
from erukg.research.evaluation.retrieval.index import Index, TokenisedCorpus, query_weights
from erukg.research.evaluation.retrieval.measures import DEPTH, MEASURES, QueryScores, score
from erukg.research.evaluation.retrieval.methods import BestPhrases, Method
from erukg.research.evaluation.retrieval.stored import StoredPredictions
from erukg.research.evaluation.store import LineStore, PredictionStore
from erukg.research.evaluation.systems import System

__all__ = ["Comparison", "MethodResult", "SetSummary", "compare", "evaluate"]

_STEP = 500  # documents between two reports of progress while indexing


@dataclass(frozen=True, slots=True)
class SetSummary:
    """What a report says about a set."""

    name: str
    documents: int
    queries: int
    relevant: int
    sha256: Mapping[str, str]
    notes: tuple[str, ...]
    qrels_by_position: bool = False


@dataclass(slots=True)
class MethodResult:
    """One method's scores, one entry per set and in their order; none where `not_run` says why."""

    name: str
    description: Mapping[str, Any]
    scores: list[QueryScores]
    runs: dict[str, str]
    """By set the key of the stored run."""
    not_run: str = ""
    expanded: dict[str, Any] = field(default_factory=dict)
    """By set what was added to its documents, where that is not as in `description`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first method against the second on one set ("average": all of them) in one measure."""

    first: str
    second: str
    dataset: str
    measure: str
    result: Difference


def evaluate(
    methods: Sequence[Method],
    sets: Sequence[SetFiles],
    store: Path | None = None,
    progress: Progress | None = None,
    *,
    limit: int | None = None,
    fresh: bool = False,
) -> tuple[list[SetSummary], list[MethodResult]]:
    """Run every method on every set, one set in memory at a time, and score it by query.

    With a `store` folder an interrupted run goes on where it stopped: phrases are kept by document, results by
    query, and a run that is complete is not made again unless `fresh`.
    """
    summaries = []
    results = [MethodResult(m.name, {} if m.not_run else m.describe(), [], {}, m.not_run) for m in methods]
    for files in sets:
        data = load_retrieval_set(files).first(limit)
        relevant = sum(grade > 0 for grades in data.qrels.values() for grade in grades.values())
        sizes = (len(data.documents), len(data.queries), relevant)
        summaries.append(SetSummary(data.name, *sizes, data.sha256, data.notes, files.by_position))
        runner = _SetRunner(data, store, progress, fresh)
        queries = [query.id for query in data.queries]
        for method, result in zip(methods, results, strict=True):
            if not method.not_run:
                here = method.for_set(data.name)
                if here is not method:
                    result.expanded[data.name] = here.describe()["document_expansion"]
                run, key = runner.run(here)
                result.scores.append(score(data.name, queries, data.qrels, run))
                if key:
                    result.runs[data.name] = key
    return summaries, results


class _SetRunner:
    """One set with what several methods share: its analysed documents, indexes and phrases."""

    def __init__(self, data: RetrievalSet, store: Path | None, progress: Progress | None, fresh: bool) -> None:
        self._data, self._store, self._fresh = data, store, fresh
        self._progress: Progress = progress or (lambda *_: None)
        self._expanded: tuple[System, Index] | None = None
        self._phrases: dict[tuple[str, str], list[str]] = {}

    def run(self, method: Method) -> tuple[dict[str, dict[str, float]], str]:
        """By query id the documents found with their scores, and the key they are stored under."""
        store = None if self._store is None else self._run_store(self._store, method)
        known = {query.id for query in self._data.queries}
        done: dict[str, dict[str, float]] = {}
        if store is not None and not self._fresh:
            rows = ((row["id"], _found(row)) for row in store.rows() if row["id"] in known)
            done = {id: found for id, found in rows if found is not None}
        missing = [query for query in self._data.queries if query.id not in done]
        total = len(self._data.queries)
        self._progress(method.name, self._data.name, total - len(missing), total)
        if missing:
            with store or nullcontext():
                for id, found in self._search(method, missing):
                    done[id] = found
                    if store is not None:
                        store.append({"id": id, "documents": list(found), "scores": list(found.values())})
                    self._progress(method.name, self._data.name, len(done), total)
        return done, "" if store is None else store.key

    def _run_store(self, folder: Path, method: Method) -> LineStore:
        header = {
            "format": "erukg-run",
            "version": 1,
            "depth": DEPTH,
            "method": method.describe(),
            # Judgements do not change what is found.
            "set": {"name": self._data.name, **{k: self._data.sha256[k] for k in ("corpus", "queries")}},
        }
        return LineStore(folder, self._data.name, f"run-{method.kind}", header)

    def _search(self, method: Method, queries: Sequence[Record]) -> Iterator[tuple[str, dict[str, float]]]:
        added = [""] * len(queries)
        if method.queries is not None:
            by_id = dict(zip((q.id for q in self._data.queries), self._added(method.queries, "queries"), strict=True))
            added = [by_id[query.id] for query in queries]
        index = self._index(method.documents)
        for query, more in zip(queries, added, strict=True):
            weights = query_weights(f"{query.text}\n{more}")
            if method.feedback is not None:
                weights = method.feedback.expand(weights, index)
            found = index.search(weights, DEPTH)
            pairs = zip(found.documents.tolist(), found.scores.tolist(), strict=True)
            yield query.id, {self._data.documents[number].id: value for number, value in pairs}

    def _index(self, system: System | None) -> Index:
        if system is None:
            return self._plain
        if self._expanded is None or self._expanded[0] is not system:
            added = self._added(system, "documents")  # long, and memory for the index not yet needed
            self._expanded = (system, Index(self._corpus.extended(added)))
        return self._expanded[1]

    @cached_property
    def _plain(self) -> Index:
        return Index(self._corpus)

    @cached_property
    def _corpus(self) -> TokenisedCorpus:
        return TokenisedCorpus.of(self._counted())

    def _counted(self) -> Iterator[str]:
        total = len(self._data.documents)
        for number, document in enumerate(self._data.documents):
            if number % _STEP == 0:
                self._progress("indexing", self._data.name, number, total)
            yield document.text
        self._progress("indexing", self._data.name, total, total)

    def _added(self, system: System, part: str) -> list[str]:
        """What the system adds to each of the set's documents or queries, as text."""
        key = (system.name, part)
        if key not in self._phrases:
            dataset = self._data.part(part)
            store = None
            source = system.system if isinstance(system, BestPhrases) else system
            if self._store is not None and not isinstance(source, StoredPredictions):
                store = PredictionStore(self._store, system.name, system.describe(), dataset)
            found = predict(system, dataset, store, self._progress, fresh=self._fresh)
            self._phrases[key] = ["\n".join([*present, *absent]) for present, absent in found]
        return self._phrases[key]


def _found(row: Mapping[str, Any]) -> dict[str, float] | None:
    documents, scores = row.get("documents"), row.get("scores")
    if not isinstance(documents, list) or not isinstance(scores, list) or len(documents) != len(scores):
        return None
    return dict(zip(documents, scores, strict=True))


def compare(first: MethodResult, second: MethodResult, samples: int = 10_000, seed: int = 0) -> list[Comparison]:
    """`first` minus `second` with paired-bootstrap intervals over queries, by set and measure, and on average."""
    out = []
    for measure in MEASURES:
        ours, theirs = ({s.dataset: s.by_query[measure] for s in result.scores} for result in (first, second))
        out += [
            Comparison(first.name, second.name, name, measure, result)
            for name, result in differences_by_set(ours, theirs, samples, seed)
        ]
    return out
