"""The ways to search that can be compared, asked for by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from erukg.collection.analysis import ANALYSIS
from erukg.core.query_expansion import QueryOptions
from erukg.errors import InputError, did_you_mean
from erukg.research.evaluation.generator_system import GeneratorSystem
from erukg.research.evaluation.provenance import source_hash
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.doct5query import query_model
from erukg.research.evaluation.retrieval.index import K1, B
from erukg.research.evaluation.retrieval.own_corpus import OwnCorpus
from erukg.research.evaluation.retrieval.phrases import (
    BestPhrases,
    FirstPhrases,
    NeighbourTerms,
    PerSet,
    QueriesOfSet,
    Titles,
    describe_system,
)
from erukg.research.evaluation.retrieval.queries import PLAIN, QueryPlan
from erukg.research.evaluation.retrieval.rm3 import RM3
from erukg.research.evaluation.retrieval.sparse_search import Encoder
from erukg.research.evaluation.retrieval.stored import PredictedQueries
from erukg.research.evaluation.systems import System

__all__ = ["BOOST", "GROUPS", "METHODS", "REFERENCES", "DocumentFiles", "Method", "make_methods"]

GROUPS = {
    "Baselines": {
        "bm25": "BM25 on queries and documents as they are",
        "rm3": "queries made longer by RM3: 10 terms of the first 10 results",
        "rm3-30": "likewise with 30 terms",
        "doct5query": "predicted queries behind the documents' text",
    },
    "Controls": {
        "title": "the title once more as a field",
        "neighbours": "tf-idf terms of each document's 10 nearest as a field",
        "neighbours-rm3": "neighbours and rm3-30: longer documents and queries without a model",
        "query-appended": "phrases behind the query's text, as in the paper",
        "appended": "phrases behind the documents' text, as in the paper",
    },
    "Keyphrases in queries": {
        "query": "queries with weighted phrases, from the bundled collection",
        "query-terms": "likewise with 100 words of the model's",
        "fused": "query-terms together with RM3 (10 results, 30 terms)",
    },
    "Keyphrases in documents": {
        "document": "phrases of the documents as a field, from the bundled collection",
        "own": "phrases of the documents as a field, from the corpus itself",
    },
    "Keyphrases in both": {
        "both": "own, and queries with weighted phrases from the corpus itself",
        "both-terms": "likewise with 100 words of the model's",
        "both-fused": "likewise, and RM3 (10 results, 30 terms)",
    },
    "The encoder as a retriever": {
        "sparse": "term weights of documents and queries, no BM25",
        "sparse-fused": "sparse and BM25, the mean of their scores",
    },
}
"""By group and name what a method is, in the order of reports."""
METHODS = {name: text for group in GROUPS.values() for name, text in group.items()}
REFERENCES = ("bm25", "rm3-30", "neighbours-rm3")
"""What every method is compared with: no expansion, and the best without a model, of queries and of both sides."""

BOOST = 0.4
"""Of a field beside the text."""
_PRESENT, _ABSENT = 10, 20  # phrases of a document in a field
_TERMS = 100
_NO_WEIGHTS = "weights not available"
#: What a stored run depends on beside the expansions, which describe themselves.
SOURCES = ("core", "collection", "research/evaluation/retrieval")


@dataclass(frozen=True, slots=True)
class Method:
    """BM25, with what is done to queries and documents first, or the encoder. `not_run`: why there are no figures.

    appended  what is put behind the documents' text
    field     what stands in a field beside it
    """

    name: str
    kind: str
    query: QueryPlan = PLAIN
    appended: System | None = None
    field: System | None = None
    encoder: Encoder | None = None
    not_run: str = ""

    def for_set(self, context: SetContext) -> Method:
        """The method with the parts that belong to this set."""
        appended, field = (
            part.for_set(context) if isinstance(part, PerSet | BestPhrases) else part
            for part in (self.appended, self.field)
        )
        encoder = None if self.encoder is None else self.encoder.for_set(context.name)
        return replace(self, query=self.query.for_set(context), appended=appended, field=field, encoder=encoder)

    @property
    def documents(self) -> dict[str, Any] | None:
        """What is known of the documents beside their text."""
        return describe_system(self.appended or self.field) if self.encoder is None else self.encoder.describe()

    def describe(self) -> dict[str, Any]:
        """Everything its results depend on, as plain JSON data."""
        return {
            "kind": self.kind,
            "bm25": {"k1": K1, "b": B, "analysis": ANALYSIS},
            **self.query.describe(),
            "document_expansion": None if self.encoder is not None else self.documents,
            "field_boost": None if self.field is None else BOOST,
            "encoder": None if self.encoder is None else self.encoder.describe(),
            "code": source_hash(*SOURCES),
        }


@dataclass(frozen=True, slots=True)
class DocumentFiles:
    """What the system has made of documents before, perhaps elsewhere: files, or folders with SET.jsonl for some sets.

    expanded      what `erukg expand` wrote
    own_expanded  what `erukg expand --own` wrote, with its collection beside it
    encoded       what `erukg encode` wrote
    """

    expanded: Path | None = None
    own_expanded: Path | None = None
    encoded: Path | None = None

    def __post_init__(self) -> None:
        for what in ("expanded", "own_expanded", "encoded"):
            path = getattr(self, what)
            if path is not None and not path.exists():
                raise InputError(f"There is no file or folder {path} of {what.replace('own_', '')} documents.")


class _Parts:
    """What methods with one system's keyphrases are made of, shared between them."""

    def __init__(self, system: System, top_k: int, files: DocumentFiles) -> None:
        self.system = system.for_search() if isinstance(system, GeneratorSystem) else system  # as erukg expand
        self._top_k, self._files = top_k, files
        self._source = FirstPhrases(self.system, files.expanded, max(top_k, _ABSENT))
        self._own_source: FirstPhrases | None = None
        self._corpus: OwnCorpus | None = None

    def appended(self) -> BestPhrases:
        return BestPhrases(self._source, self._top_k, self._top_k)

    def field(self) -> BestPhrases:
        return BestPhrases(self._source, _PRESENT, _ABSENT)

    def own(self, name: str) -> BestPhrases:
        if self._own_source is None:
            self._own_source = FirstPhrases(self._own_corpus(name), self._files.own_expanded)
        return BestPhrases(self._own_source, _PRESENT, _ABSENT)

    def query(self, name: str, terms: int = 0, feedback: RM3 | None = None, *, own: bool = False) -> QueryPlan:
        expander = self._own_corpus(name) if own else self.generator(name)
        return QueryPlan(feedback, expander, QueryOptions(terms=terms))

    def _own_corpus(self, name: str) -> OwnCorpus:
        if self._corpus is None:  # one for all methods, so that they share its collection
            self._corpus = OwnCorpus(self.generator(name), self._files.own_expanded)
        return self._corpus

    def encoder(self, name: str, *, fused: bool = False) -> Encoder:
        return Encoder(self.generator(name), fused, self._files.encoded)

    def generator(self, name: str) -> GeneratorSystem:
        if not isinstance(self.system, GeneratorSystem):
            raise InputError(
                f"The method '{name}' needs a model of this package, and '{self.system.name}' is none; with other "
                f"systems there are {', '.join(_OF_ANY_SYSTEM)}."
            )
        return self.system


_FEEDBACK = RM3(terms=30)
_OF_ANY_SYSTEM = ("document", "appended", "query-appended")
_PLAIN: dict[str, Callable[[], Method]] = {
    "bm25": partial(Method, "bm25", "bm25"),
    "rm3": partial(Method, "rm3", "rm3", QueryPlan(RM3())),
    "rm3-30": partial(Method, "rm3-30", "rm3-30", QueryPlan(_FEEDBACK)),
    "title": lambda: Method("title", "title", field=Titles()),
    "neighbours": lambda: Method("neighbours", "neighbours", field=NeighbourTerms()),
    "neighbours-rm3": lambda: Method("neighbours-rm3", "neighbours-rm3", QueryPlan(_FEEDBACK), field=NeighbourTerms()),
}
"""Methods without keyphrases."""


def _of_system(name: str, parts: _Parts) -> dict[str, Any]:
    """What a method with keyphrases does to queries and documents."""
    fused = partial(parts.query, name, _TERMS, _FEEDBACK)
    made: dict[str, Callable[[], dict[str, Any]]] = {
        "query-appended": lambda: {"query": QueryPlan(appended=parts.appended())},
        "appended": lambda: {"appended": parts.appended()},
        "query": lambda: {"query": parts.query(name)},
        "query-terms": lambda: {"query": parts.query(name, _TERMS)},
        "fused": lambda: {"query": fused()},
        "document": lambda: {"field": parts.field()},
        "own": lambda: {"field": parts.own(name)},
        "both": lambda: {"field": parts.own(name), "query": parts.query(name, own=True)},
        "both-terms": lambda: {"field": parts.own(name), "query": parts.query(name, _TERMS, own=True)},
        "both-fused": lambda: {"field": parts.own(name), "query": fused(own=True)},
        "sparse": lambda: {"encoder": parts.encoder(name)},
        "sparse-fused": lambda: {"encoder": parts.encoder(name, fused=True)},
    }
    return made[name]()


def make_methods(
    names: Sequence[str],
    systems: Sequence[System] = (),
    *,
    top_k: int = 10,
    files: DocumentFiles | None = None,
    predicted_queries: Path | None = None,
    t5: Path | None = None,
) -> list[Method]:
    """The methods called so; those that use keyphrases once for each of the `systems`.

    Each is named after its kind, and with several systems after the system too: "query erukg-extract". `top_k` is how
    many phrases of each kind are appended; `files` have what one system has made of the documents already.
    """
    given = files or DocumentFiles()
    if given != DocumentFiles() and len(systems) != 1:
        raise InputError("Expanded or encoded documents are those of one system; name one with --system.")
    out: list[Method] = []
    all_parts = [_Parts(system, top_k, given) for system in systems]
    for name in dict.fromkeys(names):
        if name not in METHODS:
            hint = did_you_mean(name, METHODS, "known methods: {known}.")
            raise InputError(f"There is no retrieval method '{name}'; {hint}")
        if name == "doct5query":
            out.append(_doct5query(predicted_queries, t5))
        elif name in _PLAIN:
            out.append(_PLAIN[name]())
        elif not all_parts:
            raise InputError(f"The method '{name}' needs a keyphrase system.")
        else:
            for parts in all_parts:
                label = name if len(all_parts) == 1 else f"{name} {parts.system.name}"
                out.append(Method(label, name, **_of_system(name, parts)))
    return out


def _doct5query(predicted_queries: Path | None, t5: Path | None) -> Method:
    if predicted_queries is not None and t5 is not None:
        raise InputError("docT5query takes predicted queries or a model folder, not both.")
    documents: System | None = None
    if predicted_queries is not None:
        documents = QueriesOfSet(PredictedQueries(predicted_queries))
    elif t5 is not None:
        documents = query_model(t5)
    return Method("doct5query", "doct5query", appended=documents, not_run=_NO_WEIGHTS if documents is None else "")
