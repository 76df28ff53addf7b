"""Phrases from the corpus that is searched: of documents, each left out for itself, and of queries."""

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
from erukg.collection.encoded import glossary_threshold
from erukg.collection.manifest import MANIFEST, read_manifest
from erukg.core.query_expansion import ExpandedQuery, QueryOptions
from erukg.generator import KeyphraseGenerator
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.generator_system import SOURCES, GeneratorSystem
from erukg.research.evaluation.metrics import DEPTH
from erukg.research.evaluation.provenance import describe_model, source_hash
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.phrases import PerSet
from erukg.research.evaluation.retrieval.stored import set_file
from erukg.research.evaluation.systems import System

__all__ = ["InCorpus", "OwnCorpus"]


def _is_complete(folder: Path) -> bool:
    if not (folder / MANIFEST).is_file():
        return False
    manifest = read_manifest(folder)
    return manifest.derived and manifest.journal is None


class OwnCorpus(PerSet):
    """A generator whose collection is the corpus of the set that it is asked about.

    `given` is what `erukg expand --own` wrote, or a folder with SET.jsonl: the collection beside it is used.
    """

    def __init__(self, system: GeneratorSystem, given: Path | None = None) -> None:
        super().__init__()
        self.system, self.name, self._given = system, system.name, given

    def for_set(self, context: SetContext) -> InCorpus:
        found = super().for_set(context)
        assert isinstance(found, InCorpus)
        return found

    def _bound(self, context: SetContext) -> System:
        file = None if self._given is None else set_file(self._given, context.name)
        beside = None if file is None else file.with_name(f"{file.name}.collection")
        return InCorpus(self.system, context, beside if beside is not None and beside.is_dir() else None)

    def describe(self) -> Mapping[str, Any]:
        return {
            "settings": self.system.settings.for_own_corpus().to_dict(),
            "model": describe_model(self.system.generator),
            "collection": {"of": "the corpus of each set"},
            "code": source_hash(*SOURCES),
        }


class InCorpus:
    """`OwnCorpus` in one set. The collection is built when phrases are first asked for, and kept in the store."""

    def __init__(self, system: GeneratorSystem, context: SetContext, built: Path | None = None) -> None:
        self._system, self._context, self.name, self._built = system, context, system.name, built
        self._documents = len(context.data.documents)

    def describe(self) -> Mapping[str, Any]:
        return {**OwnCorpus(self._system).describe(), "collection": self._made_from, "top_k": DEPTH}

    @property
    def _made_from(self) -> dict[str, Any]:
        return {
            "corpus": self._context.data.sha256["corpus"],
            "documents": self._documents,
            "glossary_documents": glossary_threshold(self._documents),
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
        if self._built is not None:
            return Collection.open(self._built, fingerprint=backend.term_space)
        mapper = partial(ordered_map, threads=self._system.threads)
        analyser = ModelAnalyser(backend, mapper=mapper, term_weights=False)  # which count for α below 1 alone
        key = json.dumps([self._made_from, backend.term_space, analyser.choices], sort_keys=True).encode()
        folder = context.folder(f"collection-{hashlib.sha256(key).hexdigest()[:16]}")
        if not _is_complete(folder):  # an interrupted build goes on where it stopped
            folder.parent.mkdir(parents=True, exist_ok=True)
            build(
                folder,
                [context.files.corpus],
                analyser,
                glossary_documents=glossary_threshold(self._documents),
                most_terms=0,
                on_progress=lambda rows: context.progress("collection", context.name, rows, self._documents),
            )
        return Collection.open(folder, fingerprint=backend.term_space)

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        # The id keeps a document from being its own neighbour.
        settings = self._system.settings.for_own_corpus()
        return self._system.phrases(self._generator, records, settings)

    def expand_queries(self, records: Iterable[Record], options: QueryOptions) -> Iterator[ExpandedQuery]:
        """What to search for beside each query, with weights."""
        settings = self._system.settings.for_own_corpus()
        return self._system.expand_with(self._generator, records, options, settings)
