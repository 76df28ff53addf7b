"""The real analyser: a model's term weights and its best noun phrases for every document."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.collection.encoded import TOP_PHRASES, EncodedDocument, Phrase
from erukg.core.backend import Backend
from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.neighbours import Neighbourhood
from erukg.core.ranking import Weights, build_pool, drop_contained, rank_pool
from erukg.core.settings import Settings

__all__ = ["ModelAnalyser", "WholeEncoder", "phrases_of"]


class WholeEncoder(Backend, Protocol):
    """What is needed of a model; `erukg.backends.Encoder` is the real one."""

    vocab_size: int


class ModelAnalyser:
    """`Analyser` over an encoder: w^x of the whole vocabulary (Eq. 1) and the best phrases that extraction finds.

    Another ranking than the best known one comes with other `settings`: that of the paper, by f alone (Eq. 3), is
    `Settings.paper(phraseness=0, position=0)`.
    """

    def __init__(
        self,
        encoder: WholeEncoder,
        *,
        threads: int = 1,
        phrases: int = TOP_PHRASES,
        settings: Settings | None = None,
    ) -> None:
        self._encoder = encoder
        self._phrases = phrases
        self._settings = settings or Settings()
        self._every_term = np.arange(encoder.vocab_size, dtype=np.int32)
        self._pool = ThreadPoolExecutor(threads, "erukg-encode") if threads > 1 else None

    @property
    def fingerprint(self) -> str:
        return self._encoder.term_space

    @property
    def vocab_size(self) -> int:
        return self._encoder.vocab_size

    def __call__(self, texts: Sequence[str]) -> list[EncodedDocument]:
        return list((self._pool.map if self._pool else map)(self._encode, texts))

    def _encode(self, text: str) -> EncodedDocument:
        document = Document.parse(text)
        encoding = self._encoder.encode(self._encoder.pieces(document.words), self._every_term)
        phrases = phrases_of(document, encoding.tags, encoding.weights, self._encoder, self._settings, self._phrases)
        terms = np.flatnonzero(encoding.weights > 0)
        return EncodedDocument(terms, encoding.weights[terms], phrases)


def phrases_of(
    document: Document,
    tags: NDArray[np.int8],
    weights: NDArray[np.float32],
    encoder: Backend,
    settings: Settings,
    keep: int,
) -> list[Phrase]:
    """The best present phrases of a document; `weights` is w^x over the vocabulary, of which its own pieces matter."""
    alone = settings.extraction()
    candidates = find_candidates(document, tags, alone.max_words)
    terms = encoder.phrase_terms(candidates.forms)
    ids = np.unique(terms.ids)
    nobody = Neighbourhood.empty()
    pool = build_pool(candidates, terms, nobody, None, alone)
    ranked = rank_pool(pool, Weights.combine(ids, weights[ids], nobody), alone, present=True, limit=len(pool))
    if alone.drop_contained:
        ranked = drop_contained(ranked, [candidates.folds[i] for i in ranked.pool.tolist()])
    return [
        Phrase(
            candidates.folds[i], candidates.forms[i], tuple(terms.ids[terms.indptr[i] : terms.indptr[i + 1]].tolist())
        )
        for i in ranked.pool[:keep].tolist()
    ]
