"""Running methods on one test set, sharing what they have in common, and keeping what they found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.query_expansion import ExpandedQuery, QueryOptions
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.generator_system import GeneratorSystem
from erukg.research.evaluation.keyphrases import predict
from erukg.research.evaluation.metrics import Prediction
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.index import Fields, Index, Scorer, best, query_weights
from erukg.research.evaluation.retrieval.measures import DEPTH
from erukg.research.evaluation.retrieval.methods import BOOST, Method
from erukg.research.evaluation.retrieval.own_corpus import InCorpus, OwnCorpus
from erukg.research.evaluation.retrieval.phrases import BestPhrases, Titles
from erukg.research.evaluation.retrieval.sparse_search import Encoder, SparseIndex, fuse
from erukg.research.evaluation.retrieval.stored import StoredPredictions
from erukg.research.evaluation.store import LineStore, PredictionStore
from erukg.research.evaluation.systems import System

__all__ = ["SetRunner"]


class SetRunner:
    """One set with what several methods share: its analysed documents, indexes, phrases and expanded queries."""

    def __init__(self, context: SetContext, fresh: bool) -> None:
        self._context, self._data, self._fresh = context, context.data, fresh
        self._made: tuple[object, Scorer] | None = None  # the last index of expanded documents, as each is large
        self._sparse: tuple[GeneratorSystem, SparseIndex] | None = None
        self._predictions: dict[tuple[System, str], list[Prediction]] = {}
        self._queries: dict[tuple[object, QueryOptions], dict[str, ExpandedQuery]] = {}

    def run(self, method: Method) -> tuple[dict[str, dict[str, float]], str]:
        """By query id the documents found with their scores, and the key they are stored under."""
        store = self._run_store(method)
        known = {query.id for query in self._data.queries}
        done: dict[str, dict[str, float]] = {}
        if store is not None and not self._fresh:
            rows = ((row["id"], _found(row)) for row in store.rows() if row["id"] in known)
            done = {id: found for id, found in rows if found is not None}
        missing = [query for query in self._data.queries if query.id not in done]
        total = len(self._data.queries)
        self._context.progress(method.name, self._data.name, total - len(missing), total)
        if missing:
            with store or nullcontext():
                for query, scores in zip(missing, self._scores(method, missing), strict=True):
                    found = best(scores, DEPTH)
                    pairs = zip(found.documents.tolist(), found.scores.tolist(), strict=True)
                    done[query.id] = {self._data.documents[number].id: value for number, value in pairs}
                    if store is not None:
                        ids, values = list(done[query.id]), list(done[query.id].values())
                        store.append({"id": query.id, "documents": ids, "scores": values})
                    self._context.progress(method.name, self._data.name, len(done), total)
        return done, "" if store is None else store.key

    def _run_store(self, method: Method) -> LineStore | None:
        if self._context.store is None:
            return None
        header = {
            "format": "erukg-run",
            "version": 1,
            "depth": DEPTH,
            "method": method.describe(),
            # Judgements do not change what is found.
            "set": {"name": self._data.name, **{k: self._data.sha256[k] for k in ("corpus", "queries")}},
        }
        return LineStore(self._context.store, self._data.name, f"run-{method.kind}", header)

    def _scores(self, method: Method, queries: Sequence[Record]) -> Iterator[NDArray[np.float64]]:
        """For each query the scores of all documents."""
        if method.encoder is not None:
            yield from self._encoded_scores(method.encoder, queries)
            return
        plan = method.query
        added = self._appended_to_queries(plan.appended)
        expanded: Mapping[str, ExpandedQuery] = {}
        if plan.expander is not None:
            assert not isinstance(plan.expander, OwnCorpus)  # `for_set` has bound it
            expanded = self._expanded(plan.expander, plan.options or QueryOptions())
        searched = self._searched(method)
        for query in queries:
            # Feedback comes from the text as a plain search finds it, whatever is searched afterwards.
            weights = plan.weights(query.text, self._context.index, added.get(query.id, ""), expanded.get(query.id))
            yield searched.scores(weights)

    def _encoded_scores(self, encoder: Encoder, queries: Sequence[Record]) -> Iterator[NDArray[np.float64]]:
        if self._sparse is None or self._sparse[0] is not encoder.system:
            self._sparse = (encoder.system, encoder.index(self._context, fresh=self._fresh))
        index = self._sparse[1]
        vectors = encoder.vectors((query.text for query in queries), index.counts)
        for query, vector in zip(queries, vectors, strict=True):
            scores = index.scores(vector)
            if encoder.fused:
                scores = fuse(scores, self._context.index.scores(query_weights(query.text)))
            yield scores

    def _expanded(self, system: GeneratorSystem | InCorpus, options: QueryOptions) -> dict[str, ExpandedQuery]:
        key = (system, options)
        if key not in self._queries:
            out: dict[str, ExpandedQuery] = {}
            total = len(self._data.queries)
            found = system.expand_queries(self._data.queries, options)
            for query, expanded in zip(self._data.queries, found, strict=True):
                out[query.id] = expanded
                self._context.progress("expanding queries", self._data.name, len(out), total)
            self._queries[key] = out
        return self._queries[key]

    def _appended_to_queries(self, phrases: BestPhrases | None) -> dict[str, str]:
        if phrases is None:
            return {}
        return dict(zip((q.id for q in self._data.queries), self._added(phrases, "queries"), strict=True))

    def _searched(self, method: Method) -> Scorer:
        system = method.appended or method.field
        if system is None:
            return self._context.index
        key = (type(system), getattr(system, "source", system), method.field is None)
        if self._made is None or self._made[0] != key:
            added = self._added(system, "documents")  # long, and memory for the index not yet needed
            corpus = self._context.corpus
            if method.field is None:
                made: Scorer = Index(corpus.extended(added))
            else:
                made = Fields(self._context.index, Index(corpus.field(added)), BOOST)
            self._made = (key, made)
        return self._made[1]

    def _added(self, system: System, part: str) -> list[str]:
        """What the system adds to each of the set's documents or queries, as text."""
        if not isinstance(system, BestPhrases):
            return ["\n".join([*present, *absent]) for present, absent in self._predicted(system, part)]
        found = self._predicted(system.source, part)
        return ["\n".join(phrase for kind in system.chosen(*each) for phrase in kind) for each in found]

    def _predicted(self, system: System, part: str) -> list[Prediction]:
        key = (system, part)
        if key not in self._predictions:
            dataset, store = self._data.part(part), None
            if self._context.store is not None and not isinstance(system, StoredPredictions | Titles):
                store = PredictionStore(self._context.store, system.name, system.describe(), dataset)
            self._predictions[key] = predict(system, dataset, store, self._context.progress, fresh=self._fresh)
        return self._predictions[key]


def _found(row: Mapping[str, Any]) -> dict[str, float] | None:
    documents, scores = row.get("documents"), row.get("scores")
    if not isinstance(documents, list) or not isinstance(scores, list) or len(documents) != len(scores):
        return None
    return dict(zip(documents, scores, strict=True))
