"""This package's own generator as a system to evaluate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from erukg.core.expansion import best_phrases
from erukg.core.query_expansion import ExpandedQuery, QueryOptions
from erukg.core.settings import STYLES, Settings
from erukg.errors import InputError
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.provenance import describe_collection, describe_model, source_hash
from erukg.research.evaluation.systems import SystemOptions, parse_setting

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator
    from erukg.taggers import Tagger

__all__ = ["GeneratorSystem", "make"]

#: Everything that decides a prediction besides the model, the collection and the settings, which describe themselves.
SOURCES = ("core", "backends", "collection", "languages.py")


class GeneratorSystem:
    """`KeyphraseGenerator` with given settings; `extract` sets α = β = 1 and leaves the collection closed."""

    def __init__(self, name: str, options: SystemOptions, extract: bool) -> None:
        self.name = name
        settings = Settings.styled(options.style, **options.settings)
        self.settings = settings.extraction() if extract else settings
        self._options = options
        self._extract = extract

    @cached_property
    def generator(self) -> KeyphraseGenerator:
        loaded = _load(self._options.model, False if self._extract else self._options.collection)
        if self._tagger is None:
            return loaded
        from erukg.generator import KeyphraseGenerator

        return KeyphraseGenerator(
            loaded.backend, loaded.background, tagger=self._tagger[0], language_of=loaded.language_of
        )

    @cached_property
    def _tagger(self) -> tuple[Tagger, dict[str, str]] | None:
        if self._options.tagger is None:
            return None
        from erukg.research.baselines.tagged import described_tagger

        return described_tagger(self._options.tagger)

    def describe(self) -> Mapping[str, Any]:
        return {
            "settings": self.settings.to_dict(),
            "model": describe_model(self.generator),
            "collection": describe_collection(self.generator) if self.settings.uses_neighbours else None,
            **({} if self._tagger is None else {"tagger": self._tagger[1]}),
            "top_k": self._options.top_k,
            "code": source_hash(*SOURCES, *(() if self._tagger is None else ("taggers.py",))),
        }

    def for_search(self) -> GeneratorSystem:
        """The same system with the settings that phrases for search engines are made with."""
        out = copy(self)
        out.settings = self.settings.for_search()
        return out

    @property
    def threads(self) -> int | None:
        """How many texts are worked on at once; None for all cores."""
        return self._options.threads

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        return self.phrases(self.generator, records, self.settings)

    def phrases(
        self, generator: KeyphraseGenerator, records: Iterable[Record], settings: Settings
    ) -> Iterator[tuple[list[str], list[str]]]:
        """`predict` with another generator, such as one with the same model over another collection."""
        texts = ((record.id, record.text) for record in records)
        top_k = self._options.top_k
        for answer in generator.stream(texts, top_k, settings, threads=self.threads):
            yield best_phrases(answer.unwrap(), top_k, top_k)

    def expand_queries(self, records: Iterable[Record], options: QueryOptions) -> Iterator[ExpandedQuery]:
        """What to search for beside each query, with weights."""
        return self.expand_with(self.generator, records, options, self.settings)

    def expand_with(
        self, generator: KeyphraseGenerator, records: Iterable[Record], options: QueryOptions, settings: Settings
    ) -> Iterator[ExpandedQuery]:
        """`expand_queries` with another generator."""
        # Without their ids, which could be those of documents in the collection.
        texts = (record.text for record in records)
        answers = generator.expand_queries(texts, options, settings, threads=self.threads)
        return (answer.unwrap() for answer in answers)


@lru_cache(maxsize=2)  # variants that differ in settings share a model and a collection
def _load(model: str | None, collection: str | Literal[False] | None) -> KeyphraseGenerator:
    from erukg.generator import KeyphraseGenerator

    return KeyphraseGenerator.from_pretrained(model, collection)


def make(spec: str, options: SystemOptions) -> GeneratorSystem:
    """`erukg-generate` or `erukg-extract` with what `options.arguments` change."""
    changes: dict[str, Any] = {}
    settings = dict(options.settings)
    for change in options.arguments:
        name, equals, value = change.partition("=")
        if change in STYLES:
            changes["style"] = change
        elif not equals:
            styles = ", ".join(STYLES)
            raise InputError(f"In the system '{spec}', '{change}' is neither a style ({styles}) nor name=value.")
        elif name in ("model", "collection", "tagger"):
            changes[name] = None if (name, value) == ("tagger", "model") else value
        else:
            settings.update([parse_setting(change)])
    return GeneratorSystem(
        spec, replace(options, **changes, settings=settings, arguments=()), extract=spec.startswith("erukg-extract")
    )
