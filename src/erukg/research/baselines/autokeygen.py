"""AutoKeyGen (Shen et al. 2022): phrases of the text, of a phrase bank and of a network, ranked by one measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from erukg.research.baselines.banked import BankedModel
from erukg.research.baselines.base import present_and_absent
from erukg.research.baselines.neural.vocabulary import words
from erukg.research.baselines.phrase_bank import LONGEST, stemmed
from erukg.research.baselines.relevance import TextStems
from erukg.research.baselines.tagged import Reader

__all__ = ["AutoKeyGen"]


@dataclass(frozen=True)
class AutoKeyGen:
    """Candidates are the noun phrases of the text, the phrases of the bank whose words all stand in the text, and of
    the first `generated` phrases that a beam of `width` writes those that do not stand there and hold no
    word twice; `Relevance` ranks them.
    """

    model: BankedModel
    reader: Reader = field(default_factory=Reader)
    width: int = 50
    depth: int = 5
    generated: int = 50
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def phrases(self, text: str, top_k: int = 10) -> tuple[list[str], list[str]]:
        return self.phrases_of([text], top_k)[0]

    def phrases_of(self, texts: Sequence[str], top_k: int = 10) -> list[tuple[list[str], list[str]]]:
        written = self.model.network.generate(texts, self.width, self.depth)
        return [
            self._ranked(text, [phrase for phrase, _ in found[: self.generated]], top_k)
            for text, found in zip(texts, written, strict=True)
        ]

    def _ranked(self, text: str, written: Sequence[str], top_k: int) -> tuple[list[str], list[str]]:
        bank = self.model.bank
        stems = TextStems(stemmed(words(text)))
        candidates: dict[tuple[str, ...], str] = {}
        for phrase in self.reader.read(text).phrases(LONGEST):
            candidates.setdefault(stemmed(words(phrase.form)), phrase.form)
        absent = [(bank.stems[n], " ".join(bank.phrases[n])) for n in bank.matching(stems.stems).tolist()]
        absent += [(stemmed(words(form)), form) for form in written]
        for key, form in absent:
            if not stems.count(key) and len(set(key)) == len(key):
                candidates.setdefault(key, form)
        candidates.pop((), None)
        scores = self.model.relevance.scores(stems, list(candidates))
        forms = list(candidates.values())
        return present_and_absent((forms[i] for i in np.argsort(-scores, kind="stable")), text, top_k)
