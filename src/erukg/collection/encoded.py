"""What a collection keeps of a document, and who makes it: the protocol between models and collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.core.streams import Answer

__all__ = ["GLOSSARY_DOCUMENTS", "TOP_PHRASES", "Analyser", "DocumentRecord", "EncodedDocument", "Phrase"]

#: How many phrases of a document are kept (the paper's pruning strategy 1).
TOP_PHRASES = 10
#: How many documents a phrase must describe to be in the glossary.
GLOSSARY_DOCUMENTS = 3


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document to be put into a collection. `place` says where it was read, for messages.

    `title` is what people read where the document is a source of a phrase; empty if it has none.
    """

    id: str
    text: str
    place: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase of a document: `erukg.core.folding.fold` of it, its written form and that form's word pieces."""

    fold: str
    form: str
    terms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """A document's term weights w^x (any number, any order, only those above 0) and its best phrases."""

    term_ids: NDArray[np.integer]
    term_weights: NDArray[np.floating]
    phrases: Sequence[Phrase]


class Analyser(Protocol):
    """Turns texts into what a collection keeps of them."""

    @property
    def fingerprint(self) -> str:
        """Of the model: collections made with another one do not mix with this."""
        ...

    @property
    def vocab_size(self) -> int: ...

    @property
    def choices(self) -> dict[str, Any]:
        """All that decides what it gives beside the model, as plain data: a build goes on only with the same."""
        ...

    def encode(self, texts: Iterable[str]) -> Iterator[Answer[str, EncodedDocument]]:
        """An answer for each text, in order, in constant memory; a few texts are taken ahead of the answers."""
        ...
