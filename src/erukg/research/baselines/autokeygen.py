"""AutoKeyGen (Shen et al. 2022): a network that learned from the phrases that fit each text of a corpus best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from erukg.research.baselines.banked import BankedModel
from erukg.research.baselines.base import ManyTexts
from erukg.research.baselines.neural.vocabulary import words
from erukg.research.baselines.phrase_bank import LONGEST, stemmed
from erukg.research.baselines.relevance import TextStems
from erukg.research.baselines.tagged import Reader

__all__ = ["AutoKeyGen"]

_LEAST = 1e-5  # of a divisor


@dataclass(frozen=True)
class AutoKeyGen(ManyTexts):
    """Phrases that the network writes, with a beam of `width`, by their log probability for each word.

    Those that do not stand in the text are preferred where the bank knows them: their cost is divided by `known`.
    With `joint`, candidates are the noun phrases of the text, the phrases of the bank whose words all stand in the
    text, and the network's that the bank knows; `Relevance` ranks them.
    """

    model: BankedModel
    reader: Reader = field(default_factory=Reader)
    width: int = 50
    depth: int = 5
    known: float = 2.0
    joint: bool = False
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def ranked(self, texts: Sequence[str]) -> list[list[str]]:
        written = self.model.network.generate(texts, self.width, self.depth)
        return [self._ranked(text, found) for text, found in zip(texts, written, strict=True)]

    def _ranked(self, text: str, found: Sequence[tuple[str, float]]) -> list[str]:
        bank, stems = self.model.bank, TextStems(stemmed(words(text)))
        if self.joint:
            return self._joint(text, stems, [phrase for phrase, _ in found])
        costs = {}
        for phrase, score in found:
            key = stemmed(words(phrase))
            if len(set(key)) == len(key):
                preferred = not stems.count(key) and bank.number(key) >= 0
                costs[phrase] = -score / (len(key) + 1) / (max(self.known, _LEAST) if preferred else 1)
        return sorted(costs, key=costs.__getitem__)

    def _joint(self, text: str, stems: TextStems, written: Sequence[str]) -> list[str]:
        bank = self.model.bank
        candidates: dict[tuple[str, ...], str] = {}
        for phrase in self.reader.read(text).phrases(LONGEST):
            candidates.setdefault(stemmed(words(phrase.form)), phrase.form)
        numbers = [*bank.matching(stems.stems).tolist(), *(bank.number(stemmed(words(form))) for form in written)]
        for number in numbers:
            if number >= 0 and not stems.count(bank.stems[number]):
                candidates.setdefault(bank.stems[number], " ".join(bank.phrases[number]))
        candidates.pop((), None)
        scores = self.model.relevance.scores(stems, list(candidates))
        forms = list(candidates.values())
        return [forms[i] for i in np.argsort(-scores, kind="stable").tolist()]
