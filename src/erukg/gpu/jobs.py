"""What a worker does with a text before and after the model has run; a job travels to the worker as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.backends import Encoder, Encoding, Pieces
from erukg.collection import Collection
from erukg.collection.analyser import phrases_of
from erukg.collection.analysis import Query, analyse
from erukg.collection.encoded import EncodedDocument, Phrase
from erukg.collection.reader import Hits
from erukg.core.document import Document
from erukg.core.settings import Settings
from erukg.errors import CollectionError, ErukgWarning
from erukg.generator import KeyphraseGenerator
from erukg.gpu.compact import Compact, compact, restore
from erukg.gpu.queries import Index, Lists

__all__ = ["CollectionJob", "Job", "KeyphraseJob", "Task", "Top"]

_NO_QUERY = Query(np.empty(0, np.uint64), np.empty(0, np.int64), 0)

Top = tuple[NDArray[np.int32], NDArray[np.float32]]


class Task(Protocol):
    """A job at work in a worker."""

    @property
    def window(self) -> int: ...

    def ask(self, items: Sequence[Any]) -> tuple[Any, Lists] | None:
        """What to keep until the device has searched for the texts, and what it is to search; None for nothing."""
        ...

    def found(
        self, items: Sequence[Any], kept: Any, documents: NDArray[np.int32], scores: NDArray[np.float32]
    ) -> list[Hits | None]:
        """What the device has found for each of the texts; None where the search is left to `read`."""
        ...

    def read(self, item: Any, hits: Hits | None) -> tuple[Any, Pieces, NDArray[np.int32]]:
        """What to keep of the text until the model has run, its pieces, and the terms whose weights are wanted."""
        ...

    def finish(self, kept: Any, encoding: Encoding, top: Top | None) -> Any:
        """The result, in a form that travels fast."""
        ...


class Job(Protocol):
    """Plain data that says what is to be done; `open` is called in the worker, `restore` by the caller."""

    @property
    def top(self) -> int:
        """How many of the best terms of the whole vocabulary are wanted of each text."""
        ...

    def open(self) -> Task: ...

    def restore(self, result: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class KeyphraseJob:
    """`KeyphraseGenerator.generate` for (id, text) pairs."""

    model: Path
    collection: Path | None
    commit: int
    top_k: int
    settings: Settings
    explain: bool
    top: int = 0

    def open(self) -> Task:
        # Only its tokenizer is used: the network is loaded when something is encoded, which nothing is here.
        encoder = Encoder.load(self.model)
        background = None
        if self.collection is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ErukgWarning)  # the caller has opened it too, and been warned
                background = Collection.open(self.collection)
            if background.manifest.number != self.commit:
                raise CollectionError(f"{self.collection} has changed since it was opened; open it again.")
        index = None
        if self.collection is not None and self.settings.uses_neighbours:
            index = Index(self.collection, self.commit)
        return _KeyphraseTask(KeyphraseGenerator(encoder, background), background, index, encoder.window, self)

    def restore(self, result: Compact) -> Any:
        return restore(result)


@dataclass(frozen=True, slots=True)
class _KeyphraseTask:
    generator: KeyphraseGenerator
    background: Collection | None
    index: Index | None
    window: int
    job: KeyphraseJob

    def ask(self, items: Sequence[Any]) -> tuple[Any, Lists] | None:
        if self.index is None:
            return None
        queries = [_query(text) for _, text in items]
        return queries, self.index.lists_of([query or _NO_QUERY for query in queries])

    def found(
        self, items: Sequence[Any], kept: Any, documents: NDArray[np.int32], scores: NDArray[np.float32]
    ) -> list[Hits | None]:
        assert self.index is not None
        ids = [id for id, _ in items]
        queries = [query or _NO_QUERY for query in kept]
        hits = self.index.choose(queries, documents, scores, self.job.settings.neighbours, ids)
        return [None if query is None else hit for query, hit in zip(kept, hits, strict=True)]

    def read(self, item: Any, hits: Hits | None) -> tuple[Any, Pieces, NDArray[np.int32]]:
        id, text = item
        near = None if hits is None or self.background is None else self.background.gather(hits)
        reading = self.generator.read(text, self.job.top_k, self.job.settings, id=id, neighbourhood=near)
        return (id, reading), reading.pieces, reading.terms

    def finish(self, kept: Any, encoding: Encoding, top: Top | None) -> Compact:
        id, reading = kept
        job = self.job
        result = self.generator.finish(reading, encoding, job.top_k, job.settings, explain=job.explain, id=id)
        return compact(result)


def _query(text: Any) -> Query | None:
    """The text as a query; None for what cannot be one, which `read` then refuses in its own words."""
    if not isinstance(text, str):
        return None
    try:
        return analyse(text)
    except UnicodeError:  # half a character
        return None


@dataclass(frozen=True, slots=True)
class CollectionJob:
    """What a collection keeps of texts: their best terms and phrases."""

    model: Path
    top: int
    phrases: int
    settings: Settings

    def open(self) -> Task:
        return _CollectionTask(Encoder.load(self.model), self)

    def restore(self, result: Compact) -> EncodedDocument:
        terms, weights, phrases = result
        return EncodedDocument(terms, weights, [Phrase(*phrase) for phrase in phrases])


@dataclass(frozen=True, slots=True)
class _CollectionTask:
    encoder: Encoder
    job: CollectionJob

    @property
    def window(self) -> int:
        return self.encoder.window

    def ask(self, items: Sequence[Any]) -> None:
        return None

    def found(self, items: Sequence[Any], kept: Any, documents: Any, scores: Any) -> list[Hits | None]:
        return [None] * len(items)

    def read(self, item: Any, hits: Hits | None) -> tuple[Any, Pieces, NDArray[np.int32]]:
        document = Document.parse(item)
        pieces = self.encoder.pieces(document.words)
        terms = np.unique(pieces.ids)
        return (document, terms), pieces, terms

    def finish(self, kept: Any, encoding: Encoding, top: Top | None) -> Compact:
        document, terms = kept
        job = self.job
        weights = np.zeros(self.encoder.vocab_size, np.float32)
        weights[terms] = encoding.weights
        phrases = phrases_of(document, encoding.tags, weights, self.encoder, job.settings, job.phrases)
        assert top is not None
        above = top[1] > 0
        return top[0][above], top[1][above], [(phrase.fold, phrase.form, phrase.terms) for phrase in phrases]
