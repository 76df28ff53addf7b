"""What a reader of references gives: documents, who cites whom, and references to documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Protocol

from erukg.errors import InputError
from erukg.training.references.library import Citation, Library, Paper, canonical_id
from erukg.training.references.rows import Problems, Row, text_of

__all__ = ["Reader", "Reference", "paper_of"]


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference r with its positive and negative documents d⁺ and d⁻ (Section 2.1.2 of the paper).

    Documents are numbers in the library or, when the source itself brings their text, papers.
    """

    type: str
    text: str
    positive: Paper | int
    negative: Paper | int | None = None


class Reader(Protocol):
    """One source of references.

    The passes are made in this order, each over all sources before the next begins, so that a reference may
    name a document of any source. A reader defines only those it has something for.
    """

    def documents(self, problems: Problems) -> Iterator[Paper]:
        """Documents to be known by their id."""
        return iter(())

    def citations(self, library: Library, problems: Problems) -> Iterator[Citation]:
        """Who cites whom, for choosing negatives."""
        return iter(())

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        """The references; every choice is drawn from `random`."""
        return iter(())


def paper_of(row: Row, what: str = "the document") -> Paper:
    """The paper in a row with id, title and abstract (or text) under any of their usual names."""
    id = next((row[name] for name in ("id", "_id", "doc_id", "corpus_id", "paper_id") if row.get(name)), "")
    if not isinstance(id, str | int):
        raise InputError(f"the id of {what} must be text or a number")
    title, abstract = text_of(row, "title"), text_of(row, "abstract", "text", "body")
    if not title and not abstract:
        raise InputError(f"{what} has neither title nor abstract")
    return Paper(canonical_id(str(id)), title, abstract)
