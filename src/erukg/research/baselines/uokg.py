"""UOKG (Do et al. 2023): a network that writes phrases, steered towards what the text is about while it writes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from erukg.core.search_words import STOP_WORDS
from erukg.research.baselines.banked import BankedModel
from erukg.research.baselines.base import ManyTexts
from erukg.research.baselines.neural.vocabulary import END, SourceDocument, words
from erukg.research.baselines.phrase_bank import stemmed
from erukg.research.baselines.references import References, with_references

__all__ = ["REFERENCES", "Uokg", "UokgModel"]

REFERENCES = "references.npz"
_LEAST = 1e-5  # informativeness of a word that has nothing to do with the text
_UNKNOWN = 0.1  # and of one without a vector
_NEVER = -1e4


@dataclass(frozen=True, eq=False)
class UokgModel:
    """The phraseness network, the bank and vectors of its corpus, and the reference phrases."""

    banked: BankedModel
    references: References

    @classmethod
    def load(cls, folder: str | Path) -> UokgModel:
        """The model in a folder."""
        banked = BankedModel.load(folder)
        return cls(banked, References.load(Path(folder) / REFERENCES, banked.bank))

    def describe(self) -> Mapping[str, Any]:
        return self.banked.describe()

    @cached_property
    def words(self) -> NDArray[np.float32]:
        """A vector of length 1 for each word of the network's vocabulary; zeros for one without."""
        known = self.banked.network.vocabulary.words
        return self.banked.vectors.embed([(stem,) for stem in stemmed(known)])

    def informativeness(self, document: SourceDocument, text: NDArray[np.float32]) -> NDArray[np.float32]:
        """How near in meaning each word that can be written is to the text, from 0 to 1; stop words are not at all."""
        vectors = self.words
        if document.extra:
            vectors = np.concatenate([vectors, self.banked.vectors.embed([(s,) for s in stemmed(document.extra)])])
        out = np.maximum(vectors @ text, 0) + _LEAST
        out[~vectors.any(1)] = _UNKNOWN
        out[[document.vocabulary.number(word) for word in STOP_WORDS]] = _LEAST
        return np.asarray(out, np.float32)


@dataclass(frozen=True)
class Uokg(ManyTexts):
    """Phrases by p(phrase | text) ∝ phraseness^`balance` · informativeness, word by word in a beam of `width`.

    Phraseness is the network's, which reads the text and up to `references` phrases of documents about the same, with
    a cosine above `nearness`. Informativeness is the nearness of a word to the text, and of the whole phrase where it
    ends. Log scores are divided by the number of words and `length`; phrases of the text then by 1 + 1 / log2(P + 2),
    P words before the first occurrence, and others that the bank knows by `known`.
    """

    model: UokgModel
    width: int = 100
    depth: int = 5
    balance: float = 2.5
    references: int = 15
    nearness: float = 0.5
    length: float = 0.6
    known: float = 1.2
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def ranked(self, texts: Sequence[str]) -> list[list[str]]:
        banked = self.model.banked
        vectors = banked.vectors.embed([stemmed(words(text)) for text in texts])
        sources = [
            with_references(text, borrowed)
            for text, borrowed in zip(texts, self._borrowed(texts, vectors), strict=True)
        ]
        guide = _Guide(self.model, [banked.network.document(source) for source in sources], vectors, self.balance)
        found = banked.network.generate(sources, self.width, self.depth, guide, strict=True)
        return [self._ranked(text, phrases) for text, phrases in zip(texts, found, strict=True)]

    def _borrowed(self, texts: Sequence[str], vectors: NDArray[np.float32]) -> list[list[tuple[str, ...]]]:
        """The reference phrases of each text, none of which stands in it."""
        nearest = self.model.references.nearest(vectors, 4 * self.references, self.nearness)
        out = []
        for text, numbers in zip(texts, nearest, strict=True):
            line = f" {' '.join(words(text))} "
            phrases = [self.model.banked.bank.phrases[number] for number in numbers]
            out.append([phrase for phrase in phrases if f" {' '.join(phrase)} " not in line][: self.references])
        return out

    def _ranked(self, text: str, found: Sequence[tuple[str, float]]) -> list[str]:
        line = f" {' '.join(words(text))} "
        bank = self.model.banked.bank
        costs = {}
        for phrase, score in found:
            parts = words(phrase)
            cost = -self.balance * score / max(len(parts) + self.length, _LEAST)
            place = line.find(f" {' '.join(parts)} ")
            if place >= 0:
                cost /= 1 + 1 / math.log2(line.count(" ", 0, place) + 2)
            elif bank.number(stemmed(parts)) >= 0:
                cost /= max(self.known, _LEAST)
            costs[phrase] = cost
        return sorted(costs, key=costs.__getitem__)


class _Guide:
    """The informativeness of the words that may come next, as `beam_search` wants it."""

    def __init__(
        self, model: UokgModel, documents: Sequence[SourceDocument], vectors: NDArray[np.float32], balance: float
    ) -> None:
        self._model, self._documents, self._vectors = model, documents, vectors
        # The scores of the network count in full in a beam, so those that are added to them are scaled instead.
        self._scale = 1 / max(balance, _LEAST)
        self._rows: dict[int, tuple[NDArray[np.float32], float]] = {}

    def __call__(self, number: int, prefixes: Sequence[tuple[str, ...]]) -> NDArray[np.float32]:
        document, text = self._documents[number], self._vectors[number]
        logs, total = self._row(number)
        whole = self._model.banked.vectors.embed([stemmed(prefix) for prefix in prefixes]) @ text
        whole = np.maximum(whole, 0) + _LEAST
        out = np.repeat(logs[None], len(prefixes), 0)
        out[:, END] = np.log(whole)
        out -= np.log(total + whole)[:, None]
        out *= self._scale
        behind = {word: len(document.vocabulary) + n for n, word in enumerate(document.extra)}
        for scores, prefix in zip(out, prefixes, strict=True):
            # No word comes twice in a phrase.
            scores[[behind.get(word, document.vocabulary.number(word)) for word in prefix]] = _NEVER
        return out

    def _row(self, number: int) -> tuple[NDArray[np.float32], float]:
        """The log informativeness of every word, and the sum of all informativeness but that of the end."""
        if number not in self._rows:
            row = self._model.informativeness(self._documents[number], self._vectors[number])
            self._rows[number] = np.log(row), float(row.sum() - row[END])
        return self._rows[number]
