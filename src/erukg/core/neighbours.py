"""What the generator needs from a background collection D, and nothing about how D is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FEW",
    "MORE",
    "NOWHERE",
    "Background",
    "Glossary",
    "Neighbourhood",
    "Source",
    "Support",
    "Terms",
    "WeightedTerms",
]

#: How many of the nearest neighbours are looked at by themselves: what only they have, and what many have.
FEW, MORE = 25, 100
#: The place of the nearest neighbour that has a phrase, where none has it.
NOWHERE = 10_000


@dataclass(frozen=True, slots=True)
class Terms:
    """The word pieces of a list of phrases, laid end to end: phrase i has ids[indptr[i]:indptr[i + 1]]."""

    indptr: NDArray[np.int64]
    ids: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many pieces each phrase has."""
        return self.indptr[1:] - self.indptr[:-1]

    @property
    def owners(self) -> NDArray[np.int64]:
        """The phrase of each piece."""
        return np.arange(len(self)).repeat(self.lengths)

    def take(self, rows: NDArray[np.int64]) -> Terms:
        """The same layout for the chosen phrases only, in the order given."""
        return self.rows(rows)[0]

    def rows(self, rows: NDArray[np.int64]) -> tuple[Terms, NDArray[np.int64] | slice]:
        """The same layout for the chosen phrases only, and where their pieces lie in this one."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (rows[1:] - rows[:-1] == 1).all():
            # Rows that follow one another, as those of one kind nearly always do.
            indptr = self.indptr[rows[0] : rows[-1] + 2]
            pieces = slice(int(indptr[0]), int(indptr[-1]))
            return Terms(indptr - indptr[0], self.ids[pieces]), pieces
        starts = self.indptr[rows]
        lengths = self.indptr[rows + 1] - starts
        indptr = np.zeros(len(rows) + 1, np.int64)
        lengths.cumsum(out=indptr[1:])
        index = np.arange(indptr[-1]) + (starts - indptr[:-1]).repeat(lengths)
        return Terms(indptr, np.asarray(self.ids[index], np.int32)), index


@dataclass(frozen=True, slots=True)
class Source:
    """A neighbour that an absent phrase was found in: its id, its share s̃ of the neighbourhood, and its title.

    The title is empty where the collection has none.
    """

    id: str
    share: float
    title: str = ""

    @property
    def name(self) -> str:
        """What to call it before people: its title, or else its id."""
        return self.title or self.id

    def to_dict(self) -> dict[str, str | float]:
        out: dict[str, str | float] = {"id": self.id, "share": self.share}
        if self.title:
            out["title"] = self.title
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Source:
        return cls(data["id"], float(data["share"]), data.get("title") or "")


class WeightedTerms(NamedTuple):
    """Distinct terms, ascending, and a weight for each."""

    ids: NDArray[np.int32]
    weights: NDArray[np.float32]


class Support(NamedTuple):
    """What speaks for each of the neighbours' phrases beside its share, one entry per phrase.

    few, more          its share of the nearest `FEW` and `MORE` neighbours
    few_holders        how many of these have it
    more_holders
    best               the place of the nearest neighbour that has it, from 0
    likeness           that neighbour's score beside the best one's
    near               Σ P(c | C̃_x') / (10 + place of x')
    titled             the share of the neighbours that have it in their title
    """

    few: NDArray[np.float32]
    more: NDArray[np.float32]
    few_holders: NDArray[np.float32]
    more_holders: NDArray[np.float32]
    best: NDArray[np.float32]
    likeness: NDArray[np.float32]
    near: NDArray[np.float32]
    titled: NDArray[np.float32]

    def take(self, rows: NDArray[np.int64]) -> Support:
        return Support(*(values[rows] for values in self))

    @staticmethod
    def none(n: int) -> Support:
        """Of phrases that no neighbour has."""
        nothing, nowhere = np.zeros(n, np.float32), np.full(n, NOWHERE, np.float32)
        return Support(nothing, nothing, nothing, nothing, nowhere, nothing, nothing, nothing)

    def followed_by(self, other: Support) -> Support:
        return Support(*(np.concatenate(both) for both in zip(self, other, strict=True)))


@dataclass(eq=False)
class Neighbourhood:
    """N(x) with everything of it that the equations read, already summed over the neighbours.

    documents      the neighbours' numbers in the collection, best first
    shares         s̃ of each, summing to 1 (empty when there is no neighbour)
    phrase_ids     distinct glossary phrases of all C̃_x', ascending
    phrase_shares  Σ s̃ P(c | C̃_x') of each
    term_ids       distinct terms of all neighbours, ascending
    term_weights   Σ s̃ w^x' of each
    fit            how much the text is like the collection's documents: 1 as the typical one, below 0 unlike them; None
                   where the collection does not know
    phrase_holders how many neighbours have each phrase; None where that is not known
    support        what else speaks for each phrase; None where that is not known

    Summing up the term weights takes time and not every ranking needs them, so `terms` may be a function: it is called
    once, when one of the last two is first asked for. A pickled neighbourhood holds the weights themselves.
    """

    documents: NDArray[np.int64]
    shares: NDArray[np.float32]
    phrase_ids: NDArray[np.int64]
    phrase_shares: NDArray[np.float32]
    terms: WeightedTerms | Callable[[], WeightedTerms]
    fit: float | None = None
    phrase_holders: NDArray[np.int64] | None = None
    support: Support | None = None

    @cached_property
    def _terms(self) -> WeightedTerms:
        return self.terms if isinstance(self.terms, WeightedTerms) else self.terms()

    @property
    def term_ids(self) -> NDArray[np.int32]:
        return self._terms.ids

    @property
    def term_weights(self) -> NDArray[np.float32]:
        return self._terms.weights

    @staticmethod
    def empty() -> Neighbourhood:
        numbers, values = np.empty(0, np.int64), np.empty(0, np.float32)
        return Neighbourhood(numbers, values, numbers, values, WeightedTerms(np.empty(0, np.int32), values))

    def __reduce__(self) -> tuple[type[Neighbourhood], tuple[Any, ...]]:
        known = (self.documents, self.shares, self.phrase_ids, self.phrase_shares, self._terms)
        return Neighbourhood, (*known, self.fit, self.phrase_holders, self.support)


class Glossary(Protocol):
    """G_D: the phrases that describe at least three documents of D, numbered from 0."""

    def __len__(self) -> int: ...

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of the phrase with each fold hash (`erukg.core.hashing.hash_phrases`), or -1."""
        ...

    def hashes(self, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The phrases' fold hashes."""
        ...

    def phrases(self, ids: NDArray[np.int64]) -> list[str]:
        """The phrases' most used written form, lower-cased."""
        ...

    def terms(self, ids: NDArray[np.int64]) -> Terms:
        """Their word pieces in the model's vocabulary."""
        ...

    def counts(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """In how many documents of D each is among the ten most informative phrases."""
        ...

    def titled(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of those documents have it in their title."""
        ...


class Background(Protocol):
    """D: finds a text's neighbours and knows their phrases and term weights."""

    @property
    def fingerprint(self) -> str:
        """The `Encoder.term_space` of the model whose term weights are stored."""
        ...

    @property
    def glossary(self) -> Glossary: ...

    def __len__(self) -> int: ...

    def neighbourhood(self, text: str, n: int, *, exclude: str | None = None, words: int = 0) -> Neighbourhood:
        """The `n` documents most similar to `text` by BM25; never the text itself nor the id `exclude`.

        Only so many `words` of the text, those that weigh most, are searched for; 0 is all of them.
        """
        ...

    def sources(self, neighbourhood: Neighbourhood, phrase_ids: NDArray[np.int64]) -> Sequence[tuple[Source, ...]]:
        """For each glossary phrase, the neighbours whose C̃_x' holds it, largest share first."""
        ...
