"""What a reader of references gives: documents, who cites whom, and references to documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from erukg.training.references.rows import Problems, Row, RowError, text_of

__all__ = ["Citation", "Library", "Paper", "Reader", "Reference", "canonical_id", "paper_of"]


@dataclass(frozen=True, slots=True)
class Paper:
    """A document that is referred to. `id` is "" when it has none."""

    id: str
    title: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference r with its positive and negative documents d⁺ and d⁻ (Section 2.1.2 of the paper).

    Documents are numbers in the library or, when the source itself brings their text, papers.
    """

    type: str
    text: str
    positive: Paper | int
    negative: Paper | int | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """The paper `citing` cites document `cited` of the library in `section` ("" when not known)."""

    citing: str
    cited: int
    section: str = ""


class Library(Protocol):
    """The documents known so far and the citations among them."""

    def __len__(self) -> int: ...

    def find(self, id: str) -> int | None:
        """The number of the document with this id."""

    def cited_by(self, citing: str) -> Sequence[int]:
        """All documents cited by a paper, in the order read."""

    def cited_elsewhere(self, citing: str, section: str) -> Sequence[int]:
        """The documents a paper cites only outside `section`; none when the section is not known."""


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


_DOI = re.compile(r"^(?:https?://)?(?:dx\.)?doi\.org/|^doi:\s*", re.IGNORECASE)
_ARXIV = re.compile(r"^(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf)/|^arxiv:\s*", re.IGNORECASE)
_OPENALEX = re.compile(r"^(?:https?://)?(?:api\.)?openalex\.org/(?:works/)?|^openalex:\s*", re.IGNORECASE)
_VERSION = re.compile(r"(?:\.pdf)?(?:v\d+)?$", re.IGNORECASE)


def canonical_id(id: str) -> str:
    """One spelling for an identifier, so that `https://doi.org/10.1/X` finds `doi:10.1/x`.

    >>> canonical_id("https://arxiv.org/abs/2105.05862v2")
    'arxiv:2105.05862'
    """
    id = id.strip()
    if match := _ARXIV.match(id):
        return "arxiv:" + _VERSION.sub("", id[match.end() :]).lower()
    if match := _DOI.match(id):
        return "doi:" + id[match.end() :].lower()
    if match := _OPENALEX.match(id):
        return "openalex:" + id[match.end() :].lower()
    return id


def paper_of(row: Row, what: str = "the document") -> Paper:
    """The paper in a row with id, title and abstract (or text) under any of their usual names."""
    id = next((row[name] for name in ("id", "_id", "doc_id", "corpus_id", "paper_id") if row.get(name)), "")
    if not isinstance(id, str | int):
        raise RowError(f"the id of {what} must be text or a number")
    title, abstract = text_of(row, "title"), text_of(row, "abstract", "text", "body")
    if not title and not abstract:
        raise RowError(f"{what} has neither title nor abstract")
    return Paper(canonical_id(str(id)), title, abstract)
