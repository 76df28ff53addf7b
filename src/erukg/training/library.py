"""The documents that references point to, each stored once, and who cites whom among them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from hashlib import blake2b

from erukg.training.pieces import PieceWriter
from erukg.training.references.base import Citation, Paper, canonical_id

__all__ = ["DocumentLibrary"]


class DocumentLibrary:
    """Numbers documents in the order they come; the same id or the same text is the same document.

    Only ids and digests stay in memory, the text goes to the writer.
    """

    def __init__(self, writer: PieceWriter) -> None:
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
