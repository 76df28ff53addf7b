"""BM25 on the device: many whole documents as queries at once.

The lists of common terms are rows of a dense matrix, so that their part of all scores is one matrix product; those of
rare terms are added posting by posting. A posting holds tf / (tf + K) of the formula in `erukg.collection.search`, and
a query brings the rest as the factor of a list. Sums are of float32 in no fixed order, so scores are those of the CPU
up to rounding, and documents whose scores are equal but for that may change places.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from erukg.collection.arrays import damaged
from erukg.collection.postings import DAMAGED, count_live, decode
from erukg.collection.search import norms
from erukg.gpu.queries import Index, Lists, SearchPlan

__all__ = ["DeviceSearch"]

Tensor: TypeAlias = torch.Tensor

# Queries that are scored at once, and postings of their rare terms: what bounds the memory of a step.
_QUERIES = 128
_POSTINGS = 1 << 24
# Bytes of a score with all that choosing the best needs beside it, of a posting, and of one on its way into a step.
_SCORE_BYTES, _POSTING_BYTES, _STEP_BYTES = 16, 8, 48
# Of the memory that is left when the model is loaded: what all of this may take, and the dense lists alone.
_SHARE = 0.5
_DENSE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class _Part:
    """The dense lists of a segment as a matrix, [lists, documents]."""

    first: int
    last: int
    matrix: Tensor


class DeviceSearch:
    """The posting lists of a collection on a device."""

    def __init__(self, plan: SearchPlan, index: Index, device: torch.device, dense: NDArray[np.bool_], queries: int):
        self._device, self._queries = device, queries
        self._documents = int(index.documents[-1])
        self._keep = min(plan.keep, self._documents)
        average = max(index.manifest.length, 1) / max(len(index), 1)
        # Where the postings of each list lie among those of rare terms, or which of its segment's dense lists it is.
        self._starts = np.zeros(len(dense), np.int64)
        self._lengths = np.zeros(len(dense), np.int64)
        self._dense = np.full(len(dense), -1, np.int64)
        self._parts: list[_Part] = []
        documents, values, size = [], [], 0
        for i, segment in enumerate(index.segments):
            base, rows = int(index.documents[i]), slice(int(index.lists[i]), int(index.lists[i + 1]))
            found, frequencies, lengths = _postings(index, i)
            norm = norms(segment.lengths, average, index.manifest.k1, index.manifest.b)[: len(segment)]
            found, tf = found.to(device), frequencies.to(device, torch.float32)
            r = torch.from_numpy(norm).to(device)[found]
            impact = tf * r / (1 + (tf - 1) * r)
            chosen = dense[rows]
            self._dense[rows][chosen] = np.arange(chosen.sum())
            self._parts.append(
                _Part(rows.start, rows.stop, _matrix(found, impact, lengths, np.flatnonzero(chosen), len(segment)))
            )
            rare = torch.from_numpy(np.repeat(~chosen, lengths)).to(device)
            documents.append((found[rare] + base).int())
            values.append(impact[rare])
            lengths = np.where(chosen, 0, lengths)
            self._lengths[rows] = lengths
            self._starts[rows] = size + np.cumsum(lengths) - lengths
            size += int(lengths.sum())
        self._rare = torch.cat(documents), torch.cat(values)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    @classmethod
    def open(cls, plan: SearchPlan, device: torch.device) -> DeviceSearch | None:
        """Load the posting lists; None where they would take too much of the device's memory."""
        index = Index(plan.collection, plan.commit)
        if not len(index) or index.documents[-1] >= 1 << 31 or index.lists[-1] >= 1 << 31:
            return None
        memory = plan.memory if plan.memory is not None else int(_free(device) * _SHARE)
        sizes = np.concatenate([state.frequencies.astype(np.int64) for state in index.states])
        postings = int(sizes.sum())
        # All postings of a segment are on their way at once when it is loaded, and those of a step when it is run.
        room = memory - postings * _POSTING_BYTES - max(postings, _POSTINGS) * _STEP_BYTES
        wide = np.repeat(np.diff(index.documents), np.diff(index.lists))
        dense = np.zeros(len(sizes), bool)
        if plan.dense:
            order = np.argsort(-sizes / wide, kind="stable")
            order = order[: int((sizes * plan.dense >= wide).sum())]
            dense[order[np.cumsum(wide[order] * 4) <= room * _DENSE_SHARE]] = True
        room -= int(wide[dense].sum()) * 4
        queries = min(_QUERIES, room // (int(index.documents[-1]) * _SCORE_BYTES))
        return cls(plan, index, device, dense, queries) if queries >= 1 else None

    def search(self, lists: Lists) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The best documents of each query and their scores, a row per query in any order; 0 is the score of none."""
        if not len(lists):
            return np.empty((0, self._keep), np.int32), np.empty((0, self._keep), np.float32)
        ends = np.cumsum(lists.counts, dtype=np.int64)
        totals = np.append(0, np.cumsum(self._lengths[lists.rows]))[np.append(0, ends)]
        with torch.inference_mode(), _exact():
            found = [
                self._step(
                    lists.counts[first:last],
                    lists.rows[a:b],
                    self._send(lists.factors[a:b]),
                )
                for first, last in self._steps(totals)
                for a, b in [(int(ends[first] - lists.counts[first]), int(ends[last - 1]))]
            ]
            scores = torch.cat([values for values, _ in found])
            documents = torch.cat([numbers for _, numbers in found])
            return documents.cpu().numpy(), scores.cpu().numpy()

    def _steps(self, totals: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Queries that are scored at once; `totals` are the rare postings before each."""
        first, count = 0, len(totals) - 1
        while first < count:
            last = int(np.searchsorted(totals, totals[first] + _POSTINGS, side="right")) - 1
            last = min(max(last, first + 1), first + self._queries, count)
            yield first, last
            first = last

    def _step(self, counts: NDArray[np.int32], rows: NDArray[np.int32], factors: Tensor) -> tuple[Tensor, Tensor]:
        owner = np.repeat(np.arange(len(counts)), counts)
        scores = self._common(len(counts), owner, rows, factors)
        rare = np.flatnonzero(self._lengths[rows])
        if len(rare):
            self._add_rare(scores, owner[rare], rows[rare], factors[self._send(rare)])
        values, numbers = scores.topk(self._keep, dim=1, sorted=False)
        return values, numbers.int()

    def _common(self, queries: int, owner: NDArray[np.int64], rows: NDArray[np.int32], factors: Tensor) -> Tensor:
        """The part of all scores that common terms have."""
        parts = []
        for part in self._parts:
            lists, documents = part.matrix.shape
            mine = np.flatnonzero((self._dense[rows] >= 0) & (rows >= part.first) & (rows < part.last))
            if not len(mine):
                parts.append(torch.zeros((queries, documents), device=self._device))
                continue
            wanted = torch.zeros(queries * lists, device=self._device)
            wanted[self._send(owner[mine] * lists + self._dense[rows[mine]])] = factors[self._send(mine)]
            parts.append(wanted.view(queries, lists) @ part.matrix)
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def _add_rare(self, scores: Tensor, owner: NDArray[np.int64], rows: NDArray[np.int32], factors: Tensor) -> None:
        """Add the postings of rare terms, all in one go."""
        lengths = self._lengths[rows]
        before = np.cumsum(lengths) - lengths
        total = int(lengths.sum())
        # One row per list: where its postings lie less where they go, and where its query's scores begin.
        lists = self._send(np.stack((self._starts[rows] - before, owner * self._documents)))
        which = torch.repeat_interleave(
            torch.arange(len(rows), device=self._device), self._send(lengths), output_size=total
        )
        at = torch.arange(total, device=self._device) + lists[0][which]
        documents, values = self._rare
        scores.view(-1).scatter_add_(0, lists[1][which] + documents[at], values[at] * factors[which])

    def _send(self, array: NDArray[Any]) -> Tensor:
        tensor = torch.from_numpy(array)
        if self._device.type == "cuda" and array.size:
            # From pinned memory, or else every copy would wait for all that the device has still to do.
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor.to(self._device)


def _postings(index: Index, number: int) -> tuple[Tensor, Tensor, NDArray[np.int64]]:
    """The live documents of a segment's lists end to end, how often each has the term, and the lengths of the lists."""
    segment, state = index.segments[number], index.states[number]
    # Not the frequencies: a slim copy may have lost some words of its documents, which still count there.
    dead = state.dead if len(state.dead) else np.zeros(len(segment), np.uint8)
    lengths = count_live(segment.postings, dead).astype(np.int64)
    ends = np.cumsum(lengths)
    place = ends - lengths
    numbers = np.arange(len(segment), dtype=np.int32)
    if len(state.dead):
        numbers[state.dead != 0] = -1
    documents, frequencies = np.empty(int(lengths.sum()), np.int32), np.empty(int(lengths.sum()), np.int32)
    targets = np.arange(len(lengths))
    decode(segment.postings, 0, len(lengths), targets, numbers, place, documents, frequencies)
    if not np.array_equal(place, ends):
        raise damaged(segment.path, DAMAGED)
    return torch.from_numpy(documents), torch.from_numpy(frequencies), lengths


def _matrix(
    documents: Tensor, impact: Tensor, lengths: NDArray[np.int64], rows: NDArray[np.int64], width: int
) -> Tensor:
    """These lists as rows of a matrix."""
    device = documents.device
    matrix = torch.zeros((len(rows), width), device=device)
    starts = np.cumsum(lengths) - lengths
    # Some lists at a time: in between, a posting takes several times the room that it needs.
    cuts = np.searchsorted(np.cumsum(lengths[rows]), np.arange(0, lengths[rows].sum(), _POSTINGS), side="left")
    for first, last in pairwise([*np.unique(cuts).tolist(), len(rows)]):
        some = rows[first:last]
        total = int(lengths[some].sum())
        before = np.cumsum(lengths[some]) - lengths[some]
        shifts = torch.from_numpy(np.stack((starts[some] - before, np.arange(first, last) * width))).to(device)
        which = torch.repeat_interleave(
            torch.arange(len(some), device=device), torch.from_numpy(lengths[some]).to(device), output_size=total
        )
        at = torch.arange(total, device=device) + shifts[0][which]
        matrix.view(-1)[shifts[1][which] + documents[at]] = impact[at]
    return matrix


def _free(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def _exact() -> Iterator[None]:
    """Matrix products of float32 in float32, not in the shorter type that some GPUs would rather take."""
    before = torch.get_float32_matmul_precision()
    if before == "highest":
        yield
        return
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
