"""YAKE (Campos et al. 2020) as its authors' package computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from erukg.core.document import Document
from erukg.errors import require

__all__ = ["Yake", "with_stops"]


@dataclass(frozen=True)
class Yake:
    """n-grams of up to `max_words` words by statistics of the text alone; the package's own defaults.

    Its scores, the lower the better and from 0 up, are returned as 1/(1 + score).
    """

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
        found = extractor.extract_keywords(with_stops(text))
        return [(phrase, 1 / (1 + float(score))) for phrase, score in found]


def with_stops(text: str) -> str:
    """The text with a full stop after titles and other lines that end without one.

    The package reads on over line ends, and would make phrases of the end of a title and what follows it.
    """
    document = Document.parse(text)
    out: list[str] = []
    at = 0
    for i in np.flatnonzero(document.breaks[1:] & document.usable[:-1]).tolist():
        end = int(document.ends[i])
        if "\n" in text[end : document.starts[i + 1]]:
            out += text[at:end], "."
            at = end
    return "".join((*out, text[at:]))
