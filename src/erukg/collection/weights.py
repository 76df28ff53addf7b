"""A document's term weights w^x, packed: about 19 bits per term.

A document with k terms has 1 + 2k + ⌈(k + H) / 8⌉ bytes: k; the low 8 bits of the ascending term ids; the
weights' codes; and the ids' high bits in unary (Elias–Fano), where H is the number of high values in the
vocabulary. A code c stands for the weight limit · (c / 255)², finer for the small weights that most terms
have. A collection that keeps no term weights has no bytes of any document.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel

__all__ = [
    "MOST_TERMS",
    "WEIGHT_LIMIT",
    "add_weights",
    "decode_table",
    "high_values",
    "pack_weights",
    "quantise",
]

MOST_TERMS = 255
#: log(1 + relu(z)) passes 6 only for logits above 402.
WEIGHT_LIMIT = 6.0


def high_values(vocab_size: int) -> int:
    """H: how many different high parts the ids of a vocabulary have."""
    return (vocab_size + 255) >> 8


def decode_table(limit: float) -> NDArray[np.float64]:
    """The weight that each code stands for."""
    return limit * (np.arange(256) / 255.0) ** 2


def quantise(
    ids: NDArray[Any], weights: NDArray[Any], keep: int, limit: float
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """The `keep` terms of largest weight, ids ascending, and their codes; weights that round to nothing are
    dropped.
    """
    ids, weights = np.asarray(ids, np.int64), np.asarray(weights, np.float64)
    if len(ids) > keep:
        best = np.lexsort((ids, -weights))[:keep]
        ids, weights = ids[best], weights[best]
    codes = np.rint(255.0 * np.sqrt(np.clip(weights, 0.0, limit) / limit)).astype(np.uint8)
    ids, codes = ids[codes > 0], codes[codes > 0]
    order = np.argsort(ids)
    return ids[order], codes[order]


def pack_weights(ids: NDArray[np.int64], codes: NDArray[np.uint8], high: int) -> bytes:
    """One document's bytes."""
    bits = np.zeros(len(ids) + high, np.uint8)
    bits[(ids >> 8) + np.arange(len(ids))] = 1
    packed = np.packbits(bits, bitorder="little")
    return bytes([len(ids)]) + (ids & 255).astype(np.uint8).tobytes() + codes.tobytes() + packed.tobytes()


@kernel()
def add_weights(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    shares: NDArray[np.float64],
    table: NDArray[np.float64],
    high: int,
    out: NDArray[np.float64],
) -> bool:
    """Add shares[i] times the weights of document i to `out`, indexed by term (Eq. 5); False if the data is
    damaged.

    Starts and stops must lie within `data`.
    """
    for i in range(starts.size):
        start, stop = starts[i], stops[i]
        if start == stop:
            continue
        k = np.int64(data[start])
        if stop - start != 1 + 2 * k + ((k + high + 7) >> 3):
            return False
        lows = start + 1
        codes = lows + k
        bits = codes + k
        done = 0
        upper = 0
        for bit in range(k + high):
            if data[bits + (bit >> 3)] >> (bit & 7) & 1:
                if done == k:
                    return False
                term = (upper << 8) + np.int64(data[lows + done])
                if term >= out.size:
                    return False
                out[term] += shares[i] * table[data[codes + done]]
                done += 1
            else:
                upper += 1
        if done != k:
            return False
    return True
