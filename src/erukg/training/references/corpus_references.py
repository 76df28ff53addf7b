"""References to documents of a corpus by their id: citation contexts, and queries or questions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from random import Random

from erukg.errors import InputError
from erukg.training.references.base import Reader, Reference
from erukg.training.references.library import Citation, Library, Paper, canonical_id
from erukg.training.references.rows import Problems, Row, parse_rows, text_of

__all__ = ["CitationContexts", "Queries", "without_names"]

_FEWEST_WORDS = 5
_NAME = r"[^\W\d_][\w'’-]+"
_NAMES_IN_BRACKETS = re.compile(rf"\(\s*(?:e\.g\.,?\s*|see\s+)?{_NAME}(?:\s+(?:and|&)\s+{_NAME}|\s+et al\b)[^()]*\)?")
_NAME_ET_AL = re.compile(rf"{_NAME}\s+et al\b\.*(?:\s*[(\[]\d{{4}}\w?[)\]]|,?\s*\d{{4}}\w?)?")


def without_names(context: str) -> str:
    """A citing sentence without the rest of its marker, "(Smith et al., 2015)": it is not about names."""
    text = _NAMES_IN_BRACKETS.sub(" ", context)
    text = _NAME_ET_AL.sub(" ", text)
    return re.sub(r"\s+([.,;:])", r"\1", " ".join(text.split()))


@dataclass(frozen=True)
class CitationContexts(Reader):
    """Rows {"context", "cited_id", "citing_id", "section"?}; the cited document is looked up in a corpus.

    The negative is a paper cited only in other sections of the same citing paper, else one cited elsewhere by
    it, else none. Documents cited by the same sentence are never each other's negatives.
    """

    files: Sequence[Path]

    def citations(self, library: Library, problems: Problems) -> Iterator[Citation]:
        # Bad rows are counted when the references are read.
        for _, citing, section, cited in parse_rows(self.files, Problems.quiet(), _context):
            if (number := library.find(cited)) is not None and citing:
                yield Citation(citing, number, section)

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        for path in self.files:
            contexts = parse_rows([path], problems, _context)
            for (text, citing, section), rows in groupby(contexts, key=lambda r: r[:3]):
                group = [number for *_, id in rows if (number := _known(id, library, problems)) is not None]
                if len(text.split()) < _FEWEST_WORDS:
                    problems.skip("citation context too short")
                    continue
                for positive in dict.fromkeys(group):
                    negatives = [n for n in library.cited_elsewhere(citing, section) if n not in group]
                    negatives = negatives or [n for n in library.cited_by(citing) if n not in group]
                    yield Reference("citation", text, positive, random.choice(negatives) if negatives else None)


def _context(row: Row) -> tuple[str, str, str, str]:
    """The context without names, the ids of citing paper, section and cited document."""
    context, cited = text_of(row, "context"), text_of(row, "cited_id")
    if not context:
        raise InputError("'context' is missing or empty")
    if not cited:
        raise InputError("'cited_id' is missing or empty")
    return without_names(context), canonical_id(text_of(row, "citing_id")), text_of(row, "section").casefold(), cited


def _known(id: str, library: Library, problems: Problems) -> int | None:
    if (number := library.find(id)) is None:
        problems.skip("document not in the corpus")
    return number


@dataclass(frozen=True)
class Queries(Reader):
    """Rows {"query", "doc_id" or "doc_text", "label"?, "source"?}.

    A label above 0 (the default) makes the document a positive, 0 a negative. A `doc_id` that
    is in the corpus goes before `doc_text`. A query without rows of label 0 has no negative.
    """

    files: Sequence[Path]

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        for path in self.files:
            negatives: dict[str, list[Paper | int]] = defaultdict(list)
            for query, document, label in self._rows(path, library, Problems.quiet()):
                if label <= 0:
                    negatives[query].append(document)
            for query, document, label in self._rows(path, library, problems):
                if label > 0:
                    others = negatives.get(query)
                    yield Reference("query", query, document, random.choice(others) if others else None)

    def _rows(self, path: Path, library: Library, problems: Problems) -> Iterator[tuple[str, Paper | int, float]]:
        for query, id, text, label in parse_rows([path], problems, _query):
            number = library.find(id) if id else None
            if number is None and not text:
                problems.skip("document not in the corpus")
                continue
            # A text beside an unknown id may be one passage of several, so it is known by its words alone.
            yield query, Paper("", "", text) if number is None else number, label


def _query(row: Row) -> tuple[str, str, str, float]:
    """The query, id and text of its document, and its label."""
    query, id, text, label = (
        text_of(row, "query"),
        text_of(row, "doc_id"),
        text_of(row, "doc_text"),
        row.get("label", 1),
    )
    if not query:
        raise InputError("'query' is missing or empty")
    if not id and not text:
        raise InputError("'doc_id' or 'doc_text' is needed")
    label = row.get("label", 1)
    if not isinstance(label, int | float):
        raise InputError("'label' must be a number")
    return query, id, text, label
