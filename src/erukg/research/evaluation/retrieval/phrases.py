"""What is added to documents, in their text or in a field beside it: keyphrases, titles, terms of neighbours."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erukg.core.expansion import distinct
from erukg.errors import InputError
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.metrics import DEPTH
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.index import Index
from erukg.research.evaluation.retrieval.stored import ExpandedDocuments, PredictedQueries, set_file
from erukg.research.evaluation.systems import System

__all__ = ["BestPhrases", "FirstPhrases", "NeighbourTerms", "PerSet", "QueriesOfSet", "Titles", "describe_system"]

_KEPT = 20  # phrases of a kind that are stored, so that methods with fewer share them
_QUERY_TERMS, _NEIGHBOURS, _TERMS = 30, 10, 50


def describe_system(system: System | None) -> dict[str, Any] | None:
    return None if system is None else {"system": system.name.partition(":")[0], **system.describe()}


class PerSet(ABC):
    """A source of phrases for documents that is another one for each set; the same again for the same set."""

    def __init__(self) -> None:
        self._here: tuple[SetContext, System] | None = None

    def for_set(self, context: SetContext) -> System:
        if self._here is None or self._here[0] is not context:  # the same one again, so that methods share it
            self._here = (context, self._bound(context))
        return self._here[1]

    @abstractmethod
    def _bound(self, context: SetContext) -> System:
        """The source for this set."""

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        raise InputError("The phrases are those of one set; call for_set first.")


class FirstPhrases(PerSet):
    """The first phrases of a system's: those in `expanded`, a file or a folder with SET.jsonl, where it has the set."""

    def __init__(self, system: System, expanded: Path | None = None, kept: int = _KEPT) -> None:
        super().__init__()
        self.system, self._expanded, self._kept = system, expanded, kept

    @property
    def name(self) -> str:
        return self.system.name

    def _bound(self, context: SetContext) -> System:
        path = None if self._expanded is None else set_file(self._expanded, context.name)
        if path is not None:
            return ExpandedDocuments(path, self.name)
        system = self.system.for_set(context) if isinstance(self.system, PerSet) else self.system
        return self if system is self.system else FirstPhrases(system, kept=self._kept)

    def describe(self) -> Mapping[str, Any]:
        return {**self.system.describe(), "kept": self._kept}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        for present, absent in self.system.predict(records):
            yield list(present[: self._kept]), list(absent[: self._kept])


class BestPhrases:
    """So many present and absent phrases of a source, each once."""

    def __init__(self, source: System, present: int, absent: int) -> None:
        if not 1 <= max(present, absent) <= DEPTH:
            raise InputError(f"1 to {DEPTH} phrases of a kind can be added, not {max(present, absent)}.")
        self.source, self.present, self.absent = source, present, absent

    @property
    def name(self) -> str:
        return self.source.name

    def for_set(self, context: SetContext) -> BestPhrases:
        source = self.source.for_set(context) if isinstance(self.source, PerSet) else self.source
        return self if source is self.source else BestPhrases(source, self.present, self.absent)

    def describe(self) -> Mapping[str, Any]:
        return {**self.source.describe(), "present": self.present, "absent": self.absent}

    def chosen(self, present: Sequence[str], absent: Sequence[str]) -> tuple[list[str], list[str]]:
        first = distinct(present[: self.present])
        both = distinct([*first, *absent[: self.absent]])
        return first, both[len(first) :]

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        return (self.chosen(*found) for found in self.source.predict(records))


class QueriesOfSet(PerSet):
    """docT5query's predicted queries, which stand in a file for each set."""

    def __init__(self, queries: PredictedQueries) -> None:
        super().__init__()
        self.queries, self.name = queries, queries.name

    def _bound(self, context: SetContext) -> System:
        return self.queries.for_set(context.name)

    def describe(self) -> Mapping[str, Any]:
        return self.queries.describe()

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        return self.queries.predict(records)


class Titles:
    """A control: the title once more, in a field of its own."""

    name = "title"

    def describe(self) -> Mapping[str, Any]:
        return {}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        return (([record.title] if record.title else [], []) for record in records)


class NeighbourTerms(PerSet):
    """A control without a model: the best tf-idf terms of the documents nearest to each, itself left out.

    Neighbours are found by BM25 with the document's own best tf-idf terms, and weigh in with their scores.
    """

    name = "neighbours"

    def __init__(self, context: SetContext | None = None) -> None:
        super().__init__()
        self._context = context

    def _bound(self, context: SetContext) -> System:
        return NeighbourTerms(context)

    def describe(self) -> Mapping[str, Any]:
        return {"neighbours": _NEIGHBOURS, "terms": _TERMS, "query_terms": _QUERY_TERMS}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        if self._context is None:
            raise InputError("Neighbours are those in a set; call for_set first.")
        documents, index = self._context.data.documents, self._context.index
        numbers = {document.id: number for number, document in enumerate(documents)}
        texts = [hashlib.sha256(document.text.encode()).digest() for document in documents]
        copies = Counter(texts)
        for record in records:
            number = numbers[record.id]
            wanted = _NEIGHBOURS + copies[texts[number]]
            near = index.search(_best_terms(index, number), wanted)
            pairs = zip(near.documents.tolist(), near.scores.tolist(), strict=True)
            others = [(n, score) for n, score in pairs if texts[n] != texts[number]][:_NEIGHBOURS]
            yield _shared_terms(index, others), []


def _best_terms(index: Index, document: int) -> dict[str, float]:
    terms, counts = index.numbers_of(document)
    order = np.argsort(-counts * index.idf[terms], kind="stable")[:_QUERY_TERMS]
    return {index.stems[term]: float(n) for term, n in zip(terms[order].tolist(), counts[order].tolist(), strict=True)}


def _shared_terms(index: Index, documents: Sequence[tuple[int, float]]) -> list[str]:
    """The terms with the highest sum of score times tf-idf, each document's to the length 1."""
    total: Counter[int] = Counter()
    for document, score in documents:
        terms, counts = index.numbers_of(document)
        values = counts * index.idf[terms]
        values *= score / max(float(np.linalg.norm(values)), 1e-9)
        for term, value in zip(terms.tolist(), values.tolist(), strict=True):
            total[term] += value
    best = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:_TERMS]
    return [index.stems[term] for term, _ in best]
