"""Corpora, JSON Lines with id, title and abstract: documents to look up, and their titles as references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from erukg.training.references.base import Reader, Reference, paper_of
from erukg.training.references.library import Library, Paper
from erukg.training.references.rows import Problems, parse_rows

__all__ = ["Corpus", "Titles", "title_reference"]

# Shorter titles ("Editorial", "Preface") and abstracts ("Withdrawn.") say nothing about each other.
_FEWEST_TITLE_WORDS = 2
_FEWEST_ABSTRACT_WORDS = 10


@dataclass(frozen=True)
class Corpus(Reader):
    """Documents that references of other sources name by id."""

    files: Sequence[Path]

    def documents(self, problems: Problems) -> Iterator[Paper]:
        return parse_rows(self.files, problems, paper_of)


@dataclass(frozen=True)
class Titles(Corpus):
    """A corpus whose titles are references to their abstracts.

    The negative is another article cited by the same paper where that is known, else any other document.
    """

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        seen: set[str] = set()
        quiet = Problems.quiet()  # bad rows were counted when the documents were read
        for paper in self.documents(quiet):
            if paper.id and paper.id in seen:
                problems.skip("title of a document that came before")
                continue
            seen.add(paper.id)
            reference = title_reference(paper, library.cited_by(paper.id) if paper.id else (), library, random)
            if reference is None:
                problems.skip("title or abstract too short for a title reference")
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
