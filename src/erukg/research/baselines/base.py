"""What all baselines have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Baseline", "best"]


class Baseline(Protocol):
    """Anything that finds the keyphrases of one text. It may look at no other text of a test set.

    Baselines are dataclasses: fields that are numbers, words or truth values are its settings, the others
    (readers, embedders, weights) say by `describe()` what they are. `packages`, where there is such a class
    variable, names the distributions that do its work.
    """

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        """Up to `top_k` phrases of the text with their scores, all above 0, best first."""


def best(phrases: Sequence[str], scores: NDArray[np.float64], top_k: int) -> list[tuple[str, float]]:
    """The phrases with the highest scores; of equal ones the first given stays first."""
    order = np.argsort(-scores, kind="stable")[:top_k]
    return [(phrases[i], float(scores[i])) for i in order.tolist()]
