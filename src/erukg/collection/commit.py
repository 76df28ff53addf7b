"""What depends on all documents together: removed documents, live document frequencies, and the glossary.

It is derived anew at every commit from the segments (seconds for a million documents) and written to one
file, so that documents added or removed count exactly as if the collection had been built from the survivors
at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import (
    ArrayFile,
    ArrayFileWriter,
    FileEntry,
    Opener,
    PackedLists,
    damaged,
    join,
    offsets_of,
    open_regular,
)
from erukg.collection.encoded import BY_SIZE, glossary_threshold
from erukg.collection.manifest import Manifest
from erukg.collection.postings import count_live
from erukg.collection.segment import ROW, Forms, Segment
from erukg.core.kernels import kernel

__all__ = ["NONE_DEAD", "Commit", "DistinctForms", "SegmentState", "derive", "open_commit", "write_commit"]

#: No document is removed. Read-only, as mapped arrays are: compiled code is made anew for writable ones.
NONE_DEAD = np.empty(0, np.uint8)
NONE_DEAD.setflags(write=False)


@dataclass(frozen=True, slots=True)
class SegmentState:
    """What a commit adds to one segment.

    dead         1 for each removed document; empty when none is
    frequencies  in how many live documents each term of the segment's vocabulary occurs
    glossary     the glossary's number of each of the segment's written forms, or -1
    """

    dead: NDArray[np.uint8]
    frequencies: NDArray[np.uint32]
    glossary: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Commit:
    """The glossary's phrases by fold hash, in how many documents and titles each is, and each segment's state."""

    phrases: Forms
    counts: NDArray[np.uint32]
    titled: NDArray[np.uint32]
    states: tuple[SegmentState, ...]


@kernel()
def _count_rows(
    phrases: NDArray[np.uint32], offsets: NDArray[np.uint32], dead: NDArray[np.uint8], out: NDArray[np.int64]
) -> bool:
    """Count the documents and the titles that have each form, in two rows; False when the data is damaged."""
    for d in range(offsets.size - 1):
        start, stop = np.int64(offsets[d]), np.int64(offsets[d + 1])
        if start > stop or stop > phrases.size:
            return False
        if dead.size > 0 and dead[d] != 0:
            continue
        for j in range(start, stop):
            row = phrases[j] & ROW
            if row >= out.shape[1]:
                return False
            out[0, row] += 1
            out[1, row] += phrases[j] >> 31
    return True


def _live_counts(segment: Segment, dead: NDArray[np.uint8]) -> NDArray[np.int64]:
    """In how many live documents, and in how many titles, each written form of the segment is."""
    out = np.zeros((2, len(segment.forms)), np.int64)
    if not _count_rows(segment.phrases.values, segment.phrases.offsets, dead, out):
        raise damaged(segment.path, "its documents' phrases are not as they were written")
    return out


class DistinctForms:
    """The written forms of several segments that live documents have, sorted by fold and form.

    folds     of each form
    counts    in how many live documents it is, and in how many `titled`
    """

    def __init__(self, segments: Sequence[Segment], dead: Sequence[NDArray[np.uint8]]) -> None:
        self._segments = segments
        self._starts = np.cumsum([0, *(len(s.forms) for s in segments)])
        texts = join([s.forms.text.hashes() for s in segments], np.uint64)
        folds = join([s.forms.folds for s in segments], np.uint64)
        found = [_live_counts(s, d) for s, d in zip(segments, dead, strict=True)]
        counts, titled = (join([each[k] for each in found], np.int64) for k in (0, 1))
        rows = np.lexsort((texts, folds))
        self._rows = rows = rows[counts[rows] > 0]
        new = _changes(texts[rows]) | _changes(folds[rows])
        self._form_of_row = np.cumsum(new) - 1
        self._first = np.flatnonzero(new)
        self.folds = folds[rows][self._first]
        self.counts = _sums(counts[rows], self._first)
        self.titled = _sums(titled[rows], self._first)

    def numbers(self, number_of_form: NDArray[Any]) -> list[NDArray[Any]]:
        """For every form of each segment the number given to it here, -1 when no live document has it."""
        numbers = np.full(int(self._starts[-1]), -1, number_of_form.dtype)
        numbers[self._rows] = number_of_form[self._form_of_row]
        return [numbers[a:b] for a, b in pairwise(self._starts.tolist())]

    def take(self, forms: NDArray[np.int64]) -> Forms:
        """The chosen forms in the order given."""
        rows = self._rows[self._first[forms]]
        owner = np.searchsorted(self._starts, rows, side="right") - 1
        mine = [rows[owner == i] - self._starts[i] for i in range(len(self._segments))]
        # Taken segment by segment, then put into the order wanted.
        place = np.empty(len(rows), np.int64)
        place[np.argsort(owner, kind="stable")] = np.arange(len(rows))
        found = [(s.forms, local) for s, local in zip(self._segments, mine, strict=True)]
        return Forms(
            join([f.folds[local] for f, local in found], np.uint64)[place],
            _concatenate([f.text.take(local) for f, local in found], np.uint8).take(place),
            _concatenate([f.terms.take(local) for f, local in found], np.uint16).take(place),
        )


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a value differs from the one before; the first does."""
    return np.append(True, values[1:] != values[:-1])[: len(values)]


def _sums(values: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums of the runs that begin at `first`."""
    return np.add.reduceat(values, first) if len(first) else np.empty(0, np.int64)


def _concatenate(parts: Sequence[PackedLists], dtype: Any) -> PackedLists:
    lengths = join([np.diff(part.offsets) for part in parts], np.int64)
    return PackedLists(join([part.values for part in parts], dtype), offsets_of(lengths))


def derive(
    segments: Sequence[Segment], dead: Sequence[NDArray[np.uint8]], least: int, *, glossary: bool = True
) -> Commit:
    """The commit over these segments; a phrase is in the glossary when at least `least` documents have it.

    `BY_SIZE` asks for as many as suit the number of documents.

    Without `glossary` that part, which takes time in proportion to the whole collection, is left empty.
    """
    frequencies = [count_live(s.postings, d) if len(d) else s.frequencies for s, d in zip(segments, dead, strict=True)]
    if least == BY_SIZE:
        least = glossary_threshold(sum(len(s.live(d)) for s, d in zip(segments, dead, strict=True)))
    phrases, counts, titled, numbers = _glossary(DistinctForms(*((segments, dead) if glossary else ((), ()))), least)
    if not glossary:
        numbers = [np.empty(0, np.int32)] * len(segments)
    states = (SegmentState(d, f, n) for d, f, n in zip(dead, frequencies, numbers, strict=True))
    return Commit(phrases, counts, titled, tuple(states))


def _glossary(
    forms: DistinctForms, least: int
) -> tuple[Forms, NDArray[np.uint32], NDArray[np.uint32], list[NDArray[np.int32]]]:
    """The glossary's phrases, in how many documents and titles each is, and each segment's forms' numbers in it."""
    new = _changes(forms.folds)
    phrase_of_form, first = np.cumsum(new) - 1, np.flatnonzero(new)
    totals = _sums(forms.counts, first)
    # The most used form of a phrase stands for it, then the first.
    ranked = np.lexsort((np.arange(len(new)), -forms.counts, phrase_of_form))
    kept = np.flatnonzero(totals >= least)
    number = np.full(len(totals), -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    phrases = forms.take(ranked[first[kept]])
    titled = _sums(forms.titled, first)[kept].astype(np.uint32)
    return phrases, totals[kept].astype(np.uint32), titled, forms.numbers(number[phrase_of_form])


def write_commit(path: Path, commit: Commit) -> FileEntry:
    """Write the commit's file and wait until it is on the disk."""
    with ArrayFileWriter(path) as file:
        commit.phrases.write(file, "glossary")
        file.add("glossary.counts", commit.counts)
        if commit.titled.any():
            file.add("glossary.titled", commit.titled)
        for i, state in enumerate(commit.states):
            file.add(f"{i}.glossary", state.glossary)
            file.add(f"{i}.dead", state.dead)
            file.add(f"{i}.frequencies", state.frequencies if len(state.dead) else np.empty(0, np.uint32))
        return file.close()


def open_commit(folder: Path, manifest: Manifest, segments: Sequence[Segment], opener: Opener = open_regular) -> Commit:
    """Map the commit's file, with the same checks as for segments."""
    file = ArrayFile(folder, manifest.commit, opener)
    phrases = Forms.read(file, "glossary")
    states = []
    for i, (segment, entry) in enumerate(zip(segments, manifest.segments, strict=True)):
        whole = entry.live == entry.documents
        glossary = file.array(f"{i}.glossary", "i4", len(segment.forms) if manifest.derived else 0)
        dead = file.array(f"{i}.dead", "u1", 0 if whole else entry.documents)
        frequencies = file.array(f"{i}.frequencies", "u4", 0 if whole else len(segment.frequencies))
        states.append(SegmentState(dead, segment.frequencies if whole else frequencies, glossary))
    counts = file.array("glossary.counts", "u4", len(phrases))
    titled = file.optional("glossary.titled", "u4", len(phrases))
    return Commit(phrases, counts, titled, tuple(states))
