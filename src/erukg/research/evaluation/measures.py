"""What a measure's name means: `F@5`, `P@M`, `F@10u`, `micro-F@O`, `catseq-F@M`.

letter    P precision, R recall, F their harmonic mean
cut-off   a number k: the first k phrases; M: all that were predicted; O: as many as there are gold phrases
u         unpadded: P divides by what was predicted where that is fewer than k, not by k
average   none: the mean over documents (macro); micro: of counts summed over documents; catseq: P and R are means over
          all documents of the set, those without gold counting 0, and F is the harmonic mean of these two
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from erukg.errors import InputError

__all__ = ["LARGEST_CUTOFF", "Answers", "Measure", "measure", "measure_names", "ranks_needed"]

LARGEST_CUTOFF = 1000

_NAME = re.compile(r"(?:(micro|catseq)-)?([FPR])@([1-9]\d{0,3}|M|O)(u?)")
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Answers:
    """What became of one document's list: the ranks, from 1, of its right answers, its length, and the gold's."""

    ranks: Sequence[int]
    n_predicted: int
    n_gold: int


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure by the parts of its name."""

    letter: str
    cutoff: int | Literal["M", "O"]
    padded: bool
    average: str | None

    def by_document(self, answers: Sequence[Answers]) -> _Floats:
        """Its value in every document, all of which have gold."""
        return self._values(*self._counts(answers))

    def of_set(self, answers: Sequence[Answers], documents: int) -> float:
        """Its value for a set of so many documents, of which those with gold have `answers`; nan where none has."""
        if not answers:
            return float("nan")
        right, named, gold = self._counts(answers)
        if self.average == "micro":
            return float(self._values(*(np.array([counts.sum()]) for counts in (right, named, gold)))[0])
        if self.average == "catseq":
            p, r = (float(_ratio(right, by).sum()) / documents for by in (named, gold))
            return {"P": p, "R": r, "F": 2 * p * r / (p + r) if p + r else 0.0}[self.letter]
        return float(self._values(right, named, gold).mean())

    def _counts(self, answers: Sequence[Answers]) -> tuple[_Floats, _Floats, _Floats]:
        """By document the right answers, the places counted as predicted, and the gold phrases."""
        named = np.array([a.n_predicted for a in answers], np.float64)
        gold = np.array([a.n_gold for a in answers], np.float64)
        if self.cutoff == "M":
            return np.array([len(a.ranks) for a in answers], np.float64), named, gold
        places = gold if self.cutoff == "O" else np.full(len(answers), float(self.cutoff))
        right = [sum(rank <= k for rank in a.ranks) for a, k in zip(answers, places, strict=True)]
        return np.array(right, np.float64), places if self.padded else np.minimum(places, named), gold

    def _values(self, right: _Floats, named: _Floats, gold: _Floats) -> _Floats:
        if self.letter == "F":
            return _ratio(2 * right, named + gold)  # = 2PR/(P+R), and 0 without a division by 0
        return _ratio(right, named if self.letter == "P" else gold)


def _ratio(part: _Floats, whole: _Floats) -> _Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


@lru_cache(maxsize=1024)
def measure(name: str) -> Measure:
    """The measure called `name`, or an `InputError` that says how measures are called."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise InputError(
            f"There is no measure '{name}'; measures are called F@5, P@10, R@M, F@O, F@5u (unpadded), micro-F@5 or "
            "catseq-F@M."
        )
    average, letter, cutoff, unpadded = found.groups()
    if unpadded and (letter == "R" or cutoff == "M"):
        raise InputError(f"There is no measure '{name}': padding changes neither recall nor M; leave the 'u' out.")
    if cutoff.isdigit() and int(cutoff) > LARGEST_CUTOFF:
        raise InputError(f"There is no measure '{name}': the largest cut-off is {LARGEST_CUTOFF}.")
    places: int | Literal["M", "O"] = int(cutoff) if cutoff.isdigit() else "M" if cutoff == "M" else "O"
    return Measure(letter, places, not unpadded, average)


def measure_names(given: Iterable[str]) -> tuple[str, ...]:
    """The measures named, with commas or one by one, each once and in order; one that does not exist is refused."""
    names = dict.fromkeys(name.strip() for names in given for name in names.split(",") if name.strip())
    for name in names:
        measure(name)
    return tuple(names)


def ranks_needed(measures: Iterable[str], n_gold: int) -> int | None:
    """How many distinct phrases of a list these measures look at; None where all count."""
    cutoffs = {measure(name).cutoff for name in measures}
    if "M" in cutoffs:
        return None
    return max((n_gold if cutoff == "O" else int(cutoff) for cutoff in cutoffs), default=0)
