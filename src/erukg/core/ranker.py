"""A learned ranking of absent phrases: trees that have seen which phrases of similar documents titles are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.absent_features import FEATURES, GROUPS
from erukg.core.trees import Trees
from erukg.errors import ModelError

__all__ = ["Ranker"]

_GROUP_OF = np.array([GROUPS.index(group) for group in FEATURES.values()], np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Ranker:
    """The trees, over the features of `erukg.core.absent_features`."""

    trees: Trees

    @classmethod
    def checked(cls, trees: Trees, features: list[str]) -> Ranker:
        """The ranker that was trained on these features, refused when this program computes others."""
        if features != list(FEATURES):
            raise ModelError(
                "The learned ranking of the model was made for other features than this program computes; "
                "train it again with: erukg train ranker."
            )
        trees.check(len(features))
        return cls(trees)

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each group of features (`GROUPS`) adds to the score of each row, on a logarithmic scale."""
        return self.trees.contributions(features, _GROUP_OF, len(GROUPS))
