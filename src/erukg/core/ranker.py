"""A learned ranking of absent phrases: trees that have seen which phrases of similar documents titles are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.absent_features import FEATURES, GROUPS
from erukg.core.trees import Trees
from erukg.errors import ModelError

__all__ = ["Ranker"]

_NAMES = list(FEATURES)
_COMPOSED = _NAMES.index("composed")


@dataclass(frozen=True, slots=True, eq=False)
class Ranker:
    """The trees, the features of `erukg.core.absent_features` that they ask for, by number, and the group of each."""

    trees: Trees
    features: NDArray[np.int64]
    groups: NDArray[np.int32]

    @classmethod
    def checked(cls, trees: Trees, features: list[str]) -> Ranker:
        """The ranker that was trained on these features, refused when this program does not compute them."""
        if not features or len(set(features)) < len(features) or not set(features) <= set(_NAMES):
            raise ModelError(
                "The learned ranking of the model was made for other features than this program computes; "
                "train it again with: erukg train ranker."
            )
        trees.check(len(features))
        groups = np.array([GROUPS.index(FEATURES[name]) for name in features], np.int32)
        return cls(trees, np.array([_NAMES.index(name) for name in features]), groups)

    @property
    def names(self) -> list[str]:
        """The features, by name."""
        return [_NAMES[number] for number in self.features.tolist()]

    @property
    def composes(self) -> bool:
        """Whether it can judge phrases that the text's own words make: an older ranking cannot."""
        return _COMPOSED in self.features

    def contributions(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each group of features (`GROUPS`) adds to the score of each row, on a logarithmic scale."""
        # Features lie column by column, and the trees read them so: whole columns are taken, and copied only once.
        return self.trees.contributions(features.T[self.features].T, self.groups, len(GROUPS))
