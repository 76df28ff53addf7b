"""YAKE (Campos et al. 2020) as its authors' package computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from erukg.errors import require

__all__ = ["Yake"]


@dataclass(frozen=True)
class Yake:
    """n-grams of up to `max_words` words by statistics of the text alone; the package's own defaults."""

    packages: ClassVar[tuple[str, ...]] = ("yake",)
    max_words: int = 3
    window: int = 1
    similar: float = 0.9

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        if not text.strip() or top_k < 1:
            return []
        yake = require("yake", "eval", "YAKE")
        extractor = yake.KeywordExtractor(
            lan="en", n=self.max_words, dedup_lim=self.similar, window_size=self.window, top=top_k
        )
        # Its scores are the lower the better, from 0 up.
        return [(phrase, 1 / (1 + float(score))) for phrase, score in extractor.extract_keywords(text)]
