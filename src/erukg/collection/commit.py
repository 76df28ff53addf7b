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

from erukg.collection.arrays import ArrayFileWriter, FileEntry, damaged, open_arrays
from erukg.collection.manifest import Manifest
from erukg.collection.postings import count_live
from erukg.collection.ragged import bounds, hash_strings, offsets_of, take
from erukg.collection.segment import Forms, Segment
from erukg.core.kernels import kernel

__all__ = ["NOBODY", "Commit", "State", "derive", "gather_forms", "live_rows", "open_commit", "write_commit"]

_GLOSSARY = {
    "glossary.folds": "u8",
    "glossary.text": "u1",
    "glossary.text.offsets": "u4",
    "glossary.terms": "u2",
    "glossary.terms.offsets": "u4",
    "glossary.counts": "u4",
}


#: No document is removed. Read-only, as mapped arrays are: compiled code is made anew for writable ones.
NOBODY = np.empty(0, np.uint8)
NOBODY.setflags(write=False)


@dataclass(frozen=True, slots=True)
class State:
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
    """The glossary's phrases by fold hash, in how many documents each is, and each segment's state."""

    phrases: Forms
    counts: NDArray[np.uint32]
    states: tuple[State, ...]


@kernel()
def _count_rows(
    phrases: NDArray[np.uint32], offsets: NDArray[np.uint32], dead: NDArray[np.uint8], out: NDArray[np.int64]
) -> bool:
    for d in range(offsets.size - 1):
        start, stop = np.int64(offsets[d]), np.int64(offsets[d + 1])
        if start > stop or stop > phrases.size:
            return False
        if dead.size > 0 and dead[d] != 0:
            continue
        for j in range(start, stop):
            row = phrases[j]
            if row >= out.size:
                return False
            out[row] += 1
    return True


def live_rows(segment: Segment, dead: NDArray[np.uint8]) -> NDArray[np.int64]:
    """In how many live documents each written form of the segment is."""
    out = np.zeros(len(segment.forms), np.int64)
    if not _count_rows(segment.phrases, segment.phrases_offsets, dead, out):
        raise damaged(segment.path, "its documents' phrases are not as they were written")
    return out


def derive(
    segments: Sequence[Segment], dead: Sequence[NDArray[np.uint8]], least: int, *, glossary: bool = True
) -> Commit:
    """The commit over these segments; a phrase is in the glossary when at least `least` documents have it.

    Without `glossary` that part, which takes time in proportion to the whole collection, is left empty.
    """
    try:
        frequencies = [
            count_live(s.postings, s.postings_offsets, d) if len(d) else s.frequencies
            for s, d in zip(segments, dead, strict=True)
        ]
        phrases, counts, numbers = _glossary(segments if glossary else (), dead if glossary else (), least)
    except ValueError as error:
        raise damaged(segments[0].path.parent, str(error)) from error
    if not glossary:
        numbers = [np.empty(0, np.int32)] * len(segments)
    states = (State(d, f, n) for d, f, n in zip(dead, frequencies, numbers, strict=True))
    return Commit(phrases, counts, tuple(states))


def _glossary(
    segments: Sequence[Segment], dead: Sequence[NDArray[np.uint8]], least: int
) -> tuple[Forms, NDArray[np.uint32], list[NDArray[np.int32]]]:
    """The glossary's phrases, in how many documents each is, and each segment's forms' numbers in it."""
    texts = _joined([hash_strings(s.forms.text, s.forms.text_offsets) for s in segments], np.uint64)
    counts = _joined([live_rows(s, d) for s, d in zip(segments, dead, strict=True)], np.int64)
    folds = _joined([s.forms.folds for s in segments], np.uint64)
    order = np.lexsort((texts, folds))
    order = order[counts[order] > 0]
    forms = texts[order]
    folds, counts = folds[order], counts[order]
    # Equal forms of several segments are one; the most used form of a phrase stands for it, then the first.
    same = np.append(False, (folds[1:] == folds[:-1]) & (forms[1:] == forms[:-1]))[: len(order)]
    first_form = np.flatnonzero(~same)
    per_form = np.add.reduceat(counts, first_form) if len(first_form) else np.empty(0, np.int64)
    fold_of_form = folds[first_form]
    first_fold = np.flatnonzero(np.append(True, fold_of_form[1:] != fold_of_form[:-1])[: len(fold_of_form)])
    totals = np.add.reduceat(per_form, first_fold) if len(first_fold) else np.empty(0, np.int64)
    phrase_of_form = np.repeat(np.arange(len(first_fold)), np.diff(np.append(first_fold, len(fold_of_form))))
    ranked = np.lexsort((np.arange(len(per_form)), -per_form, phrase_of_form))
    chosen_form = ranked[first_fold]
    kept = np.flatnonzero(totals >= least)
    number = np.full(len(totals), -1, np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    form_of_row = np.cumsum(~same) - 1
    starts = np.cumsum([0, *(len(s.forms) for s in segments)])
    numbers = np.full(int(starts[-1]), -1, np.int32)
    numbers[order] = number[phrase_of_form[form_of_row]]
    representatives = order[first_form[chosen_form[kept]]]
    split = [numbers[a:b] for a, b in pairwise(starts.tolist())]
    return gather_forms(segments, representatives), totals[kept].astype(np.uint32), split


def _joined(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays])


def gather_forms(segments: Sequence[Segment], rows: NDArray[np.int64]) -> Forms:
    """The chosen written forms in the order given; rows are numbered through all segments."""
    starts = np.cumsum([0, *(len(s.forms) for s in segments)])
    owner = np.searchsorted(starts, rows, side="right") - 1
    sizes, widths = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    folds = np.zeros(len(rows), np.uint64)
    pieces: list[tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]] = []
    for i, segment in enumerate(segments):
        mine = np.flatnonzero(owner == i)
        local = rows[mine] - starts[i]
        try:
            text = bounds(segment.forms.text_offsets, local, len(segment.forms.text))
            terms = bounds(segment.forms.terms_offsets, local, len(segment.forms.terms))
        except ValueError as error:
            raise damaged(segment.path, str(error)) from error
        folds[mine] = segment.forms.folds[local]
        sizes[mine], widths[mine] = text[1] - text[0], terms[1] - terms[0]
        pieces.append((mine, take(segment.forms.text, *text), take(segment.forms.terms, *terms)))
    text_offsets, terms_offsets = offsets_of(sizes), offsets_of(widths)
    out_text, out_terms = np.empty(text_offsets[-1], np.uint8), np.empty(terms_offsets[-1], np.uint16)
    for mine, text_part, terms_part in pieces:
        _scatter(out_text, text_offsets, mine, text_part)
        _scatter(out_terms, terms_offsets, mine, terms_part)
    return Forms(folds, out_text, text_offsets, out_terms, terms_offsets)


def _scatter(out: NDArray[Any], offsets: NDArray[np.uint32], rows: NDArray[np.int64], values: NDArray[Any]) -> None:
    starts = offsets[rows].astype(np.int64)
    lengths = offsets[rows + 1].astype(np.int64) - starts
    ends = np.cumsum(lengths)
    out[np.arange(len(values)) + np.repeat(starts - (ends - lengths), lengths)] = values


def write_commit(path: Path, commit: Commit) -> FileEntry:
    """Write the commit's file and wait until it is on the disk."""
    with ArrayFileWriter(path) as file:
        commit.phrases.write(file, "glossary")
        file.add("glossary.counts", commit.counts)
        for i, state in enumerate(commit.states):
            file.add(f"{i}.glossary", state.glossary)
            file.add(f"{i}.dead", state.dead)
            file.add(f"{i}.frequencies", state.frequencies if len(state.dead) else np.empty(0, np.uint32))
        return file.close()


def open_commit(folder: Path, manifest: Manifest, segments: Sequence[Segment]) -> Commit:
    """Map the commit's file, with the same checks as for segments."""
    expected = dict(_GLOSSARY)
    for i in range(len(segments)):
        expected |= {f"{i}.glossary": "i4", f"{i}.dead": "u1", f"{i}.frequencies": "u4"}
    a = open_arrays(folder, manifest.commit, expected)
    path = folder / manifest.commit.name
    phrases = Forms(*(a[name] for name in list(_GLOSSARY)[:5]))
    lengths = {"glossary.text.offsets": len(phrases) + 1, "glossary.terms.offsets": len(phrases) + 1}
    lengths["glossary.counts"] = len(phrases)
    states = []
    for i, (segment, entry) in enumerate(zip(segments, manifest.segments, strict=True)):
        lengths[f"{i}.glossary"] = len(segment.forms) if manifest.derived else 0
        whole = entry.live == entry.documents
        lengths[f"{i}.dead"] = 0 if whole else entry.documents
        lengths[f"{i}.frequencies"] = 0 if whole else len(segment.frequencies)
        frequencies = segment.frequencies if whole else a[f"{i}.frequencies"]
        states.append(State(a[f"{i}.dead"], frequencies, a[f"{i}.glossary"]))
    for name, length in lengths.items():
        if len(a[name]) != length:
            raise damaged(path, f"array '{name}' has {len(a[name])} entries instead of {length}")
    return Commit(phrases, a["glossary.counts"], tuple(states))
