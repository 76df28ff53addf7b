"""Streams on all cores of a CPU: processes with a model each, since threads of one process wait for Python's lock."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from erukg.backends import OnnxBackend
from erukg.backends.threads import MOST_THREADS, ThreadRunner, cores
from erukg.collection import Collection
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.encoded import EncodedDocument
from erukg.collection.manifest import read_manifest
from erukg.collection.weights import MOST_TERMS
from erukg.core.generator import Generator
from erukg.core.inputs import checked_count
from erukg.core.results import Keyphrases
from erukg.core.runner import Request
from erukg.core.settings import Settings
from erukg.core.streams import Answer
from erukg.gpu.jobs import CollectionJob, KeyphraseJob
from erukg.gpu.pipeline import DeviceStream

__all__ = ["CHUNK", "ProcessAnalyser", "ProcessRunner", "job_of"]

T = TypeVar("T")

# Fewer are done in threads before the processes would have started.
_FEW = 400
#: Texts that travel together: enough that the way is short beside the work.
CHUNK = 16


class ProcessRunner(ThreadRunner):
    """Works through long streams in processes, by default one a core, and through short ones in threads.

    The first `few` items are taken before any is answered. What processes cannot be given is left to threads: a tagger,
    a model that works on several cores at once, a collection that has changed since it was opened.
    """

    def __init__(self, few: int = _FEW) -> None:
        self._few = few

    def generate(
        self, generator: Generator, items: Iterable[T], request: Request, workers: int | None
    ) -> Iterator[Answer[T, Keyphrases]]:
        many, items = _are_many(items, self._few)
        job, count = job_of(generator, request), _workers(workers)
        if not many or count == 1 or job is None:
            yield from super().generate(generator, items, request, workers)
            return
        with DeviceStream(None, job, count) as stream:
            yield from stream.run(items, CHUNK)


class ProcessAnalyser(ModelAnalyser):
    """`ModelAnalyser` with processes for many texts."""

    def __init__(
        self,
        backend: OnnxBackend,
        *,
        phrases: int,
        settings: Settings | None = None,
        term_weights: bool = True,
        workers: int | None = None,
        few: int = _FEW,
    ) -> None:
        self._workers, self._few = _workers(workers), few
        mapper = partial(ThreadRunner().map, workers=workers)
        super().__init__(backend, phrases=phrases, settings=settings, mapper=mapper, term_weights=term_weights)
        top = MOST_TERMS + 1 if term_weights else 0
        folder = backend.folder
        self._job = CollectionJob(folder.path.absolute(), top, phrases, settings or Settings(), folder.precision)

    def encode(self, texts: Iterable[str]) -> Iterator[Answer[str, EncodedDocument]]:
        many, texts = _are_many(texts, self._few)
        if not many or self._workers == 1:
            yield from super().encode(texts)
            return
        with DeviceStream(None, self._job, self._workers) as stream:
            yield from stream.run(texts, CHUNK)


def _workers(wanted: int | None) -> int:
    return checked_count(wanted or 0, "threads", MOST_THREADS) or cores()


def _are_many(items: Iterable[T], few: int) -> tuple[bool, Iterator[T]]:
    """Whether there are more than a `few` items, and all of them again."""
    source = iter(items)
    first: list[T] = []
    try:
        first.extend(islice(source, few + 1))
    except Exception as error:  # the caller's own: it comes again behind the items before it
        return False, chain(first, _raised(error))
    return len(first) > few and os.name == "posix", chain(first, source)


def _raised(error: Exception) -> Iterator[T]:
    raise error
    yield


def job_of(generator: Generator, request: Request) -> KeyphraseJob | None:
    """What each process is to do; None where it could not do the same as the generator."""
    backend, background = generator.backend, generator.background
    if not isinstance(backend, OnnxBackend) or backend.threads > 1 or generator.tagger is not None:
        return None
    if background is None:
        return KeyphraseJob.of(backend.folder, generator, None, request)
    if not isinstance(background, Collection) or read_manifest(background.folder).number != background.manifest.number:
        return None
    return KeyphraseJob.of(backend.folder, generator, background, request)
