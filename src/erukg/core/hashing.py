"""64-bit FNV-1a hashes of strings, by which phrases, terms and ids are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel

__all__ = ["among", "find_sorted", "hash_phrases", "hash_runs", "hash_strings"]

Int: TypeAlias = int | np.int64

_SPACE = 0x20
_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_NEAR = 128


@kernel()
def _fnv1a(h: np.uint64, data: NDArray[np.uint8], start: Int, stop: Int) -> np.uint64:
    for j in range(start, stop):
        h = (h ^ np.uint64(data[j])) * _PRIME
    return h


@kernel()
def _hash_strings(data: NDArray[np.uint8], offsets: NDArray[Any], out: NDArray[np.uint64]) -> bool:
    for i in range(out.size):
        start, stop = np.int64(offsets[i]), np.int64(offsets[i + 1])
        if start > stop or stop > data.size:
            return False
        out[i] = _fnv1a(_BASIS, data, start, stop)
    return True


@kernel()
def _hash_runs(data: NDArray[np.uint8], ends: NDArray[np.int64], longest: int, out: NDArray[np.uint64]) -> None:
    start = 0
    for i in range(ends.size):
        h = _BASIS
        j = start
        for n in range(min(longest, ends.size - i)):
            h = _fnv1a(h, data, j, ends[i + n])
            j = ends[i + n]
            out[i, n] = h
        start = ends[i] + 1


@kernel()
def _slot(table: NDArray[np.uint64], h: np.uint64) -> np.uint64:
    """Where `h` is or belongs in a hash table with open addressing, 0 where it is empty."""
    mask = np.uint64(table.size - 1)
    slot = h & mask
    while table[slot] != 0 and table[slot] != h:
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel()
def _among(
    hashes: NDArray[np.uint64], others: NDArray[np.uint64], table: NDArray[np.uint64], out: NDArray[np.bool_]
) -> None:
    for h in others:
        table[_slot(table, h)] = h
    for i in range(hashes.size):
        h = hashes[i]
        out[i] = h != 0 and table[_slot(table, h)] == h


@kernel()
def _find_sorted(values: NDArray[np.uint64], wanted: NDArray[np.uint64], out: NDArray[np.int64]) -> None:
    n = values.size
    for i in range(wanted.size):
        h = wanted[i]
        # Hashes lie nearly evenly, so that one is seldom far from where it would be if they did.
        low = high = int(np.float64(h) * 2.0**-64 * n)
        reach = _NEAR
        while low > 0 and (low == high or values[low] > h):
            low = max(low - reach, 0)
            reach *= 2
        reach = _NEAR
        while high < n and values[high] <= h:
            high = min(high + reach, n)
            reach *= 2
        while high - low > 1:
            middle = (low + high) >> 1
            if values[middle] <= h:
                low = middle
            else:
                high = middle
        out[i] = low if low < high and values[low] == h else -1


def hash_strings(data: NDArray[np.uint8], offsets: NDArray[Any]) -> NDArray[np.uint64]:
    """The hash of each string data[offsets[i]:offsets[i + 1]]; a `ValueError` when one goes beyond the data."""
    out = np.empty(len(offsets) - 1, np.uint64)
    if not _hash_strings(data, offsets, out):
        raise ValueError("a string goes beyond its array")
    return out


def hash_phrases(folds: Sequence[str]) -> NDArray[np.uint64]:
    """The hash of each fold, by which glossaries look phrases up."""
    whole = "".join(folds)
    # In ASCII, as nearly all are, a string is as long as its bytes.
    encoded = folds if whole.isascii() else [fold.encode("utf-8", "surrogatepass") for fold in folds]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.fromiter(map(len, encoded), np.int64, len(encoded)).cumsum(out=offsets[1:])
    return hash_strings(np.frombuffer(whole.encode("utf-8", "surrogatepass"), np.uint8), offsets)


def hash_runs(words: Sequence[str], longest: int) -> NDArray[np.uint64]:
    """Hashes of all runs of up to `longest` words: `[i, n]` is that of `" ".join(words[i : i + n + 1])`.

    Runs that would pass the end of `words` hash to 0. Words must be folded and hold no space.
    """
    out = np.zeros((len(words), longest), np.uint64)
    if words:
        data = np.frombuffer((" ".join(words) + " ").encode("utf-8", "surrogatepass"), np.uint8)
        _hash_runs(data, np.flatnonzero(data == _SPACE), longest, out)
    return out


def among(hashes: NDArray[np.uint64], others: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of `hashes` are among `others`, of which 0 counts as none."""
    out = np.zeros(len(hashes), np.bool_)
    if others.size and len(hashes):
        # At most half full, so that an empty slot is soon found.
        _among(hashes, others.ravel(), np.zeros(1 << (2 * others.size).bit_length(), np.uint64), out)
    return out


def find_sorted(values: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The place of each wanted hash among `values`, which are ascending and differ, or -1."""
    out = np.empty(len(wanted), np.int64)
    _find_sorted(values, wanted, out)
    return out
