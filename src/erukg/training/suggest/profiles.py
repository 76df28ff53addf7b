"""A linear model of each concept over the words of the archive's texts: ridge regression in few dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.subjects.profiles import Profiles

__all__ = ["TextSpace", "fit_profiles", "text_space"]

# Stems of fewer documents say nothing of others, and only so many are kept.
_FEWEST, _MOST_TERMS = 2, 60_000
# Concepts that fewer documents carry have no profile.
_CARRIERS = 2
_OVERSAMPLED, _ROUNDS = 20, 3
# Words of a concept's centre that are kept.
_CENTRE = 200
# What the squares of weights cost.
_RIDGE = 1.0


@dataclass(frozen=True, slots=True)
class TextSpace:
    """Stems, their idf and their projection, where each text lies (`Profiles`), and the weights of its stems."""

    terms: NDArray[np.uint64]
    rarity: NDArray[np.float32]
    projection: NDArray[np.float16]
    texts: NDArray[np.float32]
    table: Any


def text_space(texts: Sequence[NDArray[np.uint64]], width: int, seed: int) -> TextSpace:
    """The directions in which texts, given by their stems, differ most: a randomised decomposition of their words."""
    import scipy.sparse

    every, place = np.unique(np.concatenate([np.empty(0, np.uint64), *texts]), return_inverse=True)
    starts = np.cumsum([0, *map(len, texts)])
    table = scipy.sparse.csr_matrix((np.ones(len(place), np.float32), place, starts), (len(texts), len(every)))
    table.sum_duplicates()
    documents = np.bincount(table.indices, minlength=len(every))
    kept = np.flatnonzero(documents >= _FEWEST)
    kept = np.sort(kept[np.argsort(-documents[kept], kind="stable")[:_MOST_TERMS]])
    rarity = np.log((len(texts) + 1) / (documents[kept] + 0.5)).astype(np.float32)
    table = table[:, kept]
    table.data = (1 + np.log(table.data)) * rarity[table.indices]
    lengths = np.sqrt(np.asarray(table.multiply(table).sum(1)).ravel())
    table = (scipy.sparse.diags(np.divide(1, lengths, where=lengths > 0, out=np.zeros_like(lengths))) @ table).tocsr()
    table = table.astype(np.float32)
    width = min(width, max(min(table.shape) - 1, 1))
    projection = _directions(table, width, seed).astype(np.float16)
    return TextSpace(
        every[kept], rarity, projection, np.asarray(table @ projection.astype(np.float32), np.float32), table
    )


def _directions(table: Any, width: int, seed: int) -> NDArray[np.float32]:
    """The leading right singular vectors of a sparse matrix, as columns."""
    chance = np.random.default_rng(seed)
    wide = min(width + _OVERSAMPLED, *table.shape)
    basis = np.linalg.qr(table @ chance.standard_normal((table.shape[1], wide)).astype(np.float32))[0]
    for _ in range(_ROUNDS):
        basis = np.linalg.qr(table @ (table.T @ basis))[0]
    small = np.linalg.svd((table.T @ basis).T, full_matrices=False)[2]
    out: NDArray[np.float32] = small[:width].T.astype(np.float32)
    return out


def fit_profiles(
    space: TextSpace, rows: NDArray[np.int64], carried: Sequence[NDArray[np.int64]], concepts: int
) -> Profiles:
    """The profiles of all concepts that enough of the texts in these rows carry."""
    import scipy.sparse

    held = [carried[row] for row in rows.tolist()]
    flat = np.concatenate([np.empty(0, np.int64), *held])
    counts = np.bincount(flat, minlength=concepts)
    known = np.flatnonzero(counts >= _CARRIERS)
    starts = np.cumsum([0, *map(len, held)])
    right = scipy.sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), (len(held), concepts))[:, known]
    texts = np.concatenate((space.texts[rows], np.ones((len(rows), 1), np.float32)), 1).astype(np.float64)
    sums = np.asarray(right.T @ texts, np.float64)
    weights = np.linalg.solve(texts.T @ texts + _RIDGE * np.eye(texts.shape[1]), sums.T).T
    shapes = known.astype(np.int32), weights.astype(np.float16), *_centres((right.T @ space.table[rows]).tocsr())
    return Profiles(space.terms, space.rarity, space.projection, *shapes)


def _centres(sums: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float16]]:
    """The heaviest words of each row, and their weights beside the length of the whole row."""
    starts, words, heights = [0], [np.empty(0, np.int32)], [np.empty(0, np.float16)]
    for row in range(sums.shape[0]):
        some = slice(sums.indptr[row], sums.indptr[row + 1])
        own, values = sums.indices[some], sums.data[some]
        best = np.sort(np.argsort(-values, kind="stable")[:_CENTRE])
        words.append(own[best].astype(np.int32))
        heights.append((values[best] / max(float(np.sqrt(values @ values)), 1e-9)).astype(np.float16))
        starts.append(starts[-1] + len(best))
    return np.array(starts, np.int64), np.concatenate(words), np.concatenate(heights)
