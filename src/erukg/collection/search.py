"""Exact BM25 for a whole document as query: one scan over the posting lists, block by block.

With a hundred query terms nearly every document matches some, so skipping does not pay; what pays is that the
scores of a block (16 KiB) and the lengths' part of the formula (16 KiB) stay in the cache while all terms'
lists for that block run through them. Scores follow Lucene's formula with exact lengths:

    Σ_t count(t in query) · ln(1 + (N - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · length / average))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erukg._jit import kernel
from erukg.collection.postings import BLOCK

__all__ = ["OVERHANG", "best_first", "idf", "norms", "scan"]

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
    wins. Starts and stops must lie within `words`; `norm` must have its overhang.
    """
    keep = scores.size
    one = np.float32(1)
    # tf / (tf + K) = r / (1/tf + r (1 - 1/tf)) where r is the norm 1 / (1 + K), and 1/tf comes from a table.
    inverse = np.empty(16, np.float32)
    rest = np.empty(16, np.float32)
    for j in range(16):
        inverse[j] = one / np.float32(j + 2)
        rest[j] = one - inverse[j]
    room = np.zeros(65536, np.float32)
    # Non-negative floats are ordered like their bits, and integers are compared eight at a time.
    bits = room.view(np.int32)
    level = np.zeros(1, np.float32)
    level_bits = level.view(np.int32)
    if size == keep:
        level[0] = scores[0]
    cursor = starts.copy()
    for block in range(first_block, last_block):
        room[:4096] = 0
        begin = block << 12
        near = norm[begin : begin + 65536]
        for t in range(cursor.size):
            c = cursor[t]
            stop = stops[t]
            while c < stop:
                if c + 2 > stop:
                    return -1
                here = np.int64(words[c])
                if here > block:
                    break
                head = np.int64(words[c + 1])
                a = c + 2
                b = a + (head & 0x1FFF)
                e = b
                f = b
                larger = np.int64(0)
                if head & 0x8000:
                    if b >= stop:
                        return -1
                    head = np.int64(words[b])
                    e = b + 1
                    f = e + (head & 0x1FFF)
                    if head & 0x8000:
                        if f >= stop:
                            return -1
                        larger = 1 + 2 * np.int64(words[f])
                if b > stop or f + larger > stop:
                    return -1
                if here == block:
                    w = factors[t]
                    for x in words[a:b]:
                        room[x] += w * near[x]
                    for x in words[e:f]:
                        k = x & 15
                        d = x >> 4
                        r = near[d]
                        room[d] += w * r / (inverse[k] + r * rest[k])
                    for j in range(f + 1, f + larger, 2):
                        tf = np.float32(words[j + 1])
                        d = words[j]
                        r = near[d]
                        room[d] += w * (tf * r / (one + (tf - one) * r))
                    c = f + larger
                    break
                if block != first_block:
                    return -1
                c = f + larger
            cursor[t] = c
        end = min(4096, n_documents - begin)
        for s in range(0, end, 64):
            above = False
            least = level_bits[0]
            for v in bits[s : s + 64]:
                above |= v > least
            if not above:
                continue
            for j in range(s, min(s + 64, end)):
                score = room[j]
                if not score > level[0]:
                    continue
                d = begin + j
                if (dead.size > 0 and dead[d] != 0) or texts[d] == text:
                    continue
                if exclude.size > 0:
                    i, stop = np.int64(ids_offsets[d]), np.int64(ids_offsets[d + 1])
                    if stop > ids.size:
                        return -1
                    if stop - i == exclude.size:
                        same = True
                        for m in range(exclude.size):
                            if ids[i + m] != exclude[m]:
                                same = False
                                break
                        if same:
                            continue
                # A heap with the worst entry at the root: lowest score, and of equals the latest document.
                number = base + d
                if size < keep:
                    p = size
                    size += 1
                    while p > 0:
                        up = (p - 1) >> 1
                        if scores[up] < score or (scores[up] == score and documents[up] > number):
                            break
                        scores[p], documents[p] = scores[up], documents[up]
                        p = up
                else:
                    p = 0
                    while True:
                        down = 2 * p + 1
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
                        scores[p], documents[p] = scores[down], documents[down]
                        p = down
                scores[p], documents[p] = score, number
                if size == keep:
                    level[0] = scores[0]
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
