"""Exact BM25 for a whole document as query: one scan over the posting lists, block by block.

With a hundred query terms nearly every document matches some. What pays is that the scores of a block (16 KiB) and
the lengths' part of the formula (16 KiB) stay in the cache while all terms' lists for that block run through them.
To put off the longest lists, which add least, and look up only the documents that could still reach the best costs
more than it saves. Scores follow Lucene's formula with exact lengths:

    Σ_t count(t in query) · ln(1 + (N - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · length / average))
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import damaged
from erukg.collection.postings import BLOCK, DAMAGED
from erukg.core.kernels import kernel

__all__ = [
    "OVERHANG",
    "Excluded",
    "QueryLists",
    "SearchedDocuments",
    "Task",
    "best_first",
    "idf",
    "norms",
    "run",
    "scan_order",
]

Int: TypeAlias = int | np.int64
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Words: TypeAlias = NDArray[np.uint16]

#: `norms` is longer than the documents by this much, so that no 16-bit place, however damaged, lies outside
#: it.
OVERHANG = 1 << 16
# So many documents more than are wanted may gather before the worst of them are dropped.
_SPARE = 128
# tf / (tf + K) = r / (1/tf + r (1 - 1/tf)) where r is the norm 1 / (1 + K), and 1/tf comes from a table for tf from 2.
_ONE = np.float32(1)
_INVERSE = _ONE / np.arange(2, 18, dtype=np.float32)
_OTHERS = _ONE - _INVERSE


def idf(frequencies: Ints, documents: int) -> NDArray[np.float64]:
    """Lucene's inverse document frequency; 0 for terms that no document has."""
    return np.where(frequencies > 0, np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5)), 0.0)


def norms(lengths: NDArray[np.uint32], average: float, k1: float, b: float) -> Floats:
    """1 / (1 + k1 (1 - b + b · length / average)): what a term with tf = 1 scores in each document."""
    out = np.zeros(-(-len(lengths) // BLOCK) * BLOCK + OVERHANG, np.float32)
    out[: len(lengths)] = 1.0 / (1.0 + k1 * (1.0 - b + b * lengths.astype(np.float64) / average))
    return out


def scan_order(factors: Floats, frequencies: Ints) -> Ints:
    """The order in which `scan` adds the terms up: what adds much to few documents first.

    Frequencies are those in the whole collection, so that a document's score is the same, to the last bit, in any
    segment.
    """
    return np.argsort(-(factors / np.maximum(frequencies, 1)), kind="stable")


class QueryLists(NamedTuple):
    """The posting lists of a query's terms: list t is words[starts[t]:stops[t]] and counts `factors[t]`."""

    words: Words
    starts: Ints
    stops: Ints
    factors: Floats


class SearchedDocuments(NamedTuple):
    """The documents of a segment, numbered from `base`, with `norms` of their lengths; see `Segment` for the rest."""

    base: int
    norms: Floats
    dead: NDArray[np.uint8]
    texts: NDArray[np.uint64]
    ids: NDArray[np.uint8]
    ids_offsets: NDArray[np.uint32]


class Excluded(NamedTuple):
    """Documents never found: those whose text has this number, and the one with this id, which may be empty."""

    text: np.uint64
    id: NDArray[np.uint8]


@kernel()
def _first_block(words: Words, c: Int, stop: Int, block: int) -> Int:
    """Where the list's first block from `block` on begins, or its end; -1 when the list is damaged."""
    while c < stop:
        if c + 2 > stop:
            return -1
        if words[c] >= block:
            break
        head = np.int64(words[c + 1])
        c += 2 + (head & 0x1FFF)
        if head & 0x8000:
            if c >= stop:
                return -1
            head = np.int64(words[c])
            c += 1 + (head & 0x1FFF)
            if head & 0x8000:
                if c >= stop:
                    return -1
                c += 1 + 2 * np.int64(words[c])
        if c > stop:
            return -1
    return c


@kernel()
def _locate(words: Words, cursor: Ints, stops: Ints, block: int, bounds: Ints) -> bool:
    """Find what each list has in this block, and move its cursor behind it; False when a list is damaged.

    A row of `bounds` says where in `words` the documents with tf = 1 begin and end, those with 2 to 17, and where the
    block ends, behind those with more; the last is -1 when the list has no document in the block. There are three
    rounds over all lists, as the memory accesses within each round overlap.
    """
    n = cursor.size
    for t in range(n):
        c, stop, head = cursor[t], stops[t], np.int64(-1)
        if c < stop:
            if c + 2 > stop:
                return False
            here = words[c]
            if here < block:
                return False
            if here == block:
                head = np.int64(words[c + 1])
        bounds[t, 0] = c + 2
        bounds[t, 4] = head
    for t in range(n):
        head = bounds[t, 4]
        if head >= 0:
            stop = stops[t]
            b = bounds[t, 0] + (head & 0x1FFF)
            e, f = b, b
            if b > stop:
                return False
            if head & 0x8000:
                if b >= stop:
                    return False
                head = np.int64(words[b])
                e = b + 1
                f = e + (head & 0x1FFF)
            bounds[t, 1] = b
            bounds[t, 2] = e
            bounds[t, 3] = f
            bounds[t, 4] = head
    for t in range(n):
        head = bounds[t, 4]
        if head >= 0:
            c = bounds[t, 3]
            stop = stops[t]
            if head & 0x8000:
                if c >= stop:
                    return False
                c += 1 + 2 * np.int64(words[c])
            if c > stop:
                return False
            bounds[t, 4] = c
            cursor[t] = c
    return True


@kernel()
def _add_all(words: Words, bounds: Ints, factors: Floats, norms: Floats, scores: Floats) -> None:
    """Add what the terms give to the scores of all documents that their lists have in the block."""
    for t in range(factors.size):
        if bounds[t, 4] < 0:
            continue
        factor = factors[t]
        for x in words[bounds[t, 0] : bounds[t, 1]]:
            scores[x] += factor * norms[x]
        for x in words[bounds[t, 2] : bounds[t, 3]]:
            k = x & 15
            d = x >> 4
            r = norms[d]
            scores[d] += factor * r / (_INVERSE[k] + r * _OTHERS[k])
        for j in range(bounds[t, 3] + 1, bounds[t, 4], 2):
            tf = np.float32(words[j + 1])
            d = words[j]
            r = norms[d]
            scores[d] += factor * (tf * r / (_ONE + (tf - _ONE) * r))


@kernel()
def _find_above(bits: NDArray[np.int32], least: np.int32, end: int, places: Words) -> int:
    """List the documents with a score above `least` in `places`; returns how many there are.

    Scores come as their bits: non-negative floats are ordered like them, and integers are compared many at a time.
    """
    count = 0
    for s in range(0, end, 64):
        # A fixed number of unsigned indices, without which the compiler does not make one comparison of eight.
        above = False
        for j in range(64):
            above |= bits[np.uint64(s) + np.uint64(j)] > least
        if above:
            for j in range(s, min(s + 64, end)):
                places[count] = j
                count += bits[j] > least
    return count


@kernel()
def _equal(data: NDArray[np.uint8], start: Int, other: NDArray[np.uint8]) -> bool:
    for i in range(other.size):  # noqa: SIM110 (kernels know no generators)
        if data[start + i] != other[i]:
            return False
    return True


@kernel()
def _keep_best(scores: Floats, documents: Ints, size: int, keep: int) -> np.int32:
    """Keep the best `keep` of so many documents, in their order, and return the bits of the lowest score among them.

    Of documents with that score the first are kept.
    """
    bits = scores.view(np.int32)
    # To halve the range of what it may be takes few comparisons of all scores, many at a time.
    least, most = np.int32(0), np.int32(0x7F800000)
    while least < most:
        middle = np.int32(most - ((most - least) >> 1))
        count = 0
        for i in range(size):
            count += bits[i] >= middle
        if count >= keep:
            least = middle
        else:
            most = np.int32(middle - 1)
    equal = keep
    for i in range(size):
        equal -= bits[i] > least
    at = 0
    for i in range(size):
        if bits[i] > least or (bits[i] == least and equal > 0):
            equal -= bits[i] == least
            scores[at], documents[at] = scores[i], documents[i]
            at += 1
    return least


@kernel()
def scan(
    lists: QueryLists,
    segment: SearchedDocuments,
    exclude: Excluded,
    blocks: tuple[int, int],
    keep: int,
    scores: Floats,
    documents: Ints,
    size: int,
) -> int:
    """Scan a range of blocks of a segment for documents that belong among the best `keep`.

    `scores` and `documents` begin with the `size` best of the blocks before, and have room for `_SPARE` and a block
    more than are kept. Returns the new size, or -1 for damaged postings. Of equal scores the earlier document wins.
    """
    words, stops, factors = lists.words, lists.stops, lists.factors
    first_block, last_block = blocks
    n = stops.size
    n_documents = segment.texts.size
    cursor = np.empty(n, np.int64)
    for t in range(n):
        cursor[t] = _first_block(words, lists.starts[t], stops[t], first_block)
        if cursor[t] < 0:
            return -1
    bounds = np.empty((n, 5), np.int64)
    places = np.empty(4096, np.uint16)
    # Only the first 4,096 are documents; damaged lists may write to the others, which nobody reads.
    sums = np.empty(65536, np.float32)
    bits = sums.view(np.int32)
    least = np.int32(0)  # the bits of what a document's score must be above
    if size == keep:
        least = _keep_best(scores, documents, size, keep)
    for block in range(first_block, last_block):
        sums[:4096] = 0
        begin = block << 12
        if not _locate(words, cursor, stops, block, bounds):
            return -1
        _add_all(words, bounds, factors, segment.norms[begin : begin + 65536], sums)
        count = _find_above(bits, least, min(4096, n_documents - begin), places)
        for q in range(count):
            place = np.int64(places[q])
            d = begin + place
            if (segment.dead.size > 0 and segment.dead[d] != 0) or segment.texts[d] == exclude.text:
                continue
            if exclude.id.size > 0:
                start, stop = np.int64(segment.ids_offsets[d]), np.int64(segment.ids_offsets[d + 1])
                if stop > segment.ids.size:
                    return -1
                if stop - start == exclude.id.size and _equal(segment.ids, start, exclude.id):
                    continue
            scores[size], documents[size] = sums[place], segment.base + d
            size += 1
        if size > keep + _SPARE:
            least = _keep_best(scores, documents, size, keep)
            size = keep
    if size > keep:
        _keep_best(scores, documents, size, keep)
        size = keep
    if last_block << 12 >= n_documents:
        for t in range(n):
            if cursor[t] != stops[t]:
                return -1
    return size


class Task(NamedTuple):
    """Some blocks of a segment to be scanned for a query."""

    path: Path
    lists: QueryLists
    documents: SearchedDocuments
    excluded: Excluded
    blocks: tuple[int, int]


def run(tasks: Sequence[Task], n: int) -> tuple[Ints, Floats]:
    """The `n` best documents of these blocks, which follow one another, and their scores, best first."""
    room, size = n + _SPARE + BLOCK, 0
    scores, documents = np.empty(room, np.float32), np.empty(room, np.int64)
    for task in tasks:
        size = scan(task.lists, task.documents, task.excluded, task.blocks, n, scores, documents, size)
        if size < 0:
            raise damaged(task.path, DAMAGED)
    return best_first(documents[:size], scores[:size], n)


def best_first(documents: Ints, scores: Floats, keep: int) -> tuple[Ints, Floats]:
    """The `keep` best, best first; of equal scores the earlier document comes first."""
    order = np.lexsort((documents, -scores))[:keep]
    return documents[order], scores[order]
