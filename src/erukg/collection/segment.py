"""A segment: some documents with all that depends on them alone, in one immutable file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import ArrayFileWriter, FileEntry, damaged, open_arrays
from erukg.collection.manifest import SegmentEntry
from erukg.collection.ragged import strings

__all__ = ["Forms", "Segment", "entry_of"]

_TYPES = {
    "vocabulary": "u8",
    "postings": "u2",
    "postings.offsets": "u4",
    "frequencies": "u4",
    "lengths": "u4",
    "texts": "u8",
    "ids": "u1",
    "ids.offsets": "u4",
    "weights": "u1",
    "weights.offsets": "u4",
    "phrases": "u4",
    "phrases.offsets": "u4",
    "forms.folds": "u8",
    "forms.text": "u1",
    "forms.text.offsets": "u4",
    "forms.terms": "u2",
    "forms.terms.offsets": "u4",
}


@dataclass(frozen=True, slots=True)
class Forms:
    """The written forms of phrases: hash of the phrase's fold, the form in lower case, its word pieces."""

    folds: NDArray[np.uint64]
    text: NDArray[np.uint8]
    text_offsets: NDArray[np.uint32]
    terms: NDArray[np.uint16]
    terms_offsets: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.folds)

    def write(self, file: ArrayFileWriter, prefix: str) -> None:
        file.add(f"{prefix}.folds", self.folds)
        file.add(f"{prefix}.text", self.text)
        file.add(f"{prefix}.text.offsets", self.text_offsets)
        file.add(f"{prefix}.terms", self.terms)
        file.add(f"{prefix}.terms.offsets", self.terms_offsets)


@dataclass(frozen=True, slots=True)
class Segment:
    """The mapped arrays of a segment.

    vocabulary   its BM25 terms, ascending; `postings` their lists (see `postings.py`) and `frequencies` in
                 how many documents each occurs, removed ones included
    lengths      terms of each document; `texts` the number of its text; `ids` its id
    weights      its packed term weights (see `weights.py`)
    phrases      C̃_x before it is cut down to the glossary: rows of `forms`
    forms        all written forms of those phrases, sorted by fold hash and then by the hash of the form
    """

    path: Path
    vocabulary: NDArray[np.uint64]
    postings: NDArray[np.uint16]
    postings_offsets: NDArray[np.uint32]
    frequencies: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    texts: NDArray[np.uint64]
    ids: NDArray[np.uint8]
    ids_offsets: NDArray[np.uint32]
    weights: NDArray[np.uint8]
    weights_offsets: NDArray[np.uint32]
    phrases: NDArray[np.uint32]
    phrases_offsets: NDArray[np.uint32]
    forms: Forms

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def open(cls, folder: Path, entry: SegmentEntry) -> Segment:
        """Map the segment's file after checking everything that can be checked without reading the arrays."""
        a = open_arrays(folder, entry.file, _TYPES)
        path = folder / entry.file.name
        forms = Forms(
            *(
                a[n]
                for n in (
                    "forms.folds",
                    "forms.text",
                    "forms.text.offsets",
                    "forms.terms",
                    "forms.terms.offsets",
                )
            )
        )
        n, terms, rows = entry.documents, len(a["vocabulary"]), len(forms)
        expected: dict[str, int] = {
            "postings.offsets": terms + 1,
            "frequencies": terms,
            "lengths": n,
            "texts": n,
            "ids.offsets": n + 1,
            "weights.offsets": n + 1,
            "phrases.offsets": n + 1,
            "forms.text.offsets": rows + 1,
            "forms.terms.offsets": rows + 1,
        }
        for name, length in expected.items():
            if len(a[name]) != length:
                raise damaged(path, f"array '{name}' has {len(a[name])} entries instead of {length}")
        return cls(
            path,
            a["vocabulary"],
            a["postings"],
            a["postings.offsets"],
            a["frequencies"],
            a["lengths"],
            a["texts"],
            a["ids"],
            a["ids.offsets"],
            a["weights"],
            a["weights.offsets"],
            a["phrases"],
            a["phrases.offsets"],
            forms,
        )

    def document_ids(self, rows: NDArray[Any]) -> list[str]:
        """The ids of the chosen documents."""
        try:
            return strings(self.ids, self.ids_offsets, rows)
        except ValueError as error:
            raise damaged(self.path, "the ids of its documents cannot be read") from error


def entry_of(file: FileEntry, lengths: NDArray[Any]) -> SegmentEntry:
    """The manifest's line for a segment just written, all of whose documents are live."""
    return SegmentEntry(file, len(lengths), len(lengths), int(np.sum(lengths, dtype=np.int64)))
