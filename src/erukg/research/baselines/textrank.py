"""TextRank (Mihalcea and Tarau 2004): PageRank over neighbouring nouns and adjectives."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from erukg.research.baselines.base import best
from erukg.research.baselines.pagerank import cooccurrences, pagerank
from erukg.research.baselines.tagged import Reader, TaggedText

__all__ = ["TextRank"]


@dataclass(frozen=True)
class TextRank:
    """Nouns and adjectives less than `window` words apart are linked, without weights or direction.

    The noun phrases of the text score the sum of their words' ranks, or with `normalise` their mean: the form
    in which TextRank is usually measured. With a `share` below 1 only that share of the words is kept, the
    best, and phrases are kept words side by side: the authors' own form is a third.
    """

    reader: Reader = field(default_factory=Reader)
    window: int = 2
    share: float = 1.0
    normalise: bool = False
    max_words: int = 5
    damping: float = 0.85

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        tagged = self.reader.read(text)
        nodes, stems = tagged.nodes
        if not stems:
            return []
        sources, targets, counts = cooccurrences(nodes, self.window)
        rank = pagerank(sources, targets, np.ones_like(counts), len(stems), damping=self.damping)
        kept = np.argsort(-rank, kind="stable")[: max(1, int(len(stems) * self.share))]
        by_stem = {stems[i]: float(rank[i]) for i in kept.tolist()}
        if self.share < 1:
            phrases = joined(tagged, np.isin(nodes, kept))
        else:
            phrases = {p.stems: p.form for p in tagged.phrases(self.max_words)}
        totals = [sum(by_stem.get(stem, 0.0) for stem in key) for key in phrases]
        lengths = [len(key) if self.normalise else 1 for key in phrases]
        return best(list(phrases.values()), np.array(totals) / np.array(lengths), top_k)


def joined(tagged: TaggedText, chosen: NDArray[np.bool_]) -> dict[tuple[str, ...], str]:
    """The longest runs of chosen words that no break parts: their stems, and their form where first met."""
    words, breaks = tagged.document.words, tagged.document.breaks.tolist()
    out: dict[tuple[str, ...], str] = {}
    i = 0
    while i < len(words):
        j = i + 1
        if chosen[i]:
            while j < len(words) and chosen[j] and not breaks[j]:
                j += 1
            out.setdefault(tuple(tagged.stems[i:j]), " ".join(words[i:j]))
        i = j
    return out
