"""The real analyser: a model's term weights and its best noun phrases for every document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection.encoded import TOP_PHRASES, EncodedDocument, Phrase
from erukg.core.backend import Backend, Encoding, Pieces
from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.merging import rank_present
from erukg.core.neighbours import Neighbourhood
from erukg.core.pool import build_pool
from erukg.core.ranking import Weights
from erukg.core.settings import Settings
from erukg.core.streams import Answer, attempt

__all__ = ["PAPER_DOCUMENTS", "PAPER_TERMS", "Mapper", "ModelAnalyser", "as_the_paper", "choices_of", "phrases_of"]

#: In how many documents the paper wants a phrase among the ten best for its glossary.
PAPER_DOCUMENTS = 3
#: The paper keeps all term weights of a document; fewer than this leave out what can be noticed.
PAPER_TERMS = 128

_Answer: TypeAlias = Answer[str, EncodedDocument]
#: The built-in `map`, or one that works on several texts at a time and gives their answers in order.
Mapper: TypeAlias = Callable[[Callable[[str], _Answer], Iterable[str]], Iterator[_Answer]]


class ModelAnalyser:
    """`Analyser` over a model: w^x of the whole vocabulary (Eq. 1) and the best phrases that extraction finds.

    Another ranking than the best known one comes with other `settings`: that of the paper, by f alone (Eq. 3), is
    `Settings.paper_collection()`. A `mapper` with several threads encodes several texts at a time.
    Without `term_weights` the model weighs the words of the text alone, in half the time or less, and none are kept.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        phrases: int = TOP_PHRASES,
        settings: Settings | None = None,
        mapper: Mapper = map,
        term_weights: bool = True,
    ) -> None:
        self._backend = backend
        self._phrases = phrases
        self._settings = settings or Settings()
        self.choices = choices_of(phrases, self._settings)
        self._mapper = mapper
        self._every_term = np.arange(backend.vocab_size, dtype=np.int32) if term_weights else None
        self.fingerprint = backend.term_space
        self.vocab_size = backend.vocab_size

    def encode(self, texts: Iterable[str]) -> Iterator[_Answer]:
        return self._mapper(partial(attempt, self.analyse), texts)

    def analyse(self, text: str) -> EncodedDocument:
        """What a collection keeps of a text."""
        document = Document.parse(text)
        pieces = self._backend.pieces(document.words)
        asked = np.unique(pieces.ids) if self._every_term is None else self._every_term
        encoding = self._backend.encode(pieces, asked)
        phrases = phrases_of(document, pieces, encoding, asked, self._backend, self._settings, self._phrases)
        kept = np.flatnonzero(encoding.weights > 0) if self._every_term is not None else np.empty(0, np.int64)
        return EncodedDocument(asked[kept], encoding.weights[kept], phrases)


def choices_of(phrases: int, settings: Settings) -> dict[str, Any]:
    """`Analyser.choices`: what decides which phrases are kept of a document."""
    return {"phrases": phrases, **settings.extraction().to_dict()}


def as_the_paper(choices: Mapping[str, Any], most_terms: int, glossary_documents: int) -> bool:
    """Whether documents taken in so make the paper's collection: Top_10 by f, in a glossary of three documents (Eq. 9).

    `choices` are `Analyser.choices`.
    """
    same = choices == choices_of(TOP_PHRASES, Settings.paper_collection())
    return same and most_terms >= PAPER_TERMS and glossary_documents == PAPER_DOCUMENTS


def phrases_of(
    document: Document,
    pieces: Pieces,
    encoding: Encoding,
    asked: NDArray[np.int32],
    backend: Backend,
    settings: Settings,
    keep: int,
) -> list[Phrase]:
    """The best present phrases of a document; `asked` are the terms that were weighed, its own pieces at least."""
    alone = settings.extraction()
    candidates = find_candidates(document, encoding.tags, alone.max_words, whole=alone.whole_phrases)
    terms = backend.phrase_terms([candidate.form for candidate in candidates])
    ids = np.unique(np.concatenate((pieces.ids, terms.ids)))
    weights = np.zeros(backend.vocab_size, np.float32)
    weights[asked] = encoding.weights
    nothing = Neighbourhood.empty()
    pool = build_pool(candidates, terms, nothing, None, alone)
    combined = Weights.combine(ids, weights[ids], nothing, document.words, pieces)
    found = rank_present(pool, combined, alone, document, dict(enumerate(candidates)), keep)
    return [
        Phrase(candidates[i].fold, candidates[i].form, tuple(terms.ids[terms.indptr[i] : terms.indptr[i + 1]].tolist()))
        for i in found.ranked.pool.tolist()
    ]
