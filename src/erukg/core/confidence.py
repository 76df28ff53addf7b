"""How likely people are to choose a phrase: the one home of the numbers that were calibrated for it.

`erukg evaluate calibration` fits them again; do so after any change of the ranking. A confidence means the same in
every document, where scores only order the phrases of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENT", "PRESENT", "Band", "Calibration", "band_of"]

Band: TypeAlias = Literal["strong", "fair", "weak"]


@dataclass(frozen=True, slots=True)
class Calibration:
    """logit p = constant + score · ln s + fit · (how much the text is like the collection's documents).

    strong, fair  the lowest confidence of these bands; what is below both is weak
    """

    constant: float
    score: float
    fit: float
    strong: float
    fair: float

    def confidence(self, scores: NDArray[np.float64], fit: float | None) -> NDArray[np.float64]:
        """The confidence of phrases with these scores above 0; a text whose `fit` is not known counts as typical."""
        logit = self.constant + self.score * np.log(scores) + self.fit * (1.0 if fit is None else fit)
        return 1 / (1 + np.exp(-np.clip(logit, -50, 50)))


PRESENT = Calibration(constant=-0.333, score=1.229, fit=0.0, strong=0.35, fair=0.15)
ABSENT = Calibration(constant=-2.25, score=1.289, fit=0.71, strong=0.1, fair=0.015)


def band_of(confidence: float, *, present: bool) -> Band:
    """A confidence in words. Of absent phrases few are ever sure, so they have bands of their own."""
    calibration = PRESENT if present else ABSENT
    return "strong" if confidence >= calibration.strong else "fair" if confidence >= calibration.fair else "weak"
