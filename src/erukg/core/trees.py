"""Boosted decision trees as plain arrays: read in a loop, and able to say what each group of features gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel
from erukg.errors import ModelError

__all__ = ["Trees"]


@kernel()
def _walk(
    columns: NDArray[np.float32],
    groups: NDArray[np.int32],
    roots: NDArray[np.int32],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    value: NDArray[np.float32],
    out: NDArray[np.float64],
) -> None:
    """Add to `out`, a row for each entry of a feature's column, what the splits on each group's features change.

    All rows go through a tree side by side: each of its nodes moves those that have come to it and turn right to a
    place of their own. To compare all of them, many at a time, is far quicker than to guess where a single one turns.
    """
    rows = columns.shape[1]
    at = np.empty(rows, np.int32)
    place = np.empty(feature.size, np.int32)
    gains = np.empty((feature.size, out.shape[1]))  # on the way to each place
    for tree in range(roots.size):
        at[:] = place[roots[tree]] = gains[0] = 0
        used = np.int32(1)
        for node in range(roots[tree], roots[tree + 1] if tree + 1 < roots.size else feature.size):
            f, low, high, here = feature[node], left[node], right[node], place[node]
            if f < 0:
                continue
            place[low], place[high] = here, used
            for group in range(out.shape[1]):  # not a slice: its check of shapes takes seconds to compile
                gains[used, group] = gains[here, group]
            gains[here, groups[f]] += value[low] - value[node]
            gains[used, groups[f]] += value[high] - value[node]
            column, limit = columns[f], threshold[node]
            for row in range(rows):
                at[row] = used if (at[row] == here) & (not column[row] <= limit) else at[row]
            used += np.int32(1)
        for row in range(rows):
            slot = np.uint64(at[row])  # a sign would have to be looked at
            for group in range(out.shape[1]):
                out[row, group] += gains[slot, group]


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble of trees whose nodes lie end to end.

    roots      the first node of each tree; the others follow, every one behind its parent
    feature    the feature that a node asks for; -1 for leaves
    threshold  rows whose feature is at most this go to `left`, the others to `right`
    value      what the tree would say if it ended at the node
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Trees:
        """Trees from their arrays among others by name, not yet checked; a KeyError names one that is missing."""
        return cls(**{name: arrays[name] for name in _TYPES})

    @property
    def typed(self) -> bool:
        """Whether the arrays are of the types that trees have."""
        return all((array := getattr(self, name)).dtype == kind and array.ndim == 1 for name, kind in _TYPES.items())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, as they are stored."""
        return {name: np.ascontiguousarray(getattr(self, name), kind) for name, kind in _TYPES.items()}

    def check(self, features: int) -> None:
        """Refuse arrays that would lead out of themselves or round in circles: they may come from anywhere."""
        n = len(self.feature)
        inner = np.flatnonzero(self.feature >= 0)
        ends = np.append(self.roots, n)[np.searchsorted(self.roots, inner, side="right")]
        sides = self.left, self.right
        sound = (
            all(len(array) == n for array in (self.threshold, self.value, *sides))
            and bool(np.all(self.feature < features) and np.all(np.diff(self.roots) > 0))
            # A child always lies behind its parent and in the same tree, so every way ends ...
            and all(bool(np.all((side[inner] > inner) & (side[inner] < ends))) for side in sides)
            # ... and there is exactly one to each node.
            and np.array_equal(np.sort(np.concatenate([self.roots, *(side[inner] for side in sides)])), np.arange(n))
            and bool(np.all(np.isfinite(self.value)) and not np.any(np.isnan(self.threshold)))
        )
        if not sound:
            raise ModelError("The learned ranking of the model is damaged; install or train the model again.")

    def contributions(
        self, features: NDArray[np.float32], groups: NDArray[np.int32], n_groups: int
    ) -> NDArray[np.float64]:
        """For each row what the features of each group add to the sum of the trees, beside what all rows share."""
        out = np.zeros((len(features), n_groups))
        tree = self.roots, self.feature, self.threshold, self.left, self.right, self.value
        _walk(np.ascontiguousarray(features.T), groups, *tree, out)
        return out


_TYPES = {each.name: np.float32 if each.name in ("threshold", "value") else np.int32 for each in fields(Trees)}
