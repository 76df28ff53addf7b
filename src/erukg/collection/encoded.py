"""What a collection keeps of a document, and who makes it: the protocol between models and collections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.collection.tags import Tag
from erukg.core.arguments import check_fields
from erukg.core.streams import Answer

__all__ = [
    "BY_SIZE",
    "TOP_PHRASES",
    "Analyser",
    "DocumentRecord",
    "EncodedDocument",
    "Phrase",
    "check_document",
    "glossary_threshold",
]

#: How many phrases of a document are kept (the paper's pruning strategy 1).
TOP_PHRASES = 10
#: Instead of how many documents a phrase must describe to be in the glossary: as many as suit a collection of its size.
BY_SIZE = 0
# The largest collections in which one document is enough, and in which two are.
_ONE, _TWO = 20_000, 100_000


def glossary_threshold(documents: int) -> int:
    """How many documents of a collection of this size must have a phrase for it to be lent.

    In a large collection a phrase of one document is mostly noise; a small one would have next to nothing to lend.
    """
    return 1 if documents <= _ONE else 2 if documents <= _TWO else 3


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document to be put into a collection. `place` says where it was read, for messages.

    `title` is what people read where the document is a source of a phrase; empty if it has none. `tags` are subjects
    that people gave it.
    """

    id: str
    text: str
    place: str = ""
    title: str = ""
    tags: tuple[Tag, ...] = ()


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


def check_document(record: DocumentRecord, document: EncodedDocument) -> None:
    """Refuse a document with fields of other types than they are to have."""
    check_fields(record)
    check_fields(document)
    for phrase in document.phrases:
        check_fields(phrase)


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
