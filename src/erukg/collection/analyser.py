"""The real analyser: a model's term weights and its best noun phrases for every document."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.collection.encoded import TOP_PHRASES, EncodedDocument, Phrase, best_phrases
from erukg.document import Document
from erukg.encoder import TermEncoder
from erukg.phrases import noun_phrases

__all__ = ["ModelAnalyser", "WholeEncoder", "phrases_of"]


class WholeEncoder(TermEncoder, Protocol):
    """What is needed of a model; `erukg.encoder.Encoder` is the real one."""

    vocab_size: int


class ModelAnalyser:
    """`Analyser` over an encoder: w^x of the whole vocabulary (Eq. 1), C_x from its tags, the top phrases by
    f (Eq. 3).
    """

    def __init__(
        self,
        encoder: WholeEncoder,
        *,
        threads: int = 1,
        phrases: int = TOP_PHRASES,
        max_words: int = 5,
        length_penalty: float = -0.25,
    ) -> None:
        self._encoder = encoder
        self._phrases = phrases
        self._max_words = max_words
        self._length_penalty = length_penalty
        self._every_term = np.arange(encoder.vocab_size, dtype=np.int32)
        self._pool = ThreadPoolExecutor(threads, "erukg-encode") if threads > 1 else None

    @property
    def fingerprint(self) -> str:
        return self._encoder.fingerprint

    @property
    def vocab_size(self) -> int:
        return self._encoder.vocab_size

    def __call__(self, texts: Sequence[str]) -> list[EncodedDocument]:
        return list((self._pool.map if self._pool else map)(self._encode, texts))

    def _encode(self, text: str) -> EncodedDocument:
        document = Document.parse(text)
        encoding = self._encoder.encode(self._encoder.pieces(document.words), self._every_term)
        weights = encoding.weights
        phrases = phrases_of(
            document, encoding.tags, weights, self._encoder, self._max_words, self._length_penalty, self._phrases
        )
        terms = np.flatnonzero(encoding.weights > 0)
        return EncodedDocument(terms, encoding.weights[terms], phrases)


def phrases_of(
    document: Document,
    tags: NDArray[np.int8],
    weights: NDArray[np.float32],
    encoder: TermEncoder,
    max_words: int,
    length_penalty: float,
    keep: int,
) -> list[Phrase]:
    """The best noun phrases of a document; `weights` is w^x over the vocabulary, of which its own pieces matter."""
    candidates = noun_phrases(document, tags, max_words)
    terms = encoder.phrase_terms(candidates.forms)
    return best_phrases(candidates.folds, candidates.forms, terms, weights, length_penalty=length_penalty, keep=keep)
