"""How likely people are to choose a phrase: the one home of the numbers that were calibrated for it.

`erukg evaluate calibration` fits them again; do so after any change of the ranking. A confidence means the same in
every document, where scores only order the phrases of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ABSENT", "PLAIN_ABSENT", "PRESENT", "SURE_FIT", "Band", "Calibration", "band_of", "fit_of_phrases"]

Band: TypeAlias = Literal["strong", "fair", "weak"]


#: From this fit on a text is surely like the collection; from here to 0, confidence in what others lend it goes to 0.
SURE_FIT = 0.7
# How much it makes up for a text unlike the collection's documents that a phrase comes near to it in meaning, and how
# near phrases of similar documents come as a rule.
_NEARNESS, _USUAL = 0.75, 0.305


@dataclass(frozen=True, slots=True)
class Calibration:
    """logit p = constant + score · ln s + fit · (how much the text is like the collection's documents).

    fit           0 where the collection does not matter
    strong, fair  the lowest confidence of these bands; what is below both is weak
    related       that of strong for a phrase that contains, or lies in, one of the other kind
    """

    constant: float
    score: float
    fit: float
    strong: float
    related: float
    fair: float

    def confidence(self, scores: NDArray[np.float64], fit: float | NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The confidence of phrases with these scores above 0, in a text of this `fit` or each with its own.

        A text whose fit is not known counts as typical.
        """
        known = np.maximum(1.0 if fit is None or self.fit == 0 else fit, 0.0)
        logit = self.constant + self.score * np.log(scores) + self.fit * known
        faded: NDArray[np.float64] = np.minimum(known / SURE_FIT, 1.0) / (1 + np.exp(-logit))
        return faded


def fit_of_phrases(fit: float | None, affinity: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much each of the collection's phrases fits a text of this `fit` to which it comes so near in meaning."""
    return (1.0 if fit is None else fit) + _NEARNESS * (affinity - _USUAL)


PRESENT = Calibration(constant=0.69, score=1.23, fit=0.0, strong=0.35, related=0.35, fair=0.15)
#: Of absent phrases that a learned ranking has scored, and of those that none has.
ABSENT = Calibration(constant=-4.35, score=0.5, fit=0.05, strong=0.05, related=0.036, fair=0.015)

PLAIN_ABSENT = Calibration(constant=-1.77, score=1.32, fit=0.46, strong=0.1, related=0.04, fair=0.015)


def band_of(confidence: float, *, present: bool, related: bool = False) -> Band:
    """A confidence in words. Of absent phrases few are ever sure, so they have bands of their own."""
    calibration = PRESENT if present else ABSENT
    if confidence >= (calibration.related if related else calibration.strong):
        return "strong"
    return "fair" if confidence >= calibration.fair else "weak"
