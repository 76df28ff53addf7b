"""Phrases of documents from their neighbours in the corpus that is searched, each document left out for itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from erukg.backends.threads import ordered_map
from erukg.collection import Collection
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.collection.manifest import MANIFEST, read_manifest
from erukg.core.settings import Settings
from erukg.generator import KeyphraseGenerator
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.generator_system import SOURCES, GeneratorSystem
from erukg.research.evaluation.metrics import DEPTH
from erukg.research.evaluation.provenance import describe_model, source_hash
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.phrases import PerSet
from erukg.research.evaluation.systems import System

__all__ = ["OwnCorpus"]


def _settings(settings: Settings) -> Settings:
    """For a collection that is the corpus itself: few neighbours, and no ranking learned on another collection."""
    return settings.for_search().replace(neighbours=10, absent_learned=0.0)


def _glossary_documents(documents: int) -> int:
    """How many documents a phrase must describe; in a small corpus hardly any describes several."""
    return 1 if documents <= 20_000 else 2 if documents <= 100_000 else 3


def _is_complete(folder: Path) -> bool:
    if not (folder / MANIFEST).is_file():
        return False
    manifest = read_manifest(folder)
    return manifest.derived and manifest.journal is None


class OwnCorpus(PerSet):
    """A generator whose collection is the corpus of the set that it is asked about."""

    def __init__(self, system: GeneratorSystem) -> None:
        super().__init__()
        self.system, self.name = system, system.name

    def _bound(self, context: SetContext) -> System:
        return _InCorpus(self.system, context)

    def describe(self) -> Mapping[str, Any]:
        return {
            "settings": _settings(self.system.settings).to_dict(),
            "model": describe_model(self.system.generator),
            "collection": {"of": "the corpus of each set"},
            "code": source_hash(*SOURCES),
        }

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        raise NotImplementedError("call for_set first")


class _InCorpus:
    """`OwnCorpus` in one set. The collection is built when phrases are first asked for, and kept in the store."""

    def __init__(self, system: GeneratorSystem, context: SetContext) -> None:
        self._system, self._context, self.name = system, context, system.name
        self._documents = len(context.data.documents)

    def describe(self) -> Mapping[str, Any]:
        return {**OwnCorpus(self._system).describe(), "collection": self._made_from, "top_k": DEPTH}

    @property
    def _made_from(self) -> dict[str, Any]:
        return {
            "corpus": self._context.data.sha256["corpus"],
            "documents": self._documents,
            "glossary_documents": _glossary_documents(self._documents),
        }

    @cached_property
    def _generator(self) -> KeyphraseGenerator:
        loaded = self._system.generator
        return KeyphraseGenerator(
            loaded.backend, self._collection, tagger=loaded.tagger, language_of=loaded.language_of
        )

    @cached_property
    def _collection(self) -> Collection:
        backend, context = self._system.generator.backend, self._context
        analyser = ModelAnalyser(backend, mapper=partial(ordered_map, threads=self._system.threads))
        key = json.dumps([self._made_from, backend.term_space, analyser.choices], sort_keys=True).encode()
        folder = context.folder(f"collection-{hashlib.sha256(key).hexdigest()[:16]}")
        if not _is_complete(folder):  # an interrupted build goes on where it stopped
            folder.parent.mkdir(parents=True, exist_ok=True)
            build(
                folder,
                [context.files.corpus],
                analyser,
                glossary_documents=_glossary_documents(self._documents),
                on_progress=lambda rows: context.progress("collection", context.name, rows, self._documents),
            )
        return Collection.open(folder, fingerprint=backend.term_space)

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        # The id keeps a document from being its own neighbour.
        settings = _settings(self._system.settings)
        return self._system.phrases(self._generator, records, settings)
