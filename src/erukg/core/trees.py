"""Boosted decision trees as plain arrays: read in a loop, and able to say what each group of features gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel
from erukg.errors import ModelError

__all__ = ["Trees"]


@kernel()
def _walk(
    features: NDArray[np.float32],
    groups: NDArray[np.int32],
    roots: NDArray[np.int32],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    value: NDArray[np.float32],
    out: NDArray[np.float64],
) -> None:
    """Add to `out`, a row for each row of features, what the splits on each group's features change on the way."""
    for tree in range(roots.size):
        for row in range(features.shape[0]):
            node = roots[tree]
            while feature[node] >= 0:
                f = feature[node]
                child = left[node] if features[row, f] <= threshold[node] else right[node]
                out[row, groups[f]] += value[child] - value[node]
                node = child


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble of trees whose nodes lie end to end.

    roots      the first node of each tree
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

    def check(self, features: int) -> None:
        """Refuse arrays that would lead out of themselves or round in circles: they may come from anywhere."""
        n = len(self.feature)
        inner = np.flatnonzero(self.feature >= 0)
        sound = (
            len(self.threshold) == len(self.left) == len(self.right) == len(self.value) == n
            and bool(np.all((self.roots >= 0) & (self.roots < n)))
            and bool(np.all(self.feature < features))
            # A child always lies behind its parent, so every way ends.
            and all(bool(np.all((side[inner] > inner) & (side[inner] < n))) for side in (self.left, self.right))
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
        _walk(features, groups, *tree, out)
        return out
