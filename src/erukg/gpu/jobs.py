"""What a worker does with an item before and after the model has run; a job travels to the worker as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.backends import ModelFolder, OnnxBackend
from erukg.collection import Collection
from erukg.collection.analyser import ModelAnalyser, phrases_of
from erukg.collection.analysis import Query, analyse
from erukg.collection.encoded import EncodedDocument, Phrase
from erukg.collection.reader import Hits
from erukg.core.backend import Encoding, Pieces
from erukg.core.document import Document
from erukg.core.generator import Generator
from erukg.core.inputs import as_item
from erukg.core.notices import LanguageOf
from erukg.core.results import Keyphrases
from erukg.core.runner import Request
from erukg.core.settings import Settings
from erukg.errors import CollectionError, ErukgWarning, InputError
from erukg.gpu.compact import Compact, compact, restore
from erukg.gpu.queries import Index, Lists

__all__ = ["CollectionJob", "Job", "KeyphraseJob", "Task", "Top"]

_NO_QUERY = Query(np.empty(0, np.uint64), np.empty(0, np.int64), 0)

ResultT = TypeVar("ResultT", covariant=True)
Top = tuple[NDArray[np.int32], NDArray[np.float32]]


class Task(Protocol):
    """A job at work in a worker."""

    @property
    def window(self) -> int: ...

    def plan_search(self, items: Sequence[Any]) -> tuple[Any, Lists] | None:
        """What to keep until the device has searched for the items, and what it is to search; None for nothing."""
        ...

    def choose_hits(
        self, items: Sequence[Any], kept: Any, documents: NDArray[np.int32], scores: NDArray[np.float32]
    ) -> list[Hits | None]:
        """What the device has found for each of the items; None where the search is left to `prepare`."""
        ...

    def prepare(self, item: Any, hits: Hits | None) -> tuple[Any, Pieces, NDArray[np.int32]]:
        """What to keep of the item until the model has run, its pieces, and the terms whose weights are wanted."""
        ...

    def complete(self, kept: Any, encoding: Encoding, top: Top | None) -> Any:
        """The result, in a form that travels fast."""
        ...

    def whole(self, item: Any) -> Any:
        """The same at once, with a model in this process."""
        ...


class Job(Protocol[ResultT]):
    """Plain data that says what is to be done; `open` is called in the worker, the rest by the caller."""

    @property
    def top(self) -> int:
        """How many of the best terms of the whole vocabulary are wanted of each text."""
        ...

    def open(self) -> Task: ...

    def pack(self, item: Any) -> Any:
        """The item in the form in which it travels; raises InputError for a bad one."""
        ...

    def unpack(self, result: Any) -> ResultT:
        """The result that `Task.complete` gave."""
        ...


@dataclass(frozen=True, slots=True)
class KeyphraseJob:
    """`Generator.generate`."""

    model: Path
    collection: Path | None
    commit: int
    request: Request
    language_of: LanguageOf | None = None
    precision: str | None = None
    top: int = 0

    @classmethod
    def of(cls, folder: ModelFolder, generator: Generator, collection: Collection | None, request: Request) -> Self:
        """The job of a generator whose model lies in this folder."""
        where = None if collection is None else collection.folder.absolute()
        commit = 0 if collection is None else collection.manifest.number
        return cls(folder.path.absolute(), where, commit, request, generator.language_of, folder.precision)

    def open(self) -> Task:
        # Beside a device only its tokenizer is used: the network is loaded when something is encoded.
        backend = OnnxBackend.load(self.model, self.precision)
        background = None
        if self.collection is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ErukgWarning)  # the caller has opened it too, and been warned
                background = Collection.open(self.collection)
            if background.manifest.number != self.commit:
                raise CollectionError(f"{self.collection} has changed since it was opened; open it again.")
        generator = Generator(backend, background, language_of=self.language_of)
        return _KeyphraseTask(generator, background, backend.window, self.request)

    def pack(self, item: Any) -> tuple[str | None, str]:
        given = as_item(item)
        return given.id, given.text

    def unpack(self, result: Compact) -> Keyphrases:
        return restore(result)


@dataclass(frozen=True)
class _KeyphraseTask:
    generator: Generator
    background: Collection | None
    window: int
    request: Request

    @cached_property
    def index(self) -> Index | None:
        """What a search on the device is planned with, opened when the first is."""
        if self.background is None or not self.request.settings.uses_neighbours:
            return None
        return Index(self.background.folder, self.background.manifest.number)

    def plan_search(self, items: Sequence[Any]) -> tuple[Any, Lists] | None:
        if self.index is None:
            return None
        queries = [_query(text) for _, text in items]
        return queries, self.index.lists_of(
            [query or _NO_QUERY for query in queries], self.request.settings.search_words
        )

    def choose_hits(
        self, items: Sequence[Any], kept: Any, documents: NDArray[np.int32], scores: NDArray[np.float32]
    ) -> list[Hits | None]:
        assert self.index is not None
        ids = [id for id, _ in items]
        queries = [query or _NO_QUERY for query in kept]
        n = self.request.settings.neighbours
        hits = self.index.choose(queries, documents, scores, n, ids)
        return [self._with_fit(query, hit, n) for query, hit in zip(kept, hits, strict=True)]

    def _with_fit(self, query: Query | None, hits: Hits | None, n: int) -> Hits | None:
        if query is None or hits is None or self.background is None:
            return None
        return self.background.with_fit(query, hits, n, self.request.settings.search_words)

    def prepare(self, item: Any, hits: Hits | None) -> tuple[Any, Pieces, NDArray[np.int32]]:
        near = None if hits is None or self.background is None else self.background.gather(hits)
        prepared = self.generator.prepare(item, self.request.settings, neighbourhood=near)
        return prepared, prepared.pieces, prepared.terms

    def complete(self, kept: Any, encoding: Encoding, top: Top | None) -> Compact:
        request = self.request
        return compact(
            self.generator.complete(
                kept, encoding, request.top_k, request.settings, explain=request.explain, choice=request.choice
            )
        )

    def whole(self, item: Any) -> Compact:
        prepared, pieces, terms = self.prepare(item, None)
        return self.complete(prepared, self.generator.backend.encode(pieces, terms), None)


def _query(text: str) -> Query | None:
    """The text as a query; None for what cannot be one."""
    try:
        return analyse(text)
    except UnicodeError:  # half a character
        return None


@dataclass(frozen=True, slots=True)
class CollectionJob:
    """What a collection keeps of texts: their best terms, if any are wanted, and phrases."""

    model: Path
    top: int
    phrases: int
    settings: Settings
    precision: str | None = None

    def open(self) -> Task:
        backend = OnnxBackend.load(self.model, self.precision)
        weighed = self.top > 0
        analyser = ModelAnalyser(backend, phrases=self.phrases, settings=self.settings, term_weights=weighed)
        return _CollectionTask(backend, self, analyser)

    def pack(self, item: Any) -> str:
        if not isinstance(item, str):
            raise InputError(f"A text must be a string, not {type(item).__name__}.")
        return item

    def unpack(self, result: Compact) -> EncodedDocument:
        terms, weights, phrases = result
        return EncodedDocument(terms, weights, [Phrase(*phrase) for phrase in phrases])


@dataclass(frozen=True, slots=True)
class _CollectionTask:
    backend: OnnxBackend
    job: CollectionJob
    analyser: ModelAnalyser

    @property
    def window(self) -> int:
        return self.backend.window

    def plan_search(self, items: Sequence[Any]) -> None:
        return None

    def choose_hits(self, items: Sequence[Any], kept: Any, documents: Any, scores: Any) -> list[Hits | None]:
        return [None] * len(items)

    def prepare(self, item: Any, hits: Hits | None) -> tuple[Any, Pieces, NDArray[np.int32]]:
        document = Document.parse(item)
        pieces = self.backend.pieces(document.words)
        terms = np.unique(pieces.ids)
        return (document, pieces, terms), pieces, terms

    def complete(self, kept: Any, encoding: Encoding, top: Top | None) -> Compact:
        document, pieces, terms = kept
        job = self.job
        phrases = phrases_of(document, pieces, encoding, terms, self.backend, job.settings, job.phrases)
        assert top is not None
        above = top[1] > 0
        return top[0][above], top[1][above], _plain(phrases)

    def whole(self, item: Any) -> Compact:
        found = self.analyser.analyse(item)
        return found.term_ids, found.term_weights, _plain(found.phrases)


def _plain(phrases: Sequence[Phrase]) -> list[Compact]:
    return [(phrase.fold, phrase.form, phrase.terms) for phrase in phrases]
