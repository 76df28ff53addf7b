"""A text with its words, tags and noun phrases, the same for every baseline that works on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import stem_words
from erukg.core.candidates import noun_phrases
from erukg.core.document import Document
from erukg.core.locating import Located
from erukg.core.tagging import tag_classes
from erukg.core.word_classes import ADJECTIVES, NOUNS, OTHER
from erukg.errors import InputError, MissingExtraError, ModelError
from erukg.research.baselines.base import digest
from erukg.taggers import SpacyTagger, Tagger, load_tagger

__all__ = ["TAGGED_BY", "Phrase", "Reader", "TaggedText", "WordTagger", "described_tagger"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: its written form, the stems of its words, and at which words of the text it begins."""

    form: str
    stems: tuple[str, ...]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TaggedText:
    """A parsed text and the tag class of each of its words."""

    document: Document
    classes: NDArray[np.int8]

    @cached_property
    def stems(self) -> list[str]:
        """The stem of each word, lower-cased."""
        return stem_words(word.lower() for word in self.document.words)

    @cached_property
    def content(self) -> NDArray[np.bool_]:
        """Which words are nouns or adjectives that a phrase may hold."""
        return self.document.usable & np.isin(self.classes, NOUNS + ADJECTIVES)

    @cached_property
    def nodes(self) -> tuple[NDArray[np.int64], list[str]]:
        """For each word the number of its stem among the stems of content words, or -1; and these stems."""
        numbers: dict[str, int] = {}
        out = np.full(len(self.stems), -1, np.int64)
        for i in np.flatnonzero(self.content).tolist():
            out[i] = numbers.setdefault(self.stems[i], len(numbers))
        return out, list(numbers)

    def phrases(self, max_words: int = 5) -> list[Phrase]:
        """The noun phrases by the grammar of `erukg.core.candidates`, in order of first occurrence."""
        return self._phrases(noun_phrases(self.document, self.classes, max_words))

    def plain_phrases(self, max_words: int) -> list[Phrase]:
        """Adjectives followed by nouns, `JJ* NN+`: longer ones than `max_words` are not cut but left out."""
        classes = np.where(self.content, self.classes, OTHER).astype(np.int8)
        # An adjective after a noun begins a new phrase in this grammar.
        begins = np.zeros(len(classes), np.bool_)
        begins[1:] = np.isin(classes[1:], ADJECTIVES) & np.isin(classes[:-1], NOUNS)
        document = dataclasses.replace(self.document, breaks=self.document.breaks | begins)
        found = self._phrases(noun_phrases(document, classes, len(classes) + 1))
        return [phrase for phrase in found if len(phrase.stems) <= max_words]

    def _phrases(self, candidates: list[Located]) -> list[Phrase]:
        out = []
        starts, ends = self.document.starts, self.document.ends
        for form, spans in ((candidate.form, candidate.spans) for candidate in candidates):
            offsets = np.searchsorted(starts, [a for a, _ in spans])
            stop = int(np.searchsorted(ends, spans[0][1])) + 1
            out.append(Phrase(form, tuple(self.stems[offsets[0] : stop]), offsets.astype(np.int64)))
        return out


#: The bundled model whose tags baselines read in evaluations, whichever is the default.
TAGGED_BY = "small"


class WordTagger(Protocol):
    """Gives the words of a document their tag classes."""

    def classes(self, document: Document) -> NDArray[np.int8]: ...

    def describe(self) -> Mapping[str, Any]: ...


class _TagHead:
    """The tags of a model of this package."""

    def __init__(self, model: str | None) -> None:
        from erukg.backends import OnnxBackend, find_model

        self._backend = OnnxBackend.load(find_model(model))

    def classes(self, document: Document) -> NDArray[np.int8]:
        pieces = self._backend.pieces(document.words)
        return self._backend.encode(pieces, np.zeros(0, np.int32)).tags

    def describe(self) -> Mapping[str, Any]:
        return {"tagger": "model", "weights": self._backend.fingerprint, "precision": self._backend.folder.precision}


class _ExternalTagger:
    """The tags of another tagger."""

    def __init__(self, tagger: Tagger, description: Mapping[str, str]) -> None:
        self._tagger = tagger
        self._description = description

    def classes(self, document: Document) -> NDArray[np.int8]:
        return tag_classes(self._tagger, document.words)

    def describe(self) -> Mapping[str, Any]:
        return self._description


@dataclass(frozen=True)
class Reader:
    """Makes a `TaggedText` of a text, with tags from `tagger`.

    "model" is the tag head of `model` (a folder; None: the bundled one), "spacy" or "spacy:NAME" a spaCy
    pipeline, "nltk" NLTK's perceptron; any other `Tagger` can be given itself. None takes the first of the
    three that is there.
    """

    tagger: str | Tagger | None = None
    model: str | None = None

    def read(self, text: str) -> TaggedText:
        document = Document.parse(text)
        classes = self.words.classes(document) if len(document) else np.zeros(0, np.int8)
        return TaggedText(document, classes)

    def describe(self) -> Mapping[str, Any]:
        return self.words.describe()

    @cached_property
    def words(self) -> WordTagger:
        if isinstance(self.tagger, str):
            return _TagHead(self.model) if self.tagger == "model" else _ExternalTagger(*described_tagger(self.tagger))
        if self.tagger is not None:
            return _ExternalTagger(self.tagger, {"tagger": type(self.tagger).__qualname__})
        from erukg.backends import find_model

        try:
            find_model(self.model)
        except ModelError:
            if self.model is not None:
                raise
        else:
            return _TagHead(self.model)
        for name in ("spacy", "nltk"):
            try:
                return _ExternalTagger(*described_tagger(name))
            except MissingExtraError:
                continue
        raise InputError(
            "This baseline needs a tagger and there is none; give a model folder, or install spaCy with "
            "'en_core_web_sm' or NLTK with its tagger data."
        )


def described_tagger(name: str) -> tuple[Tagger, dict[str, str]]:
    """The tagger called "spacy", "spacy:NAME" or "nltk", and what tells it from others."""
    tagger = load_tagger(name)
    if tagger is None:
        raise InputError(f"The tagger '{name}' is the model's own tag head; name another one: nltk or spacy:NAME.")
    kind = name.partition(":")[0]
    described = {"tagger": kind, "version": version(kind)}
    if isinstance(tagger, SpacyTagger):
        pipeline = name.partition(":")[2] or "en_core_web_sm"
        folder = Path(pipeline)
        package = digest(folder) if folder.is_dir() else import_module("spacy.util").get_package_version(pipeline)
        described |= {"pipeline": pipeline, "pipeline_version": package or ""}
    return tagger, described
