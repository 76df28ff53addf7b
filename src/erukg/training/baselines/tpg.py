"""What TPG learns from: abstracts, and the noun phrases of the titles above them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from erukg.errors import TrainingError
from erukg.research.baselines.tagged import Reader
from erukg.training.baselines.packing import Example
from erukg.training.references.base import paper_of
from erukg.training.references.rows import Problems, parse_rows

__all__ = ["examples"]

_LONGEST_PHRASE = 4  # words, as its authors have it
_TAGGER = Reader("model", "tiny")


def examples(files: Sequence[Path], seed: int = 0) -> Iterator[Example]:
    """The abstract with the phrases of the title, in it or not. `seed` changes nothing: all documents are taken.

    Rows are {"title", "abstract"}. Titles are tagged by the smallest bundled model, and their phrases are adjectives
    and nouns that end in a noun.
    """
    found = 0
    for paper in parse_rows(files, Problems(), paper_of):
        if not paper.title or not paper.abstract:
            continue
        phrases = [phrase.form.lower() for phrase in _TAGGER.read(paper.title).phrases(_LONGEST_PHRASE)]
        if phrases:
            found += 1
            yield Example(paper.abstract, tuple(phrases))
    if not found:
        raise TrainingError("No document has both a title with a phrase and an abstract; give a corpus of papers.")
