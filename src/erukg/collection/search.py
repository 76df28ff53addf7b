"""Exact BM25 for a whole document as query: one scan over the posting lists, block by block.

With a hundred query terms nearly every document matches some. What pays is that the scores of a block (16 KiB) and
the lengths' part of the formula (16 KiB) stay in the cache while all terms' lists for that block run through them,
and that the longest lists, which add least, need not run through them at all: once the best so far are known, a
block's documents that cannot reach them even with all of what is left are passed over, and the few others are
looked up. Scores follow Lucene's formula with exact lengths:

    Σ_t count(t in query) · ln(1 + (N - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · length / average))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erukg.collection.postings import BLOCK
from erukg.core.kernels import kernel

__all__ = ["OVERHANG", "best_first", "idf", "norms", "scan", "scan_order"]

#: `norms` is longer than the documents by this much, so that no 16-bit place, however damaged, lies outside
#: it.
OVERHANG = 1 << 16


def idf(frequencies: NDArray[np.int64], documents: int) -> NDArray[np.float64]:
    """Lucene's inverse document frequency; 0 for terms that no document has."""
    return np.where(frequencies > 0, np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5)), 0.0)


def norms(lengths: NDArray[np.uint32], average: float, k1: float, b: float) -> NDArray[np.float32]:
    """1 / (1 + k1 (1 - b + b · length / average)): what a term with tf = 1 scores in each document."""
    out = np.zeros(-(-len(lengths) // BLOCK) * BLOCK + OVERHANG, np.float32)
    out[: len(lengths)] = 1.0 / (1.0 + k1 * (1.0 - b + b * lengths.astype(np.float64) / average))
    return out


def scan_order(factors: NDArray[np.float32], frequencies: NDArray[np.int64]) -> NDArray[np.int64]:
    """The order in which `scan` wants the terms: what adds much to few documents first.

    Frequencies are those in the whole collection, so that a document's score is the same, to the last bit, in any
    segment.
    """
    return np.argsort(-(factors / np.maximum(frequencies, 1)), kind="stable")


@kernel()
def scan(
    words: NDArray[np.uint16],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    factors: NDArray[np.float32],
    norm: NDArray[np.float32],
    n_documents: int,
    first_block: int,
    last_block: int,
    base: int,
    dead: NDArray[np.uint8],
    texts: NDArray[np.uint64],
    text: np.uint64,
    ids: NDArray[np.uint8],
    ids_offsets: NDArray[np.uint32],
    exclude: NDArray[np.uint8],
    scores: NDArray[np.float32],
    documents: NDArray[np.int64],
    size: int,
) -> int:
    """Scan blocks `first_block` to `last_block` of a segment for documents that belong among the best.

    `scores` and `documents` hold the best so far as a heap of `size` entries, worst first; numbers start at
    `base`. Returns the new size, or -1 when the postings are damaged. Of equal scores the earlier document
    wins. Starts and stops must lie within `words`; `norm` must have its overhang. Any order of the terms gives
    the same documents; `scan_order` is the quickest.
    """
    keep = scores.size
    n = starts.size
    one = np.float32(1)
    # tf / (tf + K) = r / (1/tf + r (1 - 1/tf)) where r is the norm 1 / (1 + K), and 1/tf comes from a table.
    inverse = np.empty(16, np.float32)
    others = np.empty(16, np.float32)
    for j in range(16):
        inverse[j] = one / np.float32(j + 2)
        others[j] = one - inverse[j]
    room = np.zeros(65536, np.float32)
    # Non-negative floats are ordered like their bits, and integers are compared eight at a time.
    bits = room.view(np.int32)
    least = np.zeros(1, np.float32)
    least_bits = least.view(np.int32)
    level = scores[0] if size == keep else np.float32(0)
    # A term adds less than its factor; `rest` is what the terms from t on can add. Sums of n floats are off by less
    # than n roundings, and what might only be rounded away from the best is not passed over.
    slack = 1.0 + 2e-7 * (n + 8)
    rest = np.zeros(n + 1, np.float64)
    for t in range(n - 1, -1, -1):
        rest[t] = rest[t + 1] + factors[t] * slack
    cursor = starts.copy()
    for t in range(n):
        c = cursor[t]
        stop = stops[t]
        while c < stop:
            if c + 2 > stop:
                return -1
            if words[c] >= first_block:
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
        cursor[t] = c
    # Of each term, where in `words` this block's documents begin and end: with tf = 1, with 2 to 17, with more. The
    # last is -1 where there are none.
    parts = np.empty((n, 5), np.int64)
    places = np.empty(4096, np.uint16)
    for block in range(first_block, last_block):
        room[:4096] = 0
        begin = block << 12
        near = norm[begin : begin + 65536]
        # The last terms are put off while they can add no more than a part of what it takes. A larger part saves
        # more lists and leaves more documents to look up in them; about a third was best.
        split = n
        while split > 0 and rest[split - 1] < 0.3 * level:
            split -= 1
        # Three rounds over all terms, as each round's look-ups wait for memory side by side.
        for t in range(n):
            c = cursor[t]
            parts[t, 4] = -1
            if c < stops[t]:
                if c + 2 > stops[t]:
                    return -1
                here = np.int64(words[c])
                if here < block:
                    return -1
                if here == block:
                    parts[t, 0] = c + 2
                    parts[t, 4] = np.int64(words[c + 1])
        for t in range(n):
            head = parts[t, 4]
            if head >= 0:
                b = parts[t, 0] + (head & 0x1FFF)
                parts[t, 1] = b
                parts[t, 2] = b
                parts[t, 3] = b
                if b > stops[t]:
                    return -1
                if head & 0x8000:
                    if b >= stops[t]:
                        return -1
                    head = np.int64(words[b])
                    parts[t, 2] = b + 1
                    f = b + 1 + (head & 0x1FFF)
                    parts[t, 3] = f
                parts[t, 4] = head
        for t in range(n):
            head = parts[t, 4]
            if head >= 0:
                c = parts[t, 3]
                if head & 0x8000:
                    if c >= stops[t]:
                        return -1
                    c += 1 + 2 * np.int64(words[c])
                if c > stops[t]:
                    return -1
                parts[t, 4] = c
                cursor[t] = c
        for t in range(split):
            c = parts[t, 4]
            if c < 0:
                continue
            w = factors[t]
            a, b, e, f = parts[t, 0], parts[t, 1], parts[t, 2], parts[t, 3]
            for x in words[a:b]:
                room[x] += w * near[x]
            for x in words[e:f]:
                k = x & 15
                d = x >> 4
                r = near[d]
                room[d] += w * r / (inverse[k] + r * others[k])
            for j in range(f + 1, c, 2):
                tf = np.float32(words[j + 1])
                d = words[j]
                r = near[d]
                room[d] += w * (tf * r / (one + (tf - one) * r))
        end = min(4096, n_documents - begin)
        count = 0
        least[0] = max(0.0, level / slack - rest[split])
        for s in range(0, end, 64):
            above = False
            floor = least_bits[0]
            for v in bits[s : s + 64]:
                above |= v > floor
            if above:
                for j in range(s, min(s + 64, end)):
                    places[count] = j
                    count += bits[j] > floor
        for t in range(split, n):
            if count == 0:
                break
            if parts[t, 4] < 0:
                continue
            w = factors[t]
            a, b, e, f, c = parts[t, 0], parts[t, 1], parts[t, 2], parts[t, 3], parts[t, 4]
            # Looking one document up takes as long as adding some fifty.
            if 48 * count > f - a:
                for x in words[a:b]:
                    room[x] += w * near[x]
                for x in words[e:f]:
                    k = x & 15
                    d = x >> 4
                    r = near[d]
                    room[d] += w * r / (inverse[k] + r * others[k])
                for j in range(f + 1, c, 2):
                    tf = np.float32(words[j + 1])
                    d = words[j]
                    r = near[d]
                    room[d] += w * (tf * r / (one + (tf - one) * r))
            else:
                for i in range(count):
                    d = places[i]
                    r = near[d]
                    m = b - a
                    p = a
                    while m > 1:
                        half = m >> 1
                        p = p + half if words[p + half] <= d else p
                        m -= half
                    if m == 1 and words[p] == d:
                        room[d] += w * r
                        continue
                    m = f - e
                    p = e
                    while m > 1:
                        half = m >> 1
                        p = p + half if words[p + half] >> 4 <= d else p
                        m -= half
                    if m == 1 and words[p] >> 4 == d:
                        k = words[p] & 15
                        room[d] += w * r / (inverse[k] + r * others[k])
                        continue
                    for j in range(f + 1, c, 2):
                        if words[j] == d:
                            tf = np.float32(words[j + 1])
                            room[d] += w * (tf * r / (one + (tf - one) * r))
            needed = level / slack - rest[t + 1]
            left = 0
            for i in range(count):
                d = places[i]
                places[left] = d
                left += room[d] > needed
            count = left
        for q in range(count):
            place = np.int64(places[q])
            score = room[place]
            if not score > level:
                continue
            d = begin + place
            if (dead.size > 0 and dead[d] != 0) or texts[d] == text:
                continue
            if exclude.size > 0:
                name, stop = np.int64(ids_offsets[d]), np.int64(ids_offsets[d + 1])
                if stop > ids.size:
                    return -1
                if stop - name == exclude.size:
                    same = True
                    for m in range(exclude.size):
                        if ids[name + m] != exclude[m]:
                            same = False
                            break
                    if same:
                        continue
            # A heap with the worst entry at the root: lowest score, and of equals the latest document.
            number = base + d
            if size < keep:
                at = size
                size += 1
                while at > 0:
                    up = (at - 1) >> 1
                    if scores[up] < score or (scores[up] == score and documents[up] > number):
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
                        scores[other] < scores[down]
                        or (scores[other] == scores[down] and documents[other] > documents[down])
                    ):
                        down = other
                    if scores[down] > score or (scores[down] == score and documents[down] < number):
                        break
                    scores[at], documents[at] = scores[down], documents[down]
                    at = down
            scores[at], documents[at] = score, number
            if size == keep:
                level = scores[0]
    for t in range(cursor.size):
        if last_block << 12 >= n_documents and cursor[t] != stops[t]:
            return -1
    return size


def best_first(
    scores: NDArray[np.float32], documents: NDArray[np.int64], keep: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The `keep` best, best first; of equal scores the earlier document comes first."""
    order = np.lexsort((documents, -scores))[:keep]
    return scores[order], documents[order]
