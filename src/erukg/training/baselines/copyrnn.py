"""What CopyRNN learns from: documents and the keywords that their authors gave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from erukg.errors import InputError, TrainingError
from erukg.research.baselines.neural.vocabulary import words
from erukg.training.baselines.packing import Example
from erukg.training.references.base import paper_of
from erukg.training.references.rows import Problems, Row, list_of, parse_rows, text_of

__all__ = ["examples"]


def examples(files: Sequence[Path], seed: int = 0) -> Iterator[Example]:
    """Title and abstract with the keywords. `seed` changes nothing: all documents are taken, in their order.

    Rows {"title", "abstract", "keyphrases"} stand for themselves. Rows with keywords and no abstract get it from the
    rows {"title", "abstract"} of any of the files, by title.
    """
    keywords: dict[str, tuple[str, ...]] = {}
    for title, abstract, phrases in parse_rows(files, Problems(), _row):
        if phrases and not abstract:
            keywords.setdefault(_key(title), phrases)
    found = 0
    for title, abstract, phrases in parse_rows(files, Problems(tolerance=1), _row):
        wanted = phrases or keywords.pop(_key(title), ())
        if abstract and wanted:
            found += 1
            yield Example(f"{title}\n{abstract}", wanted)
    if not found:
        raise TrainingError(
            "No document has both keywords and an abstract; give files of documents with 'keyphrases', and the corpus "
            "in which their abstracts stand under the same titles."
        )


def _row(row: Row) -> tuple[str, str, tuple[str, ...]]:
    """Title, abstract and keywords."""
    phrases = list_of(row, "keyphrases")
    if not all(isinstance(phrase, str) for phrase in phrases):
        raise InputError("'keyphrases' must be a list of texts")
    if phrases and not text_of(row, "abstract"):
        return text_of(row, "title"), "", tuple(phrases)
    paper = paper_of(row)
    return paper.title, paper.abstract, tuple(phrases)


def _key(title: str) -> str:
    """What two spellings of a title share."""
    return " ".join(words(title))
