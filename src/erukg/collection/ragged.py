"""Lists of unequal length laid end to end: list i is values[offsets[i]:offsets[i + 1]]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel
from erukg.errors import CollectionError

__all__ = ["bounds", "gather_lists", "hash_strings", "offsets_of", "pack_strings", "strings", "take"]

_LIMIT = 1 << 32


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.uint32]:
    """Offsets of lists with these lengths."""
    out = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=out[1:])
    if out[-1] >= _LIMIT:
        raise CollectionError("One part of the collection would grow beyond 4 GiB; merge into smaller parts.")
    return out.astype(np.uint32)


def bounds(offsets: NDArray[np.uint32], rows: NDArray[Any], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Start and stop of the chosen lists, checked against the size of the array they lie in."""
    starts, stops = offsets[rows].astype(np.int64), offsets[rows + 1].astype(np.int64)
    if np.any(starts > stops) or np.any(stops > size):
        raise ValueError("a list goes beyond its array")
    return starts, stops


def take(values: NDArray[Any], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
    """The chosen lists' values end to end."""
    lengths = stops - starts
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    index = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - lengths), lengths)
    out: NDArray[Any] = values[index]
    return out


@kernel()
def gather_lists(
    values: NDArray[Any], offsets: NDArray[np.uint32], rows: NDArray[np.int64], indptr: NDArray[np.int64]
) -> NDArray[np.int32]:
    """The chosen lists' values end to end, and in `indptr` where each begins; a first entry below 0 means that a list
    goes beyond its array.

    Rows must be numbers of lists.
    """
    indptr[0] = 0
    for i in range(rows.size):
        start, stop = np.int64(offsets[rows[i]]), np.int64(offsets[rows[i] + 1])
        if start > stop or stop > values.size:
            indptr[0] = -1
            return np.empty(0, np.int32)
        indptr[i + 1] = indptr[i] + stop - start
    out = np.empty(indptr[rows.size], np.int32)
    for i in range(rows.size):
        start, at = np.int64(offsets[rows[i]]), indptr[i]
        for j in range(indptr[i + 1] - at):
            out[at + j] = values[start + j]
    return out


def pack_strings(items: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.uint32]]:
    """Strings as one UTF-8 array and offsets."""
    encoded = [item.encode("utf-8", "surrogatepass") for item in items]
    blob = np.frombuffer(b"".join(encoded), np.uint8)
    return blob, offsets_of(np.fromiter((len(e) for e in encoded), np.int64, len(encoded)))


def strings(blob: NDArray[np.uint8], offsets: NDArray[np.uint32], rows: NDArray[Any]) -> list[str]:
    """The chosen strings."""
    starts, stops = bounds(offsets, rows, len(blob))
    view = blob.data
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    return [str(view[a:b], "utf-8", "surrogatepass") for a, b in pairs]


@kernel()
def _hash(blob: NDArray[np.uint8], offsets: NDArray[np.uint32], out: NDArray[np.uint64]) -> bool:
    size = blob.size
    for i in range(out.size):
        start, stop = np.int64(offsets[i]), np.int64(offsets[i + 1])
        if start > stop or stop > size:
            return False
        h = np.uint64(0xCBF29CE484222325)
        for j in range(start, stop):
            h = (h ^ np.uint64(blob[j])) * np.uint64(0x100000001B3)
        out[i] = h
    return True


def hash_strings(blob: NDArray[np.uint8], offsets: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """The 64-bit FNV-1a hash of every string: the same as `erukg.core.folding.hash_phrases` gives."""
    out = np.empty(len(offsets) - 1, np.uint64)
    if not _hash(blob, offsets, out):
        raise ValueError("a string goes beyond its array")
    return out
