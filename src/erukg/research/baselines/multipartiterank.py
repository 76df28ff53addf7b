"""MultipartiteRank (Boudin 2018): PageRank over phrases linked across, never within, their topics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from erukg.errors import require
from erukg.research.baselines.base import best
from erukg.research.baselines.pagerank import pagerank
from erukg.research.baselines.tagged import Phrase, Reader

__all__ = ["MultipartiteRank", "adjust", "distance_weights", "topics"]

# Time and memory grow with the square of the number of phrases; an article has a few hundred.
_MOST_PHRASES = 3000


@dataclass(frozen=True)
class MultipartiteRank:
    """`threshold` is the distance at which clusters are parted, `alpha` the weight of first occurrences."""

    reader: Reader = field(default_factory=Reader)
    threshold: float = 0.74
    alpha: float = 1.1
    max_words: int = 5
    damping: float = 0.85

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        phrases = self.reader.read(text).phrases(self.max_words)[:_MOST_PHRASES]
        if not phrases:
            return []
        topic = topics(phrases, self.threshold)
        weights = distance_weights(phrases)
        weights[topic[:, None] == topic] = 0
        weights = adjust(weights, topic, [int(p.offsets[0]) for p in phrases], self.alpha)
        sources, targets = np.nonzero(weights)
        rank = pagerank(sources, targets, weights[sources, targets], len(phrases), damping=self.damping)
        return best([phrase.form for phrase in phrases], rank, top_k)


def topics(phrases: Sequence[Phrase], threshold: float) -> NDArray[np.int64]:
    """The topic of each phrase: average-linkage clusters by the Jaccard distance of their sets of stems."""
    if len(phrases) == 1:
        return np.zeros(1, np.int64)
    cluster = require("scipy.cluster.hierarchy", "eval", "MultipartiteRank")
    distance = require("scipy.spatial.distance", "eval", "MultipartiteRank")
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(stem, len(numbers)) for stem in phrase.stems] for phrase in phrases]
    bags = np.zeros((len(phrases), len(numbers)), np.bool_)
    for row, stems in enumerate(rows):
        bags[row, stems] = True
    tree = cluster.linkage(distance.pdist(bags, "jaccard"), "average")
    return np.asarray(cluster.fcluster(tree, threshold, "distance"), np.int64)


def distance_weights(phrases: Sequence[Phrase]) -> NDArray[np.float64]:
    """w_ij: the sum over all occurrences of phrases i and j of one over the words from one to the other."""
    offsets = np.concatenate([phrase.offsets for phrase in phrases])
    counts = np.array([len(phrase.offsets) for phrase in phrases])
    lengths = np.array([len(phrase.stems) for phrase in phrases])
    each = np.repeat(lengths, counts)
    begins = np.cumsum(counts) - counts
    out = np.zeros((len(phrases), len(phrases)))
    for i, phrase in enumerate(phrases):
        gaps = offsets - phrase.offsets[:, None]
        # Distances are counted from the last word of whichever comes first.
        gaps = np.where(gaps > 0, gaps - lengths[i] + 1, -gaps - each + 1)
        out[i] = np.add.reduceat((1 / np.maximum(gaps, 1)).sum(axis=0), begins)
    return out


def adjust(
    weights: NDArray[np.float64], topic: NDArray[np.int64], first: Sequence[int], alpha: float
) -> NDArray[np.float64]:
    """Strengthen the edges into the phrase by which each topic is first mentioned (Boudin's Eq. 2).

    Phrases are in order of first occurrence, `first` says where. w_ij grows by α·e^(1/p_j) times what the
    other phrases of j's topic are linked with i by, where p_j counts from 1.
    """
    out = weights.copy()
    for number in np.unique(topic).tolist():
        members = np.flatnonzero(topic == number)
        leader, others = members[0], members[1:]
        if len(others):
            out[:, leader] += alpha * math.exp(1 / (1 + first[leader])) * weights[others].sum(axis=0)
    return out
