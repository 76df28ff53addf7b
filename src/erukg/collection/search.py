"""Exact BM25 for a whole document as query: one scan over the posting lists, block by block.

With a hundred query terms nearly every document matches some. What pays is that the scores of a block (16 KiB) and
the lengths' part of the formula (16 KiB) stay in the cache while all terms' lists for that block run through them,
and that the longest lists, which add least, need not run through them at all: once the best so far are known, a
block's documents that cannot reach them even with all of what is left are passed over, and the few others are
looked up. Scores follow Lucene's formula with exact lengths:

    Σ_t count(t in query) · ln(1 + (N - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · length / average))
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection.postings import BLOCK
from erukg.core.kernels import kernel

__all__ = [
    "OVERHANG",
    "Excluded",
    "QueryLists",
    "SearchedDocuments",
    "best_first",
    "idf",
    "norms",
    "scan",
    "scan_order",
]

Int: TypeAlias = int | np.int64
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]
Words: TypeAlias = NDArray[np.uint16]

#: `norms` is longer than the documents by this much, so that no 16-bit place, however damaged, lies outside
#: it.
OVERHANG = 1 << 16
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
    """The order in which `scan` wants the terms: what adds much to few documents first.

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
def _add_all(words: Words, bounds: Ints, first: int, last: int, factors: Floats, norms: Floats, scores: Floats) -> None:
    """Add what terms `first` to `last` give to the scores of all documents that their lists have in the block."""
    for t in range(first, last):
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
def _bisect(words: Words, first: int, stop: int, shift: int, document: int) -> int:
    """Where the document is among those from `first` to `stop`, or -1."""
    m = stop - first
    p = first
    while m > 1:
        half = m >> 1
        p = p + half if words[p + half] >> shift <= document else p
        m -= half
    return p if m == 1 and words[p] >> shift == document else -1


@kernel()
def _add_some(
    words: Words, bounds: Ints, t: int, factor: np.float32, norms: Floats, places: Words, scores: Floats
) -> None:
    """Add what a term gives to the scores of the documents in `places`, looking each of them up."""
    a, b, e, f, c = bounds[t, 0], bounds[t, 1], bounds[t, 2], bounds[t, 3], bounds[t, 4]
    for d in places:
        r = norms[d]
        p = _bisect(words, a, b, 0, d)
        if p >= 0:
            scores[d] += factor * r
            continue
        p = _bisect(words, e, f, 4, d)
        if p >= 0:
            k = words[p] & 15
            scores[d] += factor * r / (_INVERSE[k] + r * _OTHERS[k])
            continue
        for j in range(f + 1, c, 2):
            if words[j] == d:
                tf = np.float32(words[j + 1])
                scores[d] += factor * (tf * r / (_ONE + (tf - _ONE) * r))


@kernel()
def _find_above(bits: NDArray[np.int32], least: np.int32, end: int, places: Words) -> int:
    """List the documents with a score above `least` in `places`; returns how many there are.

    Scores come as their bits: non-negative floats are ordered like them, and integers are compared eight at a time.
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
def _keep_above(scores: Floats, needed: float, places: Words, count: int) -> int:
    """Keep the first `count` of `places` whose score is above `needed`; returns how many are left."""
    left = 0
    for i in range(count):
        d = places[i]
        places[left] = d
        left += scores[d] > needed
    return left


@kernel()
def _equal(data: NDArray[np.uint8], start: Int, other: NDArray[np.uint8]) -> bool:
    for i in range(other.size):  # noqa: SIM110 (kernels know no generators)
        if data[start + i] != other[i]:
            return False
    return True


@kernel()
def _push(scores: Floats, documents: Ints, size: int, score: np.float32, document: Int) -> int:
    """Put a document on a heap of `size` entries, in place of the worst if it is full; returns the new size.

    The worst entry is at the root: the lowest score, and of equal ones the latest document.
    """
    keep = scores.size
    if size < keep:
        at = size
        size += 1
        while at > 0:
            up = (at - 1) >> 1
            if scores[up] < score or (scores[up] == score and documents[up] > document):
                break
            scores[at], documents[at] = scores[up], documents[up]
            at = up
    else:
        at = 0
        while True:
            down = 2 * at + 1
            if down >= keep:
                break
            other = down + 1
            if other < keep and (
                scores[other] < scores[down] or (scores[other] == scores[down] and documents[other] > documents[down])
            ):
                down = other
            if scores[down] > score or (scores[down] == score and documents[down] < document):
                break
            scores[at], documents[at] = scores[down], documents[down]
            at = down
    scores[at], documents[at] = score, document
    return size


@kernel()
def scan(
    lists: QueryLists,
    segment: SearchedDocuments,
    exclude: Excluded,
    blocks: tuple[int, int],
    scores: Floats,
    documents: Ints,
    size: int,
) -> int:
    """Scan a range of blocks of a segment for documents that belong among the best.

    `scores` and `documents` hold the best so far as a heap of `size` entries (see `_push`). Returns the new size, or
    -1 when the postings are damaged. Of equal scores the earlier document wins. Any order of the terms gives the same
    documents; `scan_order` is the quickest.
    """
    words, stops, factors = lists.words, lists.stops, lists.factors
    first_block, last_block = blocks
    n = stops.size
    n_documents = segment.texts.size
    keep = scores.size
    level = scores[0] if size == keep else np.float32(0)
    # A term adds less than its factor; `rest` is what the terms from t on can add. Sums of n floats are off by less
    # than n roundings, and what might only be rounded away from the best is not passed over.
    slack = 1.0 + 2e-7 * (n + 8)
    rest = np.zeros(n + 1, np.float64)
    for t in range(n - 1, -1, -1):
        rest[t] = rest[t + 1] + factors[t] * slack
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
    least = np.zeros(1, np.float32)
    least_bits = least.view(np.int32)
    for block in range(first_block, last_block):
        sums[:4096] = 0
        begin = block << 12
        norms = segment.norms[begin : begin + 65536]
        if not _locate(words, cursor, stops, block, bounds):
            return -1
        # The last terms are put off while they can add no more than a part of what it takes. A larger part saves
        # more lists and leaves more documents to look up in them; about a third was best.
        split = n
        while split > 0 and rest[split - 1] < 0.3 * level:
            split -= 1
        _add_all(words, bounds, 0, split, factors, norms, sums)
        end = min(4096, n_documents - begin)
        least[0] = max(0.0, level / slack - rest[split])
        count = _find_above(bits, least_bits[0], end, places)
        for t in range(split, n):
            if count == 0:
                break
            if bounds[t, 4] < 0:
                continue
            # Looking one document up takes as long as adding some fifty.
            if 48 * count > bounds[t, 3] - bounds[t, 0]:
                _add_all(words, bounds, t, t + 1, factors, norms, sums)
            else:
                _add_some(words, bounds, t, factors[t], norms, places[:count], sums)
            count = _keep_above(sums, level / slack - rest[t + 1], places, count)
        for q in range(count):
            place = np.int64(places[q])
            score = sums[place]
            if not score > level:
                continue
            d = begin + place
            if (segment.dead.size > 0 and segment.dead[d] != 0) or segment.texts[d] == exclude.text:
                continue
            if exclude.id.size > 0:
                start, stop = np.int64(segment.ids_offsets[d]), np.int64(segment.ids_offsets[d + 1])
                if stop > segment.ids.size:
                    return -1
                if stop - start == exclude.id.size and _equal(segment.ids, start, exclude.id):
                    continue
            size = _push(scores, documents, size, score, segment.base + d)
            if size == keep:
                level = scores[0]
    if last_block << 12 >= n_documents:
        for t in range(n):
            if cursor[t] != stops[t]:
                return -1
    return size


def best_first(scores: Floats, documents: Ints, keep: int) -> tuple[Floats, Ints]:
    """The `keep` best, best first; of equal scores the earlier document comes first."""
    order = np.lexsort((documents, -scores))[:keep]
    return scores[order], documents[order]
