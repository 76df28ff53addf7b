"""Several segments into one, leaving out removed documents, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import ArrayFileWriter, PackedLists, damaged, join, offsets_of
from erukg.collection.commit import Commit, DistinctForms, SegmentState
from erukg.collection.manifest import SegmentEntry
from erukg.collection.postings import DAMAGED, LEFT_OUT, decode, pack
from erukg.collection.pruning import BestWords
from erukg.collection.search import idf
from erukg.collection.segment import IN_TITLE, ROW, Segment, entry_of
from erukg.collection.tags import merge_tags

__all__ = ["JoinedPostings", "merge_segments"]

_POSTINGS_AT_ONCE = 1 << 22
_LISTS_AT_ONCE = 1 << 14


def merge_segments(
    path: Path,
    segments: Sequence[Segment],
    states: Sequence[SegmentState],
    glossary: Commit | None = None,
    rare: int = 1,
    words: int | None = None,
) -> SegmentEntry:
    """Write the live documents of `segments`, in their order, as one segment.

    With a `glossary` only its phrases are kept, in their chosen form: smaller, but no longer fit for adding
    documents. BM25 terms that fewer than `rare` documents have are left out, and of each document all but the best
    `words`; how many documents have a term stays as it was.
    """
    live = [s.live(state.dead) for s, state in zip(segments, states, strict=True)]
    each = list(zip(segments, live, strict=True))
    lengths = join([s.lengths[rows] for s, rows in each], np.uint32)
    with ArrayFileWriter(path) as file:
        _write_postings(file, JoinedPostings(segments, states, live, rare), words)
        file.add("lengths", lengths)
        file.add("texts", join([s.texts[rows] for s, rows in each], np.uint64))
        _write_lists(file, "ids", [(s.ids, rows) for s, rows in each])
        if any((s.titles.offsets[rows] != s.titles.offsets[rows + 1]).any() for s, rows in each):
            _write_lists(file, "titles", [(s.titles, rows) for s, rows in each])
        _write_lists(file, "weights", [(s.weights, rows) for s, rows in each])
        _write_phrases(file, segments, states, live, glossary)
        merge_tags([(s.tags, rows) for s, rows in each]).write(file)
        return entry_of(file.close(), lengths)


class JoinedPostings:
    """The posting lists of the live documents of several segments as one, unpacked a part at a time.

    Documents are numbered in their order, of `vocabulary` term i is in `frequencies[i]` of them.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        states: Sequence[SegmentState],
        live: Sequence[NDArray[np.int64]],
        rare: int = 1,
    ) -> None:
        self.vocabulary = vocabulary = _vocabulary(segments, states, rare)
        self.frequencies = frequencies = np.zeros(len(vocabulary), np.int64)
        self.documents = 0
        self._segments = segments
        self._targets: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._numbers: list[NDArray[np.int32]] = []
        for segment, state, rows in zip(segments, states, live, strict=True):
            target = np.searchsorted(vocabulary, segment.vocabulary)
            inside = np.minimum(target, max(len(vocabulary) - 1, 0))
            known = (vocabulary[inside] == segment.vocabulary) if len(vocabulary) else np.zeros(len(target), bool)
            # Terms that are known to nobody are left out because they are rare, or because no live document has them.
            used = state.frequencies > 0
            known &= used
            frequencies[target[known]] += state.frequencies[known]
            # `target` ascends even over terms that nobody uses any more, so a range of terms is found by bisection.
            self._targets.append((target, np.where(known, target, np.where(used, LEFT_OUT, -1))))
            numbers = np.full(len(segment), -1, np.int32)
            numbers[rows] = np.arange(self.documents, self.documents + len(rows), dtype=np.int32)
            self._numbers.append(numbers)
            self.documents += len(rows)

    def parts(self) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]]:
        """Terms, where the list of each begins, and for each posting the document and how often that has the term."""
        indptr = np.concatenate(([0], np.cumsum(self.frequencies)))
        first = 0
        while first < len(self.vocabulary):
            last = int(np.searchsorted(indptr, indptr[first] + _POSTINGS_AT_ONCE, side="right")) - 1
            last = min(max(last, first + 1), len(self.vocabulary))
            local = indptr[first : last + 1] - indptr[first]
            documents, counts = np.empty(local[-1], np.int32), np.empty(local[-1], np.int32)
            place = local[:-1].copy()
            for segment, (place_of, known_as), numbers in zip(
                self._segments, self._targets, self._numbers, strict=True
            ):
                a, b = np.searchsorted(place_of, [first, last])
                to = np.where(known_as[a:b] < 0, known_as[a:b], known_as[a:b] - first)
                decode(segment.postings, int(a), int(b), to, numbers, place, documents, counts)
            if np.any(place != local[1:]):
                raise damaged(self._segments[0].path.parent, DAMAGED)
            yield slice(first, last), local, documents, counts
            first = last

    def best(self, most: int) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]]:
        """`parts` with only the `most` words of each document by which it is found best."""
        weights, words = idf(self.frequencies, self.documents), BestWords(self.documents, most)
        for terms, local, documents, counts in self.parts():
            words.count(documents, counts, np.repeat(weights[terms], np.diff(local)))
        for terms, local, documents, counts in self.parts():
            kept = words.keep(documents, counts, np.repeat(weights[terms], np.diff(local)))
            before = np.concatenate(([0], np.cumsum(kept)))
            yield terms, before[local], documents[kept], counts[kept]


def _write_postings(file: ArrayFileWriter, postings: JoinedPostings, most: int | None) -> None:
    ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]

    def chunks() -> Iterator[NDArray[np.uint16]]:
        for _, local, documents, counts in postings.parts() if most is None else postings.best(most):
            words, stops = pack(local, documents, counts)
            ends.append(ends[-1][-1] + stops)
            yield words

    file.add("vocabulary", postings.vocabulary)
    file.stream("postings", np.uint16, chunks())
    file.add("postings.offsets", offsets_of(np.diff(np.concatenate(ends))))
    file.add("frequencies", postings.frequencies.astype(np.uint32))


def _vocabulary(segments: Sequence[Segment], states: Sequence[SegmentState], rare: int) -> NDArray[np.uint64]:
    """The terms that live documents have, at least `rare` of them, ascending."""
    used = [np.flatnonzero(state.frequencies) for state in states]
    terms = join([s.vocabulary[u] for s, u in zip(segments, used, strict=True)], np.uint64)
    if rare <= 1:
        return np.unique(terms)
    vocabulary, places = np.unique(terms, return_inverse=True)
    counts = join([state.frequencies[u] for state, u in zip(states, used, strict=True)], np.int64)
    return vocabulary[np.bincount(places, counts, len(vocabulary)) >= rare]


def _write_lists(file: ArrayFileWriter, name: str, parts: Sequence[tuple[PackedLists, NDArray[np.int64]]]) -> None:
    slices = [
        (lists, rows[i : i + _LISTS_AT_ONCE]) for lists, rows in parts for i in range(0, len(rows), _LISTS_AT_ONCE)
    ]
    file.stream(name, np.uint8, (lists.take(rows).values for lists, rows in slices))
    bounds = [lists.bounds(rows) for lists, rows in parts]
    file.add(f"{name}.offsets", offsets_of(join([stops - starts for starts, stops in bounds], np.int64)))


def _write_phrases(
    file: ArrayFileWriter,
    segments: Sequence[Segment],
    states: Sequence[SegmentState],
    live: Sequence[NDArray[np.int64]],
    glossary: Commit | None,
) -> None:
    numbers: Sequence[NDArray[Any]]
    if glossary is not None:
        forms, numbers = glossary.phrases, [state.glossary for state in states]
    else:
        every = DistinctForms(segments, [state.dead for state in states])
        rows = np.arange(len(every.folds))
        forms, numbers = every.take(rows), every.numbers(rows)
    phrases, counts = [], []
    for segment, number, documents in zip(segments, numbers, live, strict=True):
        old = segment.phrases.take(documents)
        held = old.values & np.uint32(ROW)
        if held.size and held.max() >= len(number):
            raise damaged(segment.path, "a document has a phrase that does not exist")
        new = number[held]
        owner = np.repeat(np.arange(len(documents)), np.diff(old.offsets))
        phrases.append(new[new >= 0].astype(np.uint32) | (old.values[new >= 0] & np.uint32(IN_TITLE)))
        counts.append(np.bincount(owner[new >= 0], minlength=len(documents)))
    file.add_lists("phrases", PackedLists(join(phrases, np.uint32), offsets_of(join(counts, np.int64))))
    forms.write(file, "forms")
