"""Several segments into one, leaving out removed documents, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import ArrayFileWriter, damaged
from erukg.collection.commit import Commit, State, gather_forms, live_rows
from erukg.collection.manifest import SegmentEntry
from erukg.collection.postings import decode, pack
from erukg.collection.ragged import bounds, hash_strings, offsets_of, take
from erukg.collection.segment import Forms, Segment, entry_of

__all__ = ["merge_segments"]

_POSTINGS_AT_ONCE = 1 << 22


def merge_segments(
    path: Path, segments: Sequence[Segment], states: Sequence[State], glossary: Commit | None = None
) -> SegmentEntry:
    """Write the live documents of `segments`, in their order, as one segment.

    With a `glossary` only its phrases are kept, in their chosen form: smaller, but no longer fit for adding
    documents.
    """
    live = [
        np.flatnonzero(state.dead == 0) if len(state.dead) else np.arange(len(s)) for s, state in _zip(segments, states)
    ]
    lengths = _joined([s.lengths[rows] for s, rows in _zip(segments, live)], np.uint32)
    try:
        with ArrayFileWriter(path) as file:
            _write_postings(file, segments, states, live)
            file.add("lengths", lengths)
            file.add("texts", _joined([s.texts[rows] for s, rows in _zip(segments, live)], np.uint64))
            _write_lists(file, "ids", [(s.ids, s.ids_offsets, rows) for s, rows in _zip(segments, live)])
            _write_lists(file, "weights", [(s.weights, s.weights_offsets, rows) for s, rows in _zip(segments, live)])
            _write_phrases(file, segments, states, live, glossary)
            return entry_of(file.close(), lengths)
    except ValueError as error:
        raise damaged(segments[0].path.parent, str(error)) from error


def _zip(a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(a, b, strict=True)


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays])


def _write_postings(
    file: ArrayFileWriter,
    segments: Sequence[Segment],
    states: Sequence[State],
    live: Sequence[NDArray[np.int64]],
) -> None:
    used = [np.flatnonzero(state.frequencies) for state in states]
    vocabulary = np.unique(_joined([s.vocabulary[u] for s, u in _zip(segments, used)], np.uint64))
    targets = []
    frequencies = np.zeros(len(vocabulary), np.int64)
    renumber = []
    base = 0
    for segment, state, rows in zip(segments, states, live, strict=True):
        target = np.searchsorted(vocabulary, segment.vocabulary)
        inside = np.minimum(target, max(len(vocabulary) - 1, 0))
        known = (vocabulary[inside] == segment.vocabulary) if len(vocabulary) else np.zeros(len(target), bool)
        known &= state.frequencies > 0
        frequencies[target[known]] += state.frequencies[known]
        # `target` ascends even over terms that nobody uses any more, so a range of terms is found by
        # bisection.
        targets.append((target, np.where(known, target, -1)))
        numbers = np.full(len(segment), -1, np.int32)
        numbers[rows] = np.arange(base, base + len(rows), dtype=np.int32)
        renumber.append(numbers)
        base += len(rows)
    indptr = np.concatenate(([0], np.cumsum(frequencies)))
    ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]

    def chunks() -> Iterator[NDArray[np.uint16]]:
        first = 0
        while first < len(vocabulary):
            last = int(np.searchsorted(indptr, indptr[first] + _POSTINGS_AT_ONCE, side="right")) - 1
            last = min(max(last, first + 1), len(vocabulary))
            local = indptr[first : last + 1] - indptr[first]
            documents, counts = np.empty(local[-1], np.int32), np.empty(local[-1], np.int32)
            place = local[:-1].copy()
            for segment, (place_of, known_as), numbers in zip(segments, targets, renumber, strict=True):
                a, b = np.searchsorted(place_of, [first, last])
                to = np.where(known_as[a:b] < 0, -1, known_as[a:b] - first)
                decode(
                    segment.postings,
                    segment.postings_offsets,
                    int(a),
                    int(b),
                    to,
                    numbers,
                    place,
                    documents,
                    counts,
                )
            if np.any(place != local[1:]):
                raise ValueError("posting lists and document frequencies disagree")
            words, stops = pack(local, documents, counts)
            ends.append(ends[-1][-1] + stops)
            yield words
            first = last

    file.add("vocabulary", vocabulary)
    file.stream("postings", np.uint16, chunks())
    file.add("postings.offsets", offsets_of(np.diff(np.concatenate(ends))))
    file.add("frequencies", frequencies.astype(np.uint32))


def _write_lists(
    file: ArrayFileWriter,
    name: str,
    parts: Sequence[tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.int64]]],
) -> None:
    placed = [bounds(offsets, rows, len(values)) for values, offsets, rows in parts]
    file.stream(
        name,
        np.uint8,
        (take(values, *chunk) for (values, _, _), (a, b) in _zip(parts, placed) for chunk in _slices(a, b)),
    )
    file.add(f"{name}.offsets", offsets_of(_joined([b - a for a, b in placed], np.int64)))


def _slices(
    starts: NDArray[np.int64], stops: NDArray[np.int64], step: int = 1 << 14
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    for i in range(0, len(starts), step):
        yield starts[i : i + step], stops[i : i + step]


def _write_phrases(
    file: ArrayFileWriter,
    segments: Sequence[Segment],
    states: Sequence[State],
    live: Sequence[NDArray[np.int64]],
    glossary: Commit | None,
) -> None:
    if glossary is not None:
        forms, numbers = glossary.phrases, [state.glossary.astype(np.int64) for state in states]
    else:
        forms, numbers = _live_forms(segments, states)
    rows, counts = [], []
    for segment, number, documents in zip(segments, numbers, live, strict=True):
        a, b = bounds(segment.phrases_offsets, documents, len(segment.phrases))
        flat = take(segment.phrases, a, b)
        if flat.size and flat.max() >= len(number):
            raise ValueError("a document has a phrase that does not exist")
        new = number[flat]
        owner = np.repeat(np.arange(len(documents)), b - a)
        rows.append(new[new >= 0].astype(np.uint32))
        counts.append(np.bincount(owner[new >= 0], minlength=len(documents)))
    file.add("phrases", _joined(rows, np.uint32))
    file.add("phrases.offsets", offsets_of(_joined(counts, np.int64)))
    forms.write(file, "forms")


def _live_forms(segments: Sequence[Segment], states: Sequence[State]) -> tuple[Forms, list[NDArray[np.int64]]]:
    folds = _joined([s.forms.folds for s in segments], np.uint64)
    texts = _joined([hash_strings(s.forms.text, s.forms.text_offsets) for s in segments], np.uint64)
    counts = _joined([live_rows(s, state.dead) for s, state in _zip(segments, states)], np.int64)
    order = np.lexsort((texts, folds))
    order = order[counts[order] > 0]
    fresh = np.append(True, (folds[order][1:] != folds[order][:-1]) | (texts[order][1:] != texts[order][:-1]))[
        : len(order)
    ]
    number = np.full(len(folds), -1, np.int64)
    number[order] = np.cumsum(fresh) - 1
    starts = np.cumsum([0, *(len(s.forms) for s in segments)])
    split = [number[a:b] for a, b in pairwise(starts.tolist())]
    return gather_forms(segments, order[fresh]), split
