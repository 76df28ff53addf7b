"""Corpora, JSON Lines with id, title and abstract, and references to their documents: titles, contexts, queries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from random import Random

from erukg.errors import InputError
from erukg.training.references.base import Citation, Library, Paper, Reader, Reference, canonical_id, paper_of
from erukg.training.references.rows import Problems, Row, parse_rows, text_of

__all__ = ["CitationContexts", "Corpus", "Queries", "Titles", "title_reference", "without_names"]

# Shorter titles ("Editorial", "Preface") and abstracts ("Withdrawn.") say nothing about each other.
_FEWEST_TITLE_WORDS = 2
_FEWEST_ABSTRACT_WORDS = 10
_FEWEST_WORDS = 5
_NAME = r"[^\W\d_][\w'’-]+"
_NAMES_IN_BRACKETS = re.compile(rf"\(\s*(?:e\.g\.,?\s*|see\s+)?{_NAME}(?:\s+(?:and|&)\s+{_NAME}|\s+et al\b)[^()]*\)?")
_NAME_ET_AL = re.compile(rf"{_NAME}\s+et al\b\.*(?:\s*[(\[]\d{{4}}\w?[)\]]|,?\s*\d{{4}}\w?)?")


class Corpus(Reader):
    """Documents that references of other sources name by id."""

    def documents(self, problems: Problems) -> Iterator[Paper]:
        return parse_rows(self.files, problems, paper_of)


class Titles(Corpus):
    """A corpus whose titles are references to their abstracts.

    The negative is another article cited by the same paper where that is known, else any other document.
    """

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        seen: set[str] = set()
        # Bad rows were counted when the documents were read.
        for paper in self.documents(Problems(tolerance=1)):
            if paper.id and paper.id in seen:
                problems.skipped["title of a document that came before"] += 1
                continue
            seen.add(paper.id)
            reference = title_reference(paper, library.cited_by(paper.id) if paper.id else (), library, random)
            if reference is None:
                problems.skipped["title or abstract too short for a title reference"] += 1
            else:
                yield reference


def title_reference(paper: Paper, cited: Sequence[int], library: Library, random: Random) -> Reference | None:
    """title → abstract of one paper; the negative is one of `cited`, else any document of the library."""
    if len(paper.title.split()) < _FEWEST_TITLE_WORDS or len(paper.abstract.split()) < _FEWEST_ABSTRACT_WORDS:
        return None
    own = library.find(paper.id) if paper.id else None
    negative: int | None = None
    if others := [number for number in cited if number != own]:
        negative = random.choice(others)
    elif len(library) > 1:
        negative = random.randrange(len(library))
        if negative == own:
            negative = (negative + 1) % len(library)
    return Reference("title", paper.title, paper, negative)


def without_names(context: str) -> str:
    """A citing sentence without the rest of its marker, "(Smith et al., 2015)": it is not about names."""
    text = _NAMES_IN_BRACKETS.sub(" ", context)
    text = _NAME_ET_AL.sub(" ", text)
    return re.sub(r"\s+([.,;:])", r"\1", " ".join(text.split()))


class CitationContexts(Reader):
    """Rows {"context", "cited_id", "citing_id", "section"?}; the cited document is looked up in a corpus.

    The negative is a paper cited only in other sections of the same citing paper, else one cited elsewhere by
    it, else none. Documents cited by the same sentence are never each other's negatives.
    """

    def citations(self, library: Library, problems: Problems) -> Iterator[Citation]:
        # Bad rows are counted when the references are read.
        for _, citing, section, cited in parse_rows(self.files, Problems(tolerance=1), _context):
            if (number := library.find(cited)) is not None and citing:
                yield Citation(citing, number, section)

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        for path in self.files:
            contexts = parse_rows([path], problems, _context)
            for (text, citing, section), rows in groupby(contexts, key=lambda r: r[:3]):
                found = [library.find(id) for *_, id in rows]
                group = [number for number in found if number is not None]
                if unknown := len(found) - len(group):
                    problems.skipped["document not in the corpus"] += unknown
                if len(text.split()) < _FEWEST_WORDS:
                    problems.skipped["citation context too short"] += 1
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


class Queries(Reader):
    """Rows {"query", "doc_id" or "doc_text", "label"?, "source"?}.

    A label above 0 (the default) makes the document a positive, 0 a negative. A `doc_id` that
    is in the corpus goes before `doc_text`. A query without rows of label 0 has no negative.
    """

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        for path in self.files:
            negatives: dict[str, list[Paper | int]] = defaultdict(list)
            for query, document, label in self._rows(path, library, Problems(tolerance=1)):
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
                problems.skipped["document not in the corpus"] += 1
                continue
            # A text beside an unknown id may be one passage of several, so it is known by its words alone.
            yield query, Paper("", "", text) if number is None else number, label


def _query(row: Row) -> tuple[str, str, str, float]:
    """The query, id and text of its document, and its label."""
    query, id, text = (text_of(row, name) for name in ("query", "doc_id", "doc_text"))
    if not query:
        raise InputError("'query' is missing or empty")
    if not id and not text:
        raise InputError("'doc_id' or 'doc_text' is needed")
    label = row.get("label", 1)
    if not isinstance(label, int | float):
        raise InputError("'label' must be a number")
    return query, id, text, label
