"""CopyRNN (Meng et al. 2017): a network that learned to write authors' keywords, copying words where it helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from erukg.research.baselines.base import present_and_absent
from erukg.research.baselines.neural.model import CopyModel
from erukg.research.baselines.neural.vocabulary import words

__all__ = ["CopyRnn"]


@dataclass(frozen=True)
class CopyRnn:
    """Phrases in the order of their probability, from a beam of `width` and up to `depth` words long.

    Short phrases are likelier than long ones, so of the phrases of one word only the first `single_words` stay: one, as
    its authors have it.
    """

    model: CopyModel
    width: int = 50
    depth: int = 6
    single_words: int = 1
    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def phrases(self, text: str, top_k: int = 10) -> tuple[list[str], list[str]]:
        return self.phrases_of([text], top_k)[0]

    def phrases_of(self, texts: Sequence[str], top_k: int = 10) -> list[tuple[list[str], list[str]]]:
        found = self.model.generate(texts, self.width, self.depth)
        return [
            present_and_absent(self._ranked(ranked), text, top_k) for text, ranked in zip(texts, found, strict=True)
        ]

    def _ranked(self, found: Sequence[tuple[str, float]]) -> list[str]:
        single = 0
        out = []
        for phrase, _ in found:
            single += (alone := len(words(phrase)) == 1)
            if not alone or single <= self.single_words:
                out.append(phrase)
        return out
