"""What a ranking of subjects is learned from: tagged documents, and what speaks for which concepts of each.

A document never votes for itself, so that its evidence is that of a text which the archive does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.backends.threads import ordered_map
from erukg.collection import Collection
from erukg.collection.analysis import terms_of
from erukg.core.document import Document
from erukg.core.inputs import BadDocument, InputDocument
from erukg.subjects import Suggester
from erukg.subjects.evidence import ARCHIVE, LABELS, VOTES
from erukg.subjects.matching import find_labels
from erukg.subjects.votes import TaggedDocuments
from erukg.training.ranking.samples import draw

__all__ = ["Lesson", "TaggedText", "read_lessons", "tagged_texts"]


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A document of the archive with its text, and the concepts that it carries."""

    id: str
    text: str
    concepts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a document teaches.

    concepts  that it carries, and those whose labels stand in its text
    named
    terms     the stems of its text
    seen      concepts that something speaks for, and the numbers of each (`LABELS`, `VOTES`); None where the document
    features  only teaches about concepts
    """

    concepts: NDArray[np.int64]
    named: NDArray[np.int64]
    terms: NDArray[np.uint64]
    seen: NDArray[np.int64] | None = None
    features: NDArray[np.float32] | None = None


def tagged_texts(
    rows: Iterable[InputDocument | BadDocument],
    collection: Collection,
    archive: TaggedDocuments,
    seed: int,
    on_bad: Callable[[BadDocument], None] | None = None,
) -> tuple[list[TaggedText], int]:
    """The documents that the archive holds with a tag of the vocabulary, in an order drawn by `seed`, and how many rows
    were bad; of those with one id the first.
    """
    numbers = collection.documents()
    held = dict(zip(collection.ids(numbers), numbers.tolist(), strict=True))
    found: dict[str, InputDocument] = {}
    bad = 0
    for row in rows:
        if isinstance(row, BadDocument):
            bad += 1
            if on_bad is not None:
                on_bad(row)
        elif row.id in held:
            found.setdefault(row.id, row)
    order = sorted(found, key=lambda id: (draw(seed, id), id))
    tags = collection.tags_of(np.array([held[id] for id in order], np.int64))
    out = []
    for id, own in zip(order, tags, strict=True):
        concepts = {concept for tag in own if (concept := archive.concept(tag.uri, tag.label)) >= 0}
        if concepts:
            out.append(TaggedText(id, found[id].text, tuple(sorted(concepts))))
    return out, bad


def read_lessons(
    suggester: Suggester, texts: Sequence[TaggedText], most: int, threads: int | None = None
) -> Iterator[Lesson]:
    """What each document teaches; of the first `most` also what speaks for its concepts."""

    def lesson(numbered: tuple[int, TaggedText]) -> Lesson:
        number, text = numbered
        concepts = np.array(text.concepts, np.int64)
        document = Document.parse(text.text)
        if number >= most:
            named = np.unique(find_labels(document, suggester.vocabulary).concepts)
            return Lesson(concepts, named, terms_of(text.text))
        evidence = suggester.evidence((text.id, text.text))
        width = len(LABELS) + len(VOTES)
        assert evidence.features.shape[1] == width + len(ARCHIVE)
        named = np.unique(evidence.occurrences.concepts)
        return Lesson(concepts, named, evidence.terms, evidence.concepts, evidence.features[:, :width])

    return ordered_map(lesson, list(enumerate(texts)), threads)
