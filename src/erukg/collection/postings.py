"""Posting lists, laid out for scanning.

A term's list is a run of 16-bit words, one stretch for every block of 4,096 documents that holds the term:

    block number
    count of documents with tf = 1 (13 bits), top bit: more follow
    those documents' places in the block
    if more follow:   count of documents with 2 <= tf <= 17 (13 bits), top bit: even larger tf follow
                      those, as place << 4 | tf - 2
    if larger follow: their count, then place and tf (at most 65,535) of each

Almost three quarters of all postings have tf = 1, so these cost two bytes and the simplest of loops; grouping
by tf keeps unpredictable branches out of the scan, and a block's scores stay in the first-level cache.
Frequencies are exact and nothing here depends on other documents, so that a collection can grow without
rewriting its postings.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import PackedLists, damaged
from erukg.core.kernels import kernel

__all__ = ["BLOCK", "DAMAGED", "LEFT_OUT", "count_live", "decode", "find_documents", "invert", "number_terms", "pack"]
__all__ += ["sum_weights"]

Int: TypeAlias = int | np.int64
Ints: TypeAlias = NDArray[np.int32]
Places: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint16]

BLOCK = 1 << 12
DAMAGED = "its posting lists are not as they were written"
#: The target of a term whose list is not wanted.
LEFT_OUT = -2
_WORDS_PER_POSTING = 6  # the most that one posting can take: a stretch of its own with a large tf


@kernel()
def _number(terms: NDArray[np.uint64], table: Ints, distinct: NDArray[np.uint64], out: Ints) -> int:
    mask = table.size - 1
    count = 0
    for i in range(terms.size):
        term = terms[i]
        slot = np.int64(term & np.uint64(mask))
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = count
                distinct[count] = term
                out[i] = count
                count += 1
                break
            if distinct[known] == term:
                out[i] = known
                break
            slot = (slot + 1) & mask
    return count


def number_terms(terms: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Ints]:
    """The distinct terms, ascending, and the place of every term among them (`np.unique` without the big
    sort).
    """
    size = 1 << max(4, int(2 * len(terms)).bit_length())
    distinct, numbers = np.empty(len(terms), np.uint64), np.empty(len(terms), np.int32)
    count = _number(terms, np.full(size, -1, np.int32), distinct, numbers)
    order = np.argsort(distinct[:count])
    rank = np.empty(count, np.int32)
    rank[order] = np.arange(count, dtype=np.int32)
    return distinct[order], rank[numbers]


@kernel()
def _invert(numbers: Ints, ends: Places, place: Places, documents: Ints, frequencies: Ints, write: bool) -> None:
    """One pass of a counting sort: count each term's documents in `place`, or `write` them from there on."""
    # Finds repeats within a document.
    last = np.full(place.size, -1, np.int32)
    start = 0
    for d in range(ends.size):
        for j in range(start, ends[d]):
            t = numbers[j]
            if last[t] != d:
                last[t] = d
                if write:
                    documents[place[t]] = d
                    frequencies[place[t]] = 1
                place[t] += 1
            elif write:
                frequencies[place[t] - 1] += 1
        start = ends[d]


def invert(numbers: Ints, lengths: NDArray[Any], n_terms: int) -> tuple[Places, Ints, Ints]:
    """From documents' term numbers to (indptr, documents, frequencies) by term, documents ascending."""
    ends = np.cumsum(lengths, dtype=np.int64)
    documents, frequencies = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
    counts = np.zeros(n_terms, np.int64)
    _invert(numbers, ends, counts, documents, frequencies, False)
    indptr = np.concatenate(([0], np.cumsum(counts)))
    _invert(numbers, ends, indptr[:-1].copy(), documents, frequencies, True)
    return indptr, documents[: indptr[-1]], frequencies[: indptr[-1]]


@kernel()
def _pack(indptr: Places, documents: Ints, frequencies: Ints, words: Words, ends: Places) -> int:
    p = 0
    for t in range(indptr.size - 1):
        j, stop = indptr[t], indptr[t + 1]
        while j < stop:
            block = documents[j] >> 12
            end = j
            ones, some, many = 0, 0, 0
            while end < stop and documents[end] >> 12 == block:
                if frequencies[end] == 1:
                    ones += 1
                elif frequencies[end] <= 17:
                    some += 1
                else:
                    many += 1
                end += 1
            words[p] = block
            words[p + 1] = ones | (0x8000 if some + many > 0 else 0)
            a = p + 2
            b = a + ones
            p = b
            if some + many > 0:
                words[b] = some | (0x8000 if many > 0 else 0)
                b += 1
                p = b + some
            c = p
            if many > 0:
                words[c] = many
                c += 1
                p = c + 2 * many
            for i in range(j, end):
                d, f = documents[i] & 4095, frequencies[i]
                if f == 1:
                    words[a] = d
                    a += 1
                elif f <= 17:
                    words[b] = d << 4 | (f - 2)
                    b += 1
                else:
                    words[c] = d
                    words[c + 1] = min(f, 65535)
                    c += 2
            j = end
        ends[t] = p
    return p


def pack(indptr: Places, documents: Ints, frequencies: Ints) -> tuple[Words, Places]:
    """The words of these lists and where each list ends."""
    words = np.empty(_WORDS_PER_POSTING * len(documents), np.uint16)
    ends = np.empty(len(indptr) - 1, np.int64)
    return words[: _pack(indptr, documents, frequencies, words, ends)], ends


@kernel()
def _groups(words: Words, i: Int, stop: Int) -> tuple[Int, Int, Int, Int, Int, Int]:
    """Where the groups of the block at `i` begin and end: tf = 1, tf from 2 to 17, larger. -1 first: it is damaged."""
    if i + 2 > stop:
        return -1, 0, 0, 0, 0, 0
    head = np.int64(words[i + 1])
    a = i + 2
    a_end = a + (head & 0x1FFF)
    b = b_end = c = c_end = a_end
    if head & 0x8000:
        if a_end >= stop:
            return -1, 0, 0, 0, 0, 0
        head = np.int64(words[a_end])
        b = a_end + 1
        b_end = c = c_end = b + (head & 0x1FFF)
        if head & 0x8000:
            if b_end >= stop:
                return -1, 0, 0, 0, 0, 0
            c = b_end + 1
            c_end = c + 2 * np.int64(words[b_end])
    if a_end > stop or b_end > stop or c_end > stop:
        return -1, 0, 0, 0, 0, 0
    return a, a_end, b, b_end, c, c_end


@kernel()
def _decode(
    words: Words,
    offsets: NDArray[np.uint32],
    first: int,
    last: int,
    targets: Places,
    renumber: Ints,
    place: Places,
    documents: Ints,
    frequencies: Ints,
) -> bool:
    for t in range(first, last):
        i: Int = np.int64(offsets[t])
        stop = np.int64(offsets[t + 1])
        if i > stop or stop > words.size:
            return False
        out = targets[t - first]
        if out == LEFT_OUT:
            continue
        while i < stop:
            base = np.int64(words[i]) << 12
            a, a_end, b, b_end, c, c_end = _groups(words, i, stop)
            if a < 0:
                return False
            # Each group is in the order of documents; together they are merged.
            while a < a_end or b < b_end or c < c_end:
                da = np.int64(words[a]) if a < a_end else 1 << 20
                db = np.int64(words[b]) >> 4 if b < b_end else 1 << 20
                dc = np.int64(words[c]) if c < c_end else 1 << 20
                if da < db and da < dc:
                    d, f = da, np.int64(1)
                    a += 1
                elif db < dc:
                    d, f = db, (np.int64(words[b]) & 15) + 2
                    b += 1
                else:
                    d, f = dc, np.int64(words[c + 1])
                    c += 2
                d += base
                if d >= renumber.size:
                    return False
                new = renumber[d]
                if new < 0:
                    continue
                if out < 0:
                    return False
                p = place[out]
                if p >= documents.size:
                    return False
                documents[p] = new
                frequencies[p] = f
                place[out] = p + 1
            i = c_end
    return True


def decode(
    postings: PackedLists,
    first: int,
    last: int,
    targets: Places,
    renumber: Ints,
    place: Places,
    documents: Ints,
    frequencies: Ints,
) -> None:
    """Unpack the lists of terms `first` to `last`, appending the list of term t to list `targets[t - first]`.

    `place` says where each target's next posting goes and is moved on; documents get the numbers in
    `renumber`, and those with a negative one are left out. So are terms whose target is `LEFT_OUT`; of one whose target
    is -1 all documents must be.
    """
    words, offsets = postings.values, postings.offsets
    if not _decode(words, offsets, first, last, targets, renumber, place, documents, frequencies):
        raise damaged(postings.path, DAMAGED)


@kernel()
def _count_group(words: Words, start: Int, stop: Int, step: int, shift: int, base: Int, dead: NDArray[np.uint8]) -> int:
    """How many live documents the group has; -1 when one of them does not exist."""
    live = 0
    for i in range(start, stop, step):
        d = base + (words[i] >> shift)
        if d >= dead.size:
            return -1
        live += dead[d] == 0
    return live


@kernel()
def _count_live(words: Words, offsets: NDArray[np.uint32], dead: NDArray[np.uint8], out: NDArray[np.uint32]) -> bool:
    for t in range(out.size):
        i: Int = np.int64(offsets[t])
        stop = np.int64(offsets[t + 1])
        if i > stop or stop > words.size:
            return False
        live = 0
        while i < stop:
            base = np.int64(words[i]) << 12
            a, a_end, b, b_end, c, c_end = _groups(words, i, stop)
            if a < 0:
                return False
            ones = _count_group(words, a, a_end, 1, 0, base, dead)
            some = _count_group(words, b, b_end, 1, 4, base, dead)
            many = _count_group(words, c, c_end, 2, 0, base, dead)
            if ones < 0 or some < 0 or many < 0:
                return False
            live += ones + some + many
            i = c_end
        out[t] = live
    return True


def count_live(postings: PackedLists, dead: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """In how many documents that are not `dead` each term occurs; every word of the lists is checked on the way."""
    out = np.empty(len(postings), np.uint32)
    if not _count_live(postings.values, postings.offsets, dead, out):
        raise damaged(postings.path, DAMAGED)
    return out


@kernel()
def _find_documents(
    words: Words, offsets: NDArray[np.uint32], terms: Places, slots: Ints, out: NDArray[np.bool_]
) -> bool:
    for k in range(terms.size):
        i: Int = np.int64(offsets[terms[k]])
        stop = np.int64(offsets[terms[k] + 1])
        if i > stop or stop > words.size:
            return False
        while i < stop:
            base = np.int64(words[i]) << 12
            a, a_end, b, b_end, c, c_end = _groups(words, i, stop)
            if a < 0:
                return False
            for j in range(a, c_end):
                if j < a_end:
                    d = base + np.int64(words[j])
                elif b <= j < b_end:
                    d = base + (np.int64(words[j]) >> 4)
                elif j >= c and (j - c) & 1 == 0:
                    d = base + np.int64(words[j])
                else:
                    continue
                if d >= slots.size:
                    return False
                if slots[d] >= 0:
                    out[k, slots[d]] = True
            i = c_end
    return True


def find_documents(postings: PackedLists, terms: Places, rows: Places, documents: int) -> NDArray[np.bool_]:
    """Which of the documents in `rows`, of so many in all, the list of each term has: a row for each term."""
    slots = np.full(documents, -1, np.int32)
    slots[rows] = np.arange(len(rows), dtype=np.int32)
    out = np.zeros((len(terms), len(rows)), np.bool_)
    if not _find_documents(postings.values, postings.offsets, terms, slots, out):
        raise damaged(postings.path, DAMAGED)
    return out


@kernel()
def _add_group(
    words: Words, start: Int, stop: Int, step: int, shift: int, base: Int, weight: float, out: NDArray[np.float64]
) -> bool:
    """Add the weight to the group's documents; False when one of them does not exist."""
    for i in range(start, stop, step):
        d = base + (np.int64(words[i]) >> shift)
        if d >= out.size:
            return False
        out[d] += weight
    return True


@kernel()
def _sum_weights(
    words: Words, offsets: NDArray[np.uint32], terms: Places, weights: NDArray[np.float64], out: NDArray[np.float64]
) -> bool:
    for k in range(terms.size):
        i: Int = np.int64(offsets[terms[k]])
        stop = np.int64(offsets[terms[k] + 1])
        if i > stop or stop > words.size:
            return False
        while i < stop:
            base = np.int64(words[i]) << 12
            a, a_end, b, b_end, c, c_end = _groups(words, i, stop)
            if a < 0:
                return False
            whole = _add_group(words, a, a_end, 1, 0, base, weights[k], out)
            whole = whole and _add_group(words, b, b_end, 1, 4, base, weights[k], out)
            if not (whole and _add_group(words, c, c_end, 2, 0, base, weights[k], out)):
                return False
            i = c_end
    return True


def sum_weights(postings: PackedLists, terms: Places, weights: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Add the weight of each term to `out` at all documents of its list."""
    if not _sum_weights(postings.values, postings.offsets, terms, weights, out):
        raise damaged(postings.path, DAMAGED)
