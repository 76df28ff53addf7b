"""What the generator needs from a model, and nothing about how the model is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.core.neighbours import Terms

if TYPE_CHECKING:
    from erukg.core.affinity import Affinity
    from erukg.core.ranker import Ranker

__all__ = ["INNER", "MARK", "WORD", "Backend", "Encoding", "Pieces"]

#: What a term is: a word or the beginning of one, a piece that only continues a word, or a punctuation mark.
WORD, INNER, MARK = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Pieces:
    """The word pieces of a text: word i has ids[starts[i]:starts[i + 1]], possibly none.

    `tags` are the classes of the words, where the model tells them before its encoder runs.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    tags: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True)
class Encoding:
    """What one pass gives: w^x of the requested terms, each word's tag class, and the document's vector."""

    weights: NDArray[np.float32]
    tags: NDArray[np.int8]
    vector: NDArray[np.float32]


class Backend(Protocol):
    """A term-importance model (Eq. 1) with a tag head; thread-safe.

    name         the model's name, for people
    fingerprint  of its weights
    term_space   the fingerprint of the model whose term weights this one gives: models of one term space read the
                 same collections
    vocab_size   how many terms there are
    ranker       its learned ranking of absent phrases, if it has one
    affinity     what tells how near phrases come to a text in meaning, if it has that
    """

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def term_space(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...

    @property
    def ranker(self) -> Ranker | None: ...

    @property
    def affinity(self) -> Affinity | None: ...

    @property
    def term_kinds(self) -> NDArray[np.int8]:
        """What each term of the vocabulary is: `WORD`, `INNER` or `MARK`."""
        ...

    def pieces(self, words: Sequence[str]) -> Pieces:
        """The word pieces of each word of a text."""
        ...

    def phrase_terms(self, phrases: Sequence[str]) -> Terms:
        """The word pieces c_i of each phrase c."""
        ...

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The written form of word pieces."""
        ...

    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
        """Run the model over a text of any length; weights are those of `terms`, in their order."""
        ...

    def encode_batch(self, texts: Sequence[tuple[Pieces, NDArray[np.int32]]]) -> list[Encoding]:
        """`encode` of several texts; on a GPU, in one pass."""
        ...
