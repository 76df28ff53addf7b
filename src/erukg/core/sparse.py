"""Sparse vectors: a text as the model's weights of vocabulary terms, for engines that search such vectors.

The weights say how much a text is about a term, not how rare the term is, and some terms get weight in many texts. So
the chosen weights of a query are multiplied by idf, counted over the vectors of the documents (`TermCounts`); those of
documents stay as they are. Counting in the vectors and not in the texts also weakens what the model gives to any text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from erukg.core.arguments import checked
from erukg.core.backend import Backend
from erukg.core.document import Document
from erukg.core.inputs import as_item, checked_count
from erukg.core.lexicon import FUNCTION_WORDS
from erukg.core.notices import NOT_ENGLISH, TOO_SHORT, LanguageOf, notices_of
from erukg.core.results import Notice
from erukg.errors import InputError

__all__ = ["TERMS", "SparseEncoder", "SparseVector", "TermCounts"]

#: How many terms a vector has unless told otherwise.
TERMS = 128
_DIGITS = 4
_FORMAT, _VERSION = "erukg-term-counts", 1


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A text as weighted terms of the model's vocabulary, the heaviest first; all weights are above 0.

    indices   the terms' numbers in the vocabulary
    values    their weights, to four significant digits
    tokens    the terms as the vocabulary writes them; "##ing" only continues a word
    notices   what to keep in mind of the text
    """

    indices: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    tokens: tuple[str, ...] = ()
    id: str | None = None
    notices: tuple[Notice, ...] = ()

    def __len__(self) -> int:
        return len(self.indices)

    def weights(self) -> dict[str, float]:
        """Token and weight, as engines want them that name their features."""
        return dict(zip(self.tokens, self.values, strict=True))

    def dot(self, other: SparseVector) -> float:
        """How well two texts fit: the sum over the terms they share of the products of their weights."""
        mine = dict(zip(self.indices, self.values, strict=True))
        pairs = zip(other.indices, other.values, strict=True)
        return sum(mine[index] * value for index, value in pairs if index in mine)


class TermCounts:
    """In how many vectors of a corpus each term of the vocabulary stands.

    term_space  of the model that made the vectors (`Backend.term_space`)
    documents   how many vectors were counted
    """

    @checked
    def __init__(self, term_space: str, vocab_size: int) -> None:
        self.term_space, self.documents = term_space, 0
        self._counts = np.zeros(checked_count(vocab_size, "vocab_size", 1 << 24), np.int64)

    def __len__(self) -> int:
        """How many terms the vocabulary has."""
        return len(self._counts)

    @checked
    def add(self, indices: Sequence[int]) -> None:
        """Count the vector with these terms; an empty one, which nothing finds, does not count."""
        if len(indices):
            if not 0 <= min(indices) <= max(indices) < len(self):
                raise InputError(f"The vocabulary has terms 0 to {len(self) - 1}; others were given.")
            self._counts[list(indices)] += 1
            self.documents += 1

    def idf(self) -> NDArray[np.float64]:
        """ln(1 + (N - n + ½) / (n + ½)) of each term, as BM25 has it; a term of no vector gets what one of one has."""
        counts = np.maximum(self._counts, 1)
        return np.log1p((self.documents - counts + 0.5) / (counts + 0.5))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; terms that no vector has are left out."""
        present = np.flatnonzero(self._counts).tolist()
        counts = {str(index): int(self._counts[index]) for index in present}
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "term_space": self.term_space,
            "documents": self.documents,
            "counts": counts,
        }

    @classmethod
    @checked
    def from_dict(cls, data: Mapping[str, Any], vocab_size: int) -> TermCounts:
        """The counts again; raises InputError for anything that `to_dict` cannot have given."""
        if data.get("format") != _FORMAT or data.get("version") != _VERSION:
            raise InputError("It does not hold term counts as erukg encode --save-idf writes them.")
        space, documents, counts = data.get("term_space"), data.get("documents"), data.get("counts")
        if not isinstance(space, str) or not _is_count(documents) or not isinstance(counts, dict):
            raise InputError("It lacks the model, the number of documents or the counts; write it again.")
        out = cls(space, vocab_size)
        out.documents = documents
        for name, count in counts.items():
            index = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else vocab_size
            if index >= vocab_size or not _is_count(count) or not 0 < count <= documents:
                raise InputError(f"The count of term {name[:20]!r} cannot be right; write the file again.")
            out._counts[index] = count
        return out


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


class SparseEncoder:
    """Texts to sparse vectors, by the weights that a model gives to its whole vocabulary."""

    @checked
    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._every_term = np.arange(backend.vocab_size, dtype=np.int32)
        self._tokens = backend.tokens(self._every_term.tolist())
        self._usable = np.array([_is_dimension(token) for token in self._tokens], np.bool_)

    def idf(self, counts: TermCounts | None) -> NDArray[np.float64] | None:
        """Of every term, from counts over vectors of this model; raises InputError for those of another one."""
        if counts is None:
            return None
        if counts.term_space != self._backend.term_space or len(counts) != len(self._tokens):
            raise InputError(
                "The term counts were made with another model than the one given; encode the documents again with "
                "this model, or give the model they were made with."
            )
        return counts.idf()

    def encode(
        self,
        item: object,
        terms: int,
        idf: NDArray[np.float64] | None = None,
        language_of: LanguageOf | None = None,
    ) -> SparseVector:
        """The vector of an item of a stream: its `terms` largest weights, multiplied by `idf` if there is any.

        A text without words, or of words like "the" and "of" alone, has an empty one: what a model makes of those is
        about nothing.
        """
        given = as_item(item)
        document = given.parsed or Document.parse(given.text)
        indices: list[int] = []
        weights = np.empty(0)
        if any(word not in FUNCTION_WORDS and any(map(str.isalnum, word)) for word in map(str.lower, document.words)):
            pieces = self._backend.pieces(document.words)
            weights = np.where(self._usable, self._backend.encode(pieces, self._every_term).weights, 0).astype(float)
            chosen = _largest(weights, np.flatnonzero(weights > 0), terms)
            if idf is not None:
                weights = weights * idf
                chosen = _largest(weights, np.sort(chosen), terms)
            indices = chosen.tolist()
        return SparseVector(
            tuple(indices),
            tuple([float(f"{weights[index]:.{_DIGITS}g}") for index in indices]),
            tuple([self._tokens[index] for index in indices]),
            given.id,
            _notices(document, language_of, empty=not indices),
        )


def _notices(document: Document, language_of: LanguageOf | None, *, empty: bool) -> tuple[Notice, ...]:
    """What the text calls for where its vector is all that is wanted; one word is as good as many then."""
    if empty:
        return (Notice(TOO_SHORT, "The text has no words that say anything, so its vector is empty."),)
    if any(notice.code == NOT_ENGLISH for notice in notices_of(document, language_of)):
        return (Notice(NOT_ENGLISH, "The text does not seem to be English, which the model is made for."),)
    return ()


def _is_dimension(token: str) -> bool:
    """Whether a term can be one of a text: no mark and no [CLS]. Engines refuse names with a dot in them."""
    form = token.removeprefix("##")
    return any(map(str.isalnum, form)) and not form.startswith("[") and "." not in form


def _largest(weights: NDArray[np.float64], found: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Of the places `found`, which ascend, the `most` of largest weight in falling order; of equal ones the first."""
    if 0 < most < len(found):
        least = np.partition(weights[found], len(found) - most)[len(found) - most]
        found = found[weights[found] >= least]
    return found[np.argsort(-weights[found], kind="stable")][:most]
