"""PositionRank (Florescu and Caragea 2017): PageRank that returns to early and frequent words."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from erukg.research.baselines.base import best
from erukg.research.baselines.pagerank import cooccurrences, pagerank
from erukg.research.baselines.tagged import Reader, TaggedText

__all__ = ["PositionRank", "position_weights"]


@dataclass(frozen=True)
class PositionRank:
    """Phrases are adjectives followed by nouns, `max_words` at most, and score the sum of their words' ranks.

    Edges count how often two nouns or adjectives are less than `window` words apart.
    """

    reader: Reader = field(default_factory=Reader)
    window: int = 10
    max_words: int = 3
    damping: float = 0.85

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        tagged = self.reader.read(text)
        nodes, stems = tagged.nodes
        phrases = tagged.plain_phrases(self.max_words)
        if not phrases:
            return []
        rank = pagerank(*cooccurrences(nodes, self.window), len(stems), position_weights(tagged), self.damping)
        by_stem = dict(zip(stems, rank.tolist(), strict=True))
        scores = [sum(by_stem.get(stem, 0.0) for stem in phrase.stems) for phrase in phrases]
        return best([phrase.form for phrase in phrases], np.array(scores), top_k)


def position_weights(tagged: TaggedText) -> NDArray[np.float64]:
    """For each node the sum of 1/position over its occurrences; the text's first word has position 1."""
    nodes, stems = tagged.nodes
    places = np.flatnonzero(nodes >= 0)
    return np.bincount(nodes[places], 1 / (1 + places), len(stems)).astype(np.float64)
