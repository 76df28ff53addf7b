"""A segment: some documents with all that depends on them alone, in one immutable file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import ArrayFile, ArrayFileWriter, FileEntry, Opener, PackedLists, open_regular
from erukg.collection.manifest import SegmentEntry
from erukg.collection.tags import TaggedRows

__all__ = ["IN_TITLE", "ROW", "Forms", "Segment", "entry_of"]

#: A document's phrase is a row of the written forms, and a mark where the document has it in its title.
ROW, IN_TITLE = 0x7FFFFFFF, 0x80000000


@dataclass(frozen=True, slots=True)
class Forms:
    """The written forms of phrases: hash of the phrase's fold, the form in lower case, its word pieces."""

    folds: NDArray[np.uint64]
    text: PackedLists
    terms: PackedLists

    def __len__(self) -> int:
        return len(self.folds)

    @classmethod
    def read(cls, file: ArrayFile, prefix: str) -> Forms:
        folds = file.array(f"{prefix}.folds", "u8")
        n = len(folds)
        return cls(folds, file.lists(f"{prefix}.text", "u1", n), file.lists(f"{prefix}.terms", "u2", n))

    def write(self, file: ArrayFileWriter, prefix: str) -> None:
        file.add(f"{prefix}.folds", self.folds)
        file.add_lists(f"{prefix}.text", self.text)
        file.add_lists(f"{prefix}.terms", self.terms)


@dataclass(frozen=True, slots=True)
class Segment:
    """The mapped arrays of a segment.

    vocabulary   its BM25 terms, ascending; `postings` their lists (see `postings.py`) and `frequencies` in
                 how many documents each occurs, removed ones included
    lengths      terms of each document; `texts` the number of its text; `ids` its id
    titles       its title, which may be empty; the file has no such lists where all are
    weights      its packed term weights (see `weights.py`)
    phrases      C̃_x before it is cut down to the glossary, best first: rows of `forms`, marked with `IN_TITLE`
    forms        all written forms of those phrases, sorted by fold hash and then by the hash of the form
    tags         those that the documents came with; the file has no such arrays where none has any
    """

    path: Path
    vocabulary: NDArray[np.uint64]
    postings: PackedLists
    frequencies: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    texts: NDArray[np.uint64]
    ids: PackedLists
    titles: PackedLists
    weights: PackedLists
    phrases: PackedLists
    forms: Forms
    tags: TaggedRows

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def open(cls, folder: Path, entry: SegmentEntry, opener: Opener = open_regular) -> Segment:
        """Map the segment's file after checking everything that can be checked without reading the arrays."""
        file, n = ArrayFile(folder, entry.file, opener), entry.documents
        vocabulary = file.array("vocabulary", "u8")
        return cls(
            file.path,
            vocabulary,
            file.lists("postings", "u2", len(vocabulary)),
            file.array("frequencies", "u4", len(vocabulary)),
            file.array("lengths", "u4", n),
            file.array("texts", "u8", n),
            file.lists("ids", "u1", n),
            file.optional_lists("titles", "u1", n),
            file.lists("weights", "u1", n),
            file.lists("phrases", "u4", n),
            Forms.read(file, "forms"),
            TaggedRows.read(file, n),
        )

    def live(self, dead: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The documents that are not removed; an empty `dead` means that none is."""
        return np.flatnonzero(dead == 0) if len(dead) else np.arange(len(self))

    def write(self, path: Path) -> SegmentEntry:
        """Write the segment to `path` and wait until it is on the disk."""
        with ArrayFileWriter(path) as file:
            file.add("vocabulary", self.vocabulary)
            file.add_lists("postings", self.postings)
            file.add("frequencies", self.frequencies)
            file.add("lengths", self.lengths)
            file.add("texts", self.texts)
            file.add_lists("ids", self.ids)
            file.add_optional_lists("titles", self.titles)
            file.add_lists("weights", self.weights)
            file.add_lists("phrases", self.phrases)
            self.forms.write(file, "forms")
            self.tags.write(file)
            return entry_of(file.close(), self.lengths)


def entry_of(file: FileEntry, lengths: NDArray[Any]) -> SegmentEntry:
    """The manifest's line for a segment just written, all of whose documents are live."""
    return SegmentEntry(file, len(lengths), len(lengths), int(np.sum(lengths, dtype=np.int64)))
