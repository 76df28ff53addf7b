"""CopyRNN (Meng et al. 2017): a network that learned to write authors' keywords, copying words where it helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from erukg.research.baselines.base import ManyTexts
from erukg.research.baselines.neural.model import CopyModel
from erukg.research.baselines.neural.vocabulary import words

__all__ = ["CopyRnn"]


@dataclass(frozen=True)
class CopyRnn(ManyTexts):
    """Phrases in the order of their probability, from a beam of `width` and up to `depth` words long.

    Short phrases are likelier than long ones, so of the phrases of one word only the first `single_words` stay: one, as
    its authors have it.
    """

    model: CopyModel
    width: int = 50
    depth: int = 6
    single_words: int = 1
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def ranked(self, texts: Sequence[str]) -> list[list[str]]:
        return [self._ranked(found) for found in self.model.generate(texts, self.width, self.depth)]

    def _ranked(self, found: Sequence[tuple[str, float]]) -> list[str]:
        single = 0
        out = []
        for phrase, _ in found:
            single += (alone := len(words(phrase)) == 1)
            if not alone or single <= self.single_words:
                out.append(phrase)
        return out
