"""What readers of references give: documents in a library, who cites whom, and references to documents."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Protocol

from erukg.errors import InputError
from erukg.training.references.rows import Problems, Row, text_of

__all__ = ["Citation", "Library", "Paper", "Reader", "Reference", "canonical_id", "paper_of"]


@dataclass(frozen=True, slots=True)
class Paper:
    """A document that is referred to. `id` is "" when it has none."""

    id: str
    title: str
    abstract: str


@dataclass(frozen=True, slots=True)
class Citation:
    """The paper `citing` cites document `cited` of the library in `section` ("" when not known)."""

    citing: str
    cited: int
    section: str = ""


_ADDRESSES = {
    "arxiv": re.compile(r"^(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf)/|^arxiv:\s*", re.IGNORECASE),
    "doi": re.compile(r"^(?:https?://)?(?:dx\.)?doi\.org/|^doi:\s*", re.IGNORECASE),
    "openalex": re.compile(r"^(?:https?://)?(?:api\.)?openalex\.org/(?:works/)?|^openalex:\s*", re.IGNORECASE),
}
_ARXIV_VERSION = re.compile(r"(?:\.pdf)?(?:v\d+)?$", re.IGNORECASE)


def canonical_id(id: str) -> str:
    """One spelling for an identifier, so that `https://doi.org/10.1/X` finds `doi:10.1/x`.

    >>> canonical_id("https://arxiv.org/abs/2105.05862v2")
    'arxiv:2105.05862'
    """
    id = id.strip()
    for name, address in _ADDRESSES.items():
        if match := address.match(id):
            bare = id[match.end() :]
            return f"{name}:{_ARXIV_VERSION.sub('', bare) if name == 'arxiv' else bare}".lower()
    return id


class TextWriter(Protocol):
    """Where the texts of a library are stored (`erukg.training.pieces.PieceWriter`)."""

    def __len__(self) -> int: ...

    def add(self, first: str, second: str = "") -> int:
        """Store title and abstract; returns their number."""
        ...


class Library:
    """Numbers documents in the order they come; the same id or the same text is the same document.

    Only ids and digests stay in memory, the text goes to the writer.
    """

    def __init__(self, writer: TextWriter) -> None:
        self._writer = writer
        self._by_id: dict[str, int] = {}
        self._by_text: dict[bytes, int] = {}
        self._cited: dict[str, dict[str, array[int]]] = {}

    def __len__(self) -> int:
        return len(self._writer)

    def add(self, paper: Paper) -> int:
        """The number of a document, stored now if it is new."""
        if paper.id and (number := self._by_id.get(paper.id)) is not None:
            return number
        text = " ".join(f"{paper.title}\n{paper.abstract}".casefold().split()).encode("utf-8")
        digest = blake2b(text, digest_size=12).digest()
        number = self._by_text.get(digest)
        if number is None:
            number = self._by_text[digest] = self._writer.add(paper.title, paper.abstract)
        if paper.id:
            self._by_id[paper.id] = number
        return number

    def find(self, id: str) -> int | None:
        """The number of the document with this id in any usual spelling."""
        number = self._by_id.get(id)
        return self._by_id.get(canonical_id(id)) if number is None else number

    def cite(self, citation: Citation) -> None:
        """Remember one citation."""
        sections = self._cited.setdefault(citation.citing, {})
        cited = sections.setdefault(citation.section, array("i"))
        if citation.cited not in cited:
            cited.append(citation.cited)

    def cited_by(self, citing: str) -> Sequence[int]:
        """All documents cited by a paper, in the order read."""
        return list(dict.fromkeys(n for cited in self._cited.get(citing, {}).values() for n in cited))

    def cited_elsewhere(self, citing: str, section: str) -> Sequence[int]:
        """The documents a paper cites in named sections, but not in `section`; none if that is unknown."""
        sections = self._cited.get(citing, {})
        if not section:
            return ()
        here = set(sections.get(section, ()))
        return list(dict.fromkeys(n for name, cited in sections.items() if name for n in cited if n not in here))


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference r with its positive and negative documents d⁺ and d⁻ (Section 2.1.2 of the paper).

    Documents are numbers in the library or, when the source itself brings their text, papers.
    """

    type: str
    text: str
    positive: Paper | int
    negative: Paper | int | None = None


@dataclass(frozen=True)
class Reader:
    """One source of references: files of one form.

    The passes are made in this order, each over all sources before the next begins, so that a reference may
    name a document of any source. A reader defines only those it has something for.
    """

    files: Sequence[Path]

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
