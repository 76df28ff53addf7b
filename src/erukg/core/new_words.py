"""The model's best words that a query does not have."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from erukg.core.analysis import Prepared
from erukg.core.backend import INNER, WORD, Backend, Encoding
from erukg.core.neighbours import Glossary
from erukg.core.search_words import STOP_WORDS, search_words
from erukg.core.stems import stem_phrase

__all__ = ["NewWords"]

_LOOKED_AT = 4  # times as many terms as are wanted: some are words of the query with another ending


class NewWords:
    """Which terms of a vocabulary are words to search for: whole words of the glossary's phrases, if there is one.

    A vocabulary also has beginnings of words, such as "cho" for "cholesterol", and what no document speaks of.
    """

    def __init__(self, backend: Backend, glossary: Glossary | None) -> None:
        self._backend, self._glossary = backend, glossary

    @cached_property
    def terms(self) -> NDArray[np.int32]:
        """The terms, ascending, that the model is to weigh."""
        return np.flatnonzero(self._are_words).astype(np.int32)

    @cached_property
    def _are_words(self) -> NDArray[np.bool_]:
        """Of every term of the vocabulary, whether it is such a word."""
        kinds = self._backend.term_kinds
        if self._glossary is None or not len(self._glossary):
            return np.asarray(kinds == WORD)
        found = self._glossary.terms(np.arange(len(self._glossary)))
        goes_on = np.append(kinds[found.ids[1:]] == INNER, False)
        goes_on[found.indptr[1:] - 1] = False
        whole = np.zeros(self._backend.vocab_size, np.bool_)
        whole[found.ids[~goes_on]] = True
        return np.asarray(whole & (kinds == WORD))

    def best(self, query: str, prepared: Prepared, encoding: Encoding, most: int) -> list[tuple[str, float]]:
        """So many words at most, of three letters or more, with their weights; none is in the query in another form."""
        words = search_words(query)
        if all(word in STOP_WORDS for word in words):
            return []
        weights = np.where(self._are_words[prepared.terms], encoding.weights, 0.0)
        weights[np.isin(prepared.terms, prepared.pieces.ids)] = 0.0
        order = np.argsort(-weights, kind="stable")[: _LOOKED_AT * most]
        order = order[weights[order] > 0]
        known = {stem_phrase(word) for word in words}
        out: list[tuple[str, float]] = []
        tokens = self._backend.tokens(prepared.terms[order].tolist())
        for token, weight in zip(tokens, weights[order].tolist(), strict=True):
            stem = stem_phrase(token)
            if len(token) > 2 and token.isalpha() and token not in STOP_WORDS and stem not in known:
                known.add(stem)
                out.append((token, weight))
        return out[:most]
