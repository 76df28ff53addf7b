"""What a worker has to do with a search on the device: which posting lists its texts ask for, and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import Query, weightiest
from erukg.collection.arrays import damaged
from erukg.collection.commit import SegmentState
from erukg.collection.opening import open_parts
from erukg.collection.reader import Hits
from erukg.collection.search import idf
from erukg.collection.segment import Segment
from erukg.errors import CollectionError

__all__ = ["SPARE", "Index", "Lists", "SearchPlan"]

#: Hits beyond those asked for: the text itself and copies of it take their places.
SPARE = 8


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A search that may run on the device.

    collection  its folder, and the number of its commit
    keep        hits of each query
    memory      bytes it may take; None for a share of what is free
    dense       lists with at least one in this many documents are rows of a matrix, as far as memory goes; 0 for none
    """

    collection: Path
    commit: int
    keep: int
    memory: int | None = None
    # From about here on, a matrix product is faster than adding postings.
    dense: int = 64


@dataclass(frozen=True, slots=True)
class Lists:
    """The posting lists of some queries.

    counts   how many lists each query reads
    rows     their numbers: a segment's lists follow those of the segments before it
    factors  what their scores are multiplied with: idf times the term's count in the text
    """

    counts: NDArray[np.int32]
    rows: NDArray[np.int32]
    factors: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.counts)

    def arrays(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """All arrays, to send; `Lists(*arrays)` is the same again."""
        return self.counts, self.rows, self.factors

    @classmethod
    def join(cls, batches: Sequence[Lists]) -> Lists:
        """Several batches of queries as one."""
        if len(batches) == 1:
            return batches[0]
        return cls(
            np.concatenate([batch.counts for batch in batches]),
            np.concatenate([batch.rows for batch in batches]),
            np.concatenate([batch.factors for batch in batches]),
        )


class Index:
    """The parts of a collection that searching reads, in the order in which a device numbers them."""

    def __init__(self, folder: Path, commit: int) -> None:
        manifest, segments, parts = open_parts(folder)
        if manifest.number != commit:
            raise CollectionError(f"{folder} has changed since it was opened; open it again.")
        self.folder, self.manifest = folder, manifest
        self.segments: tuple[Segment, ...] = segments
        self.states: tuple[SegmentState, ...] = parts.states
        #: The number of the first document and of the first list of each segment, and of all together.
        self.documents = np.cumsum([0, *(len(segment) for segment in segments)])
        self.lists = np.cumsum([0, *(len(segment.vocabulary) for segment in segments)])

    def __len__(self) -> int:
        """How many documents are live."""
        return self.manifest.documents

    def lists_of(self, queries: Sequence[Query], words: int = 0) -> Lists:
        """The posting lists that these queries read, each so many `words`; 0 for all of them (`weightiest`)."""
        terms = np.concatenate([np.empty(0, np.uint64), *(query.terms for query in queries)])
        repeats = np.concatenate([np.empty(0, np.int64), *(query.counts for query in queries)])
        owners = np.repeat(np.arange(len(queries)), [len(query.terms) for query in queries])
        frequencies = np.zeros(len(terms), np.int64)
        found = []
        for first, segment, state in zip(self.lists[:-1].tolist(), self.segments, self.states, strict=True):
            place = np.searchsorted(segment.vocabulary, terms)
            which = np.flatnonzero(place < len(segment.vocabulary))
            which = which[segment.vocabulary[place[which]] == terms[which]]
            frequencies[which] += state.frequencies[place[which]]
            found.append((which, place[which] + first))
        if np.any(frequencies > len(self)):
            raise damaged(self.folder, "its document frequencies are too high")
        factors = (repeats * idf(frequencies, len(self))).astype(np.float32)
        which = np.concatenate([np.empty(0, np.int64), *(which for which, _ in found)])
        rows = np.concatenate([np.empty(0, np.int64), *(rows for _, rows in found)])
        asked = weightiest(factors, owners, words)[which]
        which, rows = which[asked], rows[asked]
        if len(found) > 1:
            order = np.argsort(owners[which], kind="stable")
            which, rows = which[order], rows[order]
        counts = np.bincount(owners[which], minlength=len(queries))
        return Lists(counts.astype(np.int32), rows.astype(np.int32), factors[which])

    def choose(
        self,
        queries: Sequence[Query],
        documents: NDArray[np.int32],
        scores: NDArray[np.float32],
        n: int,
        exclude: Sequence[str | None],
    ) -> list[Hits | None]:
        """The `n` best hits of each query from what a device found, one row per query in any order.

        They are those of `Collection.search_terms` up to rounding. None where more would have to be known: too many
        are the text itself, or what is left may hold some that are as good as the last.
        """
        n = min(n, len(self))
        order = np.lexsort((documents, -scores))
        scores = np.take_along_axis(scores, order, 1)
        numbers = np.take_along_axis(documents, order, 1).astype(np.int64)
        keys = np.array([query.key for query in queries], np.uint64)
        keep = self._texts(numbers) != keys[:, None]
        keep &= scores > 0
        all_seen = documents.shape[1] >= self.documents[-1]
        out: list[Hits | None] = []
        keep &= ~self._named(numbers, exclude)
        for i in range(len(queries)):
            which = np.flatnonzero(keep[i])[:n]
            best, least = scores[i, which], scores[i].min(initial=np.inf)
            enough = all_seen or least <= 0 or not n or (len(best) == n and best[-1] > least)
            out.append(Hits(numbers[i, which], best) if enough else None)
        return out

    def _texts(self, numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The number of the text of each document."""
        if len(self.segments) == 1:
            return self.segments[0].texts[numbers]
        out = np.zeros(numbers.shape, np.uint64)
        for which, segment, rows in self._by_segment(numbers):
            out[which] = segment.texts[rows]
        return out

    def _named(self, numbers: NDArray[np.int64], names: Sequence[str | None]) -> NDArray[np.bool_]:
        """Which documents of each row have the id that is named for it."""
        out = np.zeros(numbers.shape, bool)
        encoded = [(name or "").encode("utf-8", "surrogatepass") for name in names]
        lengths = np.array([len(name) for name in encoded], np.int64)
        longest = int(lengths.max(initial=0))
        if not longest:
            return out
        wanted = np.frombuffer(b"".join(name.rjust(longest, b"\0") for name in encoded), np.uint8)
        wanted = wanted.reshape(-1, longest)
        for which, segment, rows in self._by_segment(numbers):
            owner = np.nonzero(which)[0]
            starts, stops = segment.ids.bounds(rows)
            left = np.flatnonzero((stops - starts == lengths[owner]) & (lengths[owner] > 0))
            # From the end, where ids differ first: few are left after some letters.
            for back in range(1, longest + 1):
                if not len(left):
                    break
                done = lengths[owner[left]] < back
                same = segment.ids.values[np.maximum(stops[left] - back, 0)] == wanted[owner[left], longest - back]
                left = left[done | same]
            named = np.zeros(len(rows), bool)
            named[left] = True
            out[which] = named
        return out

    def _by_segment(self, numbers: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.bool_], Segment, NDArray[np.int64]]]:
        for (first, last), segment in zip(pairwise(self.documents.tolist()), self.segments, strict=True):
            which = (numbers >= first) & (numbers < last)
            yield which, segment, numbers[which] - first
