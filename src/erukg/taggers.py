"""Part-of-speech taggers that can stand in for the encoder's own tag head."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from erukg.core.tagging import Tagger
from erukg.errors import InputError, MissingExtraError

__all__ = ["NltkTagger", "SpacyTagger", "Tagger", "load_tagger"]

_UNUSED = ["parser", "ner", "lemmatizer", "attribute_ruler"]
_SENTENCE_ENDS = frozenset(".!?")
_LONGEST_PASSAGE = 2000
_CLITICS = ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "'")


def load_tagger(name: str | None) -> Tagger | None:
    """The tagger of a name: None or "model" for the model's own tags, "nltk", "spacy", or "spacy:PIPELINE"."""
    kind, _, pipeline = (name or "model").partition(":")
    if kind == "spacy":
        return SpacyTagger(pipeline or "en_core_web_sm")
    if pipeline or kind not in ("model", "nltk"):
        raise InputError(f"There is no tagger '{name}'; use model, nltk, spacy or spacy:PIPELINE.")
    return NltkTagger() if kind == "nltk" else None


class SpacyTagger:
    """Tags from a spaCy pipeline, by name (`en_core_web_sm`) or already loaded; only its tagger is run."""

    def __init__(self, model: Any = "en_core_web_sm") -> None:
        spacy = _load("spacy", "pip install spacy")
        name = model if isinstance(model, str) else model.meta["name"]
        try:
            self._pipeline: Any = spacy.load(model, exclude=_UNUSED) if isinstance(model, str) else model
        except OSError as error:
            raise MissingExtraError(
                f"SpacyTagger cannot load the spaCy model '{name}'; install it with: python -m spacy download {name}"
            ) from error
        if "tagger" not in self._pipeline.pipe_names:
            raise InputError(f"The spaCy model '{name}' has no tagger; choose one that has one.")
        self._doc: Any = importlib.import_module("spacy.tokens").Doc

    def tag(self, words: Sequence[str]) -> list[str]:
        """One Penn tag for each word."""
        parts, heads = _split_clitics(words)
        tags: list[str] = []
        for passage in _passages(parts, shortest=400):
            doc = self._doc(self._pipeline.vocab, words=passage)
            for name, component in self._pipeline.pipeline:
                if name in ("tok2vec", "transformer", "tagger"):
                    doc = component(doc)
            tags += [token.tag_ for token in doc]
        return [tags[i] for i in heads]


class NltkTagger:
    """Tags from NLTK's averaged perceptron: its own, which needs NLTK's data, or one trained elsewhere."""

    def __init__(self, perceptron: Any = None) -> None:
        nltk = _load("nltk", "pip install nltk")
        try:
            self._tagger: Any = nltk.tag.PerceptronTagger() if perceptron is None else perceptron
        except LookupError as error:
            raise MissingExtraError(
                "NltkTagger needs NLTK's tagger data; install it with: "
                "python -m nltk.downloader averaged_perceptron_tagger_eng"
            ) from error

    def tag(self, words: Sequence[str]) -> list[str]:
        """One Penn tag for each word, a sentence at a time as the tagger was trained."""
        parts, heads = _split_clitics(words)
        tags: list[str] = []
        for sentence in _passages(parts):
            tags += [tag for _, tag in self._tagger.tag(sentence)]
        return [tags[i] for i in heads]


def _load(module: str, command: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"This tagger needs the package '{error.name or module}'; install it with: {command}"
        ) from error


def _split_clitics(words: Iterable[str]) -> tuple[list[str], list[int]]:
    """Penn tokens ("Newton 's", "do n't") of words, and the place of each word's first token among them."""
    parts: list[str] = []
    heads: list[int] = []
    for word in words:
        heads.append(len(parts))
        lower = word.lower() if "'" in word else ""
        clitic = next((c for c in _CLITICS if lower.endswith(c) and len(lower) > len(c)), "")
        if clitic:
            parts += (word[: -len(clitic)], word[-len(clitic) :])
        else:
            parts.append(word)
    return parts, heads


def _passages(tokens: Sequence[str], shortest: int = 1) -> Iterator[list[str]]:
    """The tokens in passages that end where a sentence does, and are never too long for a tagger's memory."""
    passage: list[str] = []
    for token in tokens:
        passage.append(token)
        if len(passage) >= _LONGEST_PASSAGE or (token in _SENTENCE_ENDS and len(passage) >= shortest):
            yield passage
            passage = []
    if passage:
        yield passage
