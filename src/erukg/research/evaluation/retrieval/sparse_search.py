"""The encoder as a retriever: documents and queries as sparse vectors of term weights, compared by dot product.

    Σ_t w(t, query) · idf(t) · w(t, document)

over the 128 best terms of each, with idf counted in the vectors of the documents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.inputs import given_id
from erukg.core.sparse import TERMS, TermCounts
from erukg.errors import InputError
from erukg.research.evaluation.datasets import content_hash, read_by_id
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.generator_system import SOURCES, GeneratorSystem
from erukg.research.evaluation.provenance import describe_model, source_hash
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.index import Postings
from erukg.research.evaluation.retrieval.stored import set_file
from erukg.research.evaluation.store import LineStore

__all__ = ["Encoder", "SparseIndex", "fuse"]

Vector: TypeAlias = tuple[list[int], list[float]]


@dataclass(frozen=True, slots=True)
class Encoder:
    """A system's model as a retriever; `fused` with BM25.

    `encoded` is a file of documents that it has encoded already, or a folder of such files (SET.jsonl) for some sets.
    """

    system: GeneratorSystem
    fused: bool = False
    encoded: Path | None = None

    def for_set(self, name: str) -> Encoder:
        """With the file that has the vectors of the set's documents, if there is one."""
        return self if self.encoded is None else replace(self, encoded=set_file(self.encoded, name))

    def describe(self) -> dict[str, Any]:
        out = {"model": describe_model(self.system.generator), "terms": TERMS, "code": source_hash(*SOURCES)}
        if self.encoded is not None and self.encoded.is_file():
            out |= {"encoded": self.encoded.name, "sha256": content_hash(self.encoded)}
        return out

    def vectors(self, texts: Iterable[str], idf: TermCounts | None = None) -> Iterator[Vector]:
        """Of documents, or with `idf` of queries."""
        answers = self.system.generator.encode_stream(texts, TERMS, idf=idf, threads=self.system.threads)
        for answer in answers:
            vector = answer.unwrap()
            yield list(vector.indices), list(vector.values)

    def index(self, context: SetContext, *, fresh: bool = False) -> SparseIndex:
        """Of all documents of the set; their vectors are kept in the store, document by document."""
        documents, backend = context.data.documents, self.system.generator.backend
        vocabulary = backend.vocab_size
        if self.encoded is not None:
            given = read_by_id(self.encoded, lambda row, _: _parse(row, vocabulary))
            for document in documents:
                if document.id not in given:
                    raise InputError(
                        f"{self.encoded} has no line for the document '{document.id}'; it is of another set, or not "
                        "complete."
                    )
            return SparseIndex([given[document.id] for document in documents], backend.term_space, vocabulary)
        done: dict[str, Vector] = {}
        store = None
        if context.store is not None:
            header = {
                "format": "erukg-vectors",
                "version": 1,
                "encoder": self.describe(),
                "set": {"name": context.name, "corpus": context.data.sha256["corpus"]},
            }
            store = LineStore(context.store, context.name, "vectors", header)
            if not fresh:
                rows = {row["id"]: _vector_in(row, vocabulary) for row in store.rows()}
                done = {id: vector for id, vector in rows.items() if vector is not None}
        missing = [document for document in documents if document.id not in done]
        if store is None:
            done |= dict(self._encode(missing, context))
        elif missing:
            with store:
                for id, vector in self._encode(missing, context):
                    done[id] = vector
                    store.append({"id": id, "indices": vector[0], "values": vector[1]})
        return SparseIndex([done[document.id] for document in documents], backend.term_space, vocabulary)

    def _encode(self, missing: Sequence[Record], context: SetContext) -> Iterator[tuple[str, Vector]]:
        total = len(context.data.documents)
        found = self.vectors(document.text for document in missing)
        for number, (document, vector) in enumerate(zip(missing, found, strict=True), 1 + total - len(missing)):
            yield document.id, vector
            context.progress("encoding", context.name, number, total)


def _parse(row: Mapping[str, Any], vocabulary: int) -> tuple[str, Vector]:
    """A line as `erukg encode` writes it."""
    id = given_id(row)
    if id is None:
        raise InputError("the field 'id' is missing")
    vector = _vector_in(row, vocabulary)
    if vector is None:
        raise InputError(
            "the fields 'indices' and 'values' must be lists of terms of the model's vocabulary and of their weights; "
            "write the file with erukg encode"
        )
    return id, vector


def _vector_in(row: Mapping[str, Any], vocabulary: int) -> Vector | None:
    terms, weights = row.get("indices"), row.get("values")
    if not isinstance(terms, list) or not isinstance(weights, list) or len(terms) != len(weights):
        return None
    if not all(type(term) is int and 0 <= term < vocabulary for term in terms):
        return None
    if not all(isinstance(weight, int | float) and 0 < weight < math.inf for weight in weights):
        return None
    return terms, weights


class SparseIndex:
    """Vectors of documents, by term; `counts` are those for queries."""

    def __init__(self, vectors: Sequence[Vector], term_space: str, vocabulary: int) -> None:
        self.size = len(vectors)
        self.counts = TermCounts(term_space, vocabulary)
        for terms, _ in vectors:
            self.counts.add(terms)
        documents = np.repeat(np.arange(self.size, dtype=np.int32), [len(terms) for terms, _ in vectors])
        indices = np.fromiter((term for terms, _ in vectors for term in terms), np.int32, len(documents))
        weights = np.fromiter((weight for _, weights in vectors for weight in weights), np.float32, len(documents))
        self._postings = Postings(indices, documents, weights, vocabulary)

    def scores(self, query: Vector) -> NDArray[np.float64]:
        """The dot products with the vector of a query that has idf in it."""
        out = np.zeros(self.size)
        for term, weight in sorted(zip(*query, strict=True)):
            self._postings.add(out, term, weight)
        return out


def fuse(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of both scores of each document, each from 0 to 1 over the corpus (min-max).

    Scores and not ranks (reciprocal-rank fusion), so that a document far ahead of all others by one of them stays so.
    """
    return (_to_one(first) + _to_one(second)) / 2


def _to_one(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = (float(scores.min()), float(scores.max())) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else scores * 0.0
