"""The ways to search that can be compared, asked for by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from erukg.collection.analysis import ANALYSIS
from erukg.core.expansion import distinct
from erukg.errors import InputError, did_you_mean
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.metrics import DEPTH
from erukg.research.evaluation.provenance import source_hash
from erukg.research.evaluation.retrieval.doct5query import T5Queries
from erukg.research.evaluation.retrieval.index import K1, B
from erukg.research.evaluation.retrieval.rm3 import RM3
from erukg.research.evaluation.retrieval.stored import ExpandedDocuments, PredictedQueries, set_file
from erukg.research.evaluation.systems import System

__all__ = ["METHODS", "BestPhrases", "Method", "make_methods"]

METHODS = {
    "bm25": "BM25 on queries and documents as they are",
    "rm3": "BM25 with queries made longer by RM3 from their first results",
    "query": "BM25 with keyphrases added to the queries",
    "document": "BM25 with keyphrases added to the documents",
    "both": "BM25 with keyphrases added to both",
    "doct5query": "BM25 with predicted queries added to the documents",
}
_EXPANDING = {"query": (True, False), "document": (False, True), "both": (True, True)}
_NO_WEIGHTS = "weights not available"
#: What a stored run depends on beside the expansions, which describe themselves.
SOURCES = ("core", "collection", "research/evaluation/retrieval")


class BestPhrases:
    """A keyphrase system of which the best `top_k` present and absent phrases are used, each once."""

    def __init__(self, system: System, top_k: int, expanded: Path | None = None) -> None:
        if not 1 <= top_k <= DEPTH:
            raise InputError(f"1 to {DEPTH} phrases of a kind can be added, not {top_k}.")
        if expanded is not None and not expanded.exists():
            raise InputError(f"There is no file or folder {expanded} of expanded documents.")
        self.system, self.top_k, self._expanded = system, top_k, expanded
        self._by_set: dict[Path, BestPhrases] = {}

    def for_set(self, name: str) -> BestPhrases:
        """For the documents of one set: with phrases from its file where there is one."""
        path = None if self._expanded is None else set_file(self._expanded, name)
        if path is None:
            return self
        if path not in self._by_set:  # the same one again, so that methods share it
            self._by_set[path] = BestPhrases(ExpandedDocuments(path, self.name), self.top_k)
        return self._by_set[path]

    @property
    def name(self) -> str:
        return self.system.name

    def describe(self) -> Mapping[str, Any]:
        return {**self.system.describe(), "added": self.top_k}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        for present, absent in self.system.predict(records):
            first = distinct(present[: self.top_k])
            both = distinct([*first, *absent[: self.top_k]])
            yield first, both[len(first) :]


@dataclass(frozen=True, slots=True)
class Method:
    """BM25, with what is done to queries and documents first. `not_run` says why there are no figures."""

    name: str
    kind: str
    queries: System | None = None
    documents: System | None = None
    feedback: RM3 | None = None
    not_run: str = ""

    def for_set(self, name: str) -> Method:
        """The method with the parts that belong to this set."""
        if not isinstance(self.documents, PredictedQueries | BestPhrases):
            return self
        here = self.documents.for_set(name)
        return self if here is self.documents else replace(self, documents=here)

    def describe(self) -> dict[str, Any]:
        """Everything its results depend on, as plain JSON data."""
        return {
            "kind": self.kind,
            "bm25": {"k1": K1, "b": B, "analysis": ANALYSIS},
            "rm3": None if self.feedback is None else dataclasses.asdict(self.feedback),
            "query_expansion": _describe(self.queries),
            "document_expansion": _describe(self.documents),
            "code": source_hash(*SOURCES),
        }


def _describe(system: System | None) -> dict[str, Any] | None:
    return None if system is None else {"system": system.name.partition(":")[0], **system.describe()}


def make_methods(
    names: Sequence[str],
    systems: Sequence[System] = (),
    *,
    top_k: int = 10,
    expanded: Path | None = None,
    predicted_queries: Path | None = None,
    t5: Path | None = None,
) -> list[Method]:
    """The methods called so; those that add keyphrases once for each of the `systems`.

    Each is named after its kind, and with several systems after the system too: "query erukg-extract". `expanded` is
    a file of documents that the system has expanded already, or a folder of such files (SET.jsonl) for some sets.
    """
    out: list[Method] = []
    if expanded is not None and len(systems) != 1:
        raise InputError("Expanded documents are those of one system; name one with --system.")
    best = [BestPhrases(system, top_k, expanded) for system in systems]
    for name in dict.fromkeys(names):
        if name not in METHODS:
            hint = did_you_mean(name, METHODS, "known methods: {known}.")
            raise InputError(f"There is no retrieval method '{name}'; {hint}")
        if name in _EXPANDING:
            if not best:
                raise InputError(f"The method '{name}' needs a keyphrase system.")
            on_queries, on_documents = _EXPANDING[name]
            for system in best:
                label = name if len(best) == 1 else f"{name} {system.name}"
                out.append(Method(label, name, system if on_queries else None, system if on_documents else None))
        elif name == "doct5query":
            out.append(_doct5query(predicted_queries, t5))
        else:
            out.append(Method(name, name, feedback=RM3() if name == "rm3" else None))
    return out


def _doct5query(predicted_queries: Path | None, t5: Path | None) -> Method:
    if predicted_queries is not None and t5 is not None:
        raise InputError("docT5query takes predicted queries or a T5 folder, not both.")
    documents: System | None = None
    if predicted_queries is not None:
        documents = PredictedQueries(predicted_queries)
    elif t5 is not None:
        documents = T5Queries(t5)
    return Method("doct5query", "doct5query", documents=documents, not_run=_NO_WEIGHTS if documents is None else "")
