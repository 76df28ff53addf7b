"""Many texts for one pass: their windows, words and asked-for terms in flat arrays, and the encodings apart again.

Nothing here knows the network, so a process can prepare texts for an encoder that runs in another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.backend import Encoding, Pieces

__all__ = ["Packed", "PackedEncodings", "best_rows", "join", "pack", "unpack", "windows"]

# Neighbouring windows share this part of a window, so that every word is seen with context on both sides.
_OVERLAP = 0.25


@dataclass(frozen=True, slots=True)
class Packed:
    """Texts laid end to end.

    ids           word pieces of all texts
    row_starts    each window is a row: where in `ids` it begins, how many pieces it has, which text it is of
    row_lengths
    row_texts
    word_rows     for each word that has pieces: the row it is tagged in, and the places of its first and last
    word_first    piece there
    word_last
    word_counts   how many such words each text has
    terms         asked-for terms of all texts
    term_counts   how many each text asks for
    """

    ids: NDArray[np.int32]
    row_starts: NDArray[np.int32]
    row_lengths: NDArray[np.int32]
    row_texts: NDArray[np.int32]
    word_rows: NDArray[np.int32]
    word_first: NDArray[np.int32]
    word_last: NDArray[np.int32]
    word_counts: NDArray[np.int32]
    terms: NDArray[np.int32]
    term_counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.term_counts)

    def arrays(self) -> tuple[NDArray[np.int32], ...]:
        """All arrays, to send; `Packed(*arrays)` is the same again."""
        return tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True)
class PackedEncodings:
    """What the model says of packed texts, in their order.

    weights      w^x of `Packed.terms`
    tags         class of each word of `Packed.word_rows`
    vectors      one row a text
    top_terms    the terms of largest weight of the whole vocabulary, one row a text, where they were asked for
    top_weights
    """

    weights: NDArray[np.float32]
    tags: NDArray[np.int8]
    vectors: NDArray[np.float32]
    top_terms: NDArray[np.int32] | None = None
    top_weights: NDArray[np.float32] | None = None

    def arrays(self, *, vectors: bool = True) -> tuple[Any, ...]:
        """All arrays, to send; `PackedEncodings(*arrays)` is the same again, with empty vectors if not wanted."""
        chosen = self.vectors if vectors else self.vectors[:, :0]
        return self.weights, self.tags, chosen, self.top_terms, self.top_weights

    def parts(self, texts: Sequence[Packed]) -> list[PackedEncodings]:
        """The encodings of each of the batches that were joined."""
        out = []
        term = word = text = 0
        for batch in texts:
            terms, words, count = len(batch.terms), len(batch.word_rows), len(batch)
            rows = slice(text, text + count)
            out.append(
                PackedEncodings(
                    self.weights[term : term + terms],
                    self.tags[word : word + words],
                    self.vectors[rows],
                    None if self.top_terms is None else self.top_terms[rows],
                    None if self.top_weights is None else self.top_weights[rows],
                )
            )
            term, word, text = term + terms, word + words, text + count
        return out


def windows(length: int, window: int) -> list[tuple[int, int]]:
    """The ranges of pieces in which a text of `length` pieces runs, so that each has room for [CLS] and [SEP]."""
    capacity = window - 2
    if length <= capacity:
        return [(0, length)] if length else []
    step = max(1, int(capacity * (1 - _OVERLAP)))
    starts = list(range(0, length - capacity, step))
    return [(s, s + capacity) for s in starts] + [(length - capacity, length)]


def pack(texts: Sequence[tuple[Pieces, NDArray[np.int32]]], window: int) -> Packed:
    """Pieces and asked-for terms of some texts for an encoder with this window."""
    sizes = [len(pieces.ids) for pieces, _ in texts]
    rows = [(i, start, stop) for i, size in enumerate(sizes) for start, stop in windows(size, window)]
    owners, begins, stops = np.array(rows, np.int32).reshape(-1, 3).T
    first = _concatenated([pieces.starts[:-1] for pieces, _ in texts], np.int64)
    last = _concatenated([pieces.starts[1:] for pieces, _ in texts], np.int64) - 1
    texts_of = np.repeat(np.arange(len(texts)), [len(pieces.starts) - 1 for pieces, _ in texts])
    filled = last >= first
    first, last, texts_of = first[filled], last[filled], texts_of[filled]
    counts = np.bincount(texts_of, minlength=len(texts))
    rows_before = np.searchsorted(owners, np.arange(len(texts) + 1))
    place = rows_before[texts_of]
    ends = np.cumsum(counts)
    for i in np.flatnonzero(np.diff(rows_before) > 1).tolist():
        words, some = slice(ends[i] - counts[i], ends[i]), slice(rows_before[i], rows_before[i + 1])
        place[words] += best_rows(first[words], begins[some], stops[some])
    return Packed(
        ids=_concatenated([pieces.ids for pieces, _ in texts], np.int32),
        row_starts=begins + (np.cumsum(sizes) - sizes).astype(np.int32)[owners],
        row_lengths=stops - begins,
        row_texts=np.ascontiguousarray(owners),
        word_rows=place.astype(np.int32),
        # Place 0 of a row is [CLS]; a word cut by the window ends with the window.
        word_first=(first - begins[place] + 1).astype(np.int32),
        word_last=(np.minimum(last, stops[place] - 1) - begins[place] + 1).astype(np.int32),
        word_counts=counts.astype(np.int32),
        terms=_concatenated([terms for _, terms in texts], np.int32),
        term_counts=np.array([len(terms) for _, terms in texts], np.int32),
    )


def _concatenated(arrays: Sequence[NDArray[Any]], dtype: type[Any]) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays], dtype=dtype)


def join(batches: Sequence[Packed]) -> Packed:
    """Several batches as one."""
    if len(batches) == 1:
        return batches[0]
    columns = {field.name: [getattr(batch, field.name) for batch in batches] for field in fields(Packed)}
    shifts = {"row_starts": "ids", "row_texts": "term_counts", "word_rows": "row_starts"}
    joined = {}
    for name, arrays in columns.items():
        if name in shifts:
            sizes = np.cumsum([0, *(len(array) for array in columns[shifts[name]])])[:-1]
            arrays = [array + np.int32(size) for array, size in zip(arrays, sizes.tolist(), strict=True)]
        joined[name] = np.concatenate([np.empty(0, np.int32), *arrays])
    return Packed(**joined)


def unpack(packed: Packed, encodings: PackedEncodings, pieces: Sequence[Pieces]) -> list[Encoding]:
    """The encoding of each text, as `Backend.encode` gives it."""
    out = []
    term = word = 0
    counts = zip(packed.term_counts.tolist(), packed.word_counts.tolist(), pieces, strict=True)
    for i, (terms, words, text) in enumerate(counts):
        tags = text.tags
        if tags is None:
            tags = np.zeros(len(text.starts) - 1, np.int8)
            tags[text.starts[1:] > text.starts[:-1]] = encodings.tags[word : word + words]
        out.append(Encoding(encodings.weights[term : term + terms], tags, encodings.vectors[i]))
        term, word = term + terms, word + words
    return out


def best_rows(first: NDArray[np.int64], begins: NDArray[np.int32], stops: NDArray[np.int32]) -> NDArray[np.int64]:
    """For each word the window in which its first piece is farthest from an edge; of equal ones the earliest."""
    best = np.zeros(len(first), np.int64)
    depth = np.full(len(first), -1, np.int64)
    for number, (start, stop) in enumerate(zip(begins.tolist(), stops.tolist(), strict=True)):
        a, b = np.searchsorted(first, (start, stop))
        margin = np.minimum(first[a:b] - start, stop - 1 - first[a:b])
        better = margin > depth[a:b]
        depth[a:b][better] = margin[better]
        best[a:b][better] = number
    return best
