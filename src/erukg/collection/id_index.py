"""From ids to documents, for writers: readers never look an id up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from erukg.collection.segment import Segment
from erukg.core.hashing import hash_phrases

__all__ = ["IdIndex"]


class IdIndex:
    """Which document has which id: sorted hashes of all live ids, checked against the ids themselves.

    `pending` are ids on their way into the collection.
    """

    def __init__(self, segments: Sequence[Segment], dead: Sequence[NDArray[np.uint8]]) -> None:
        self._segments: list[Segment] = []
        self._hashes, self._places = np.empty(0, np.uint64), np.empty((0, 2), np.int64)
        self.pending: set[str] = set()
        self.extend(segments, dead)

    def extend(self, segments: Sequence[Segment], dead: Sequence[NDArray[np.uint8]] = ()) -> None:
        """Take in the segments that were appended to those known; what was pending is among them."""
        hashes, places = [self._hashes], [self._places]
        for i in range(len(self._segments), len(segments)):
            segment = segments[i]
            rows = segment.live(dead[i] if i < len(dead) else np.empty(0, np.uint8))
            hashes.append(segment.ids.hashes()[rows])
            places.append(np.stack([np.full(len(rows), i), rows], axis=1))
        every, where = np.concatenate(hashes), np.concatenate(places)
        order = np.argsort(every, kind="stable")
        self._hashes, self._places = every[order], where[order]
        self._segments = list(segments)
        self.pending = set()

    def find(self, ids: Sequence[str]) -> list[tuple[int, int] | None]:
        """Segment and row of each id, or None."""
        wanted = hash_phrases(list(ids))
        first = np.searchsorted(self._hashes, wanted, "left").tolist()
        last = np.searchsorted(self._hashes, wanted, "right").tolist()
        return [self._match(id, a, b) for id, a, b in zip(ids, first, last, strict=True)]

    def repeated(self) -> list[tuple[tuple[int, int], str]]:
        """Segment and row of each document whose id an earlier one has, and the id."""
        same = np.flatnonzero(self._hashes[1:] == self._hashes[:-1])
        out: list[tuple[tuple[int, int], str]] = []
        seen: set[str] = set()
        # Equal hashes lie together, and within them documents in their order.
        for i in np.union1d(same, same + 1).tolist():
            segment, row = self._places[i].tolist()
            (id,) = self._segments[segment].ids.strings(np.array([row]))
            if id in seen:
                out.append(((segment, row), id))
            seen.add(id)
        return out

    def _match(self, id: str, first: int, last: int) -> tuple[int, int] | None:
        for segment, row in self._places[first:last].tolist():
            if self._segments[segment].ids.strings(np.array([row])) == [id]:
                return segment, row
        return None
