"""A learned ranking that nobody has trained: random trees, in which every feature has a say."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erukg.backends.folder import ModelFolder
from erukg.core.absent_features import FEATURES
from erukg.core.ranker import Ranker
from erukg.core.trees import Trees
from erukg.training.ranking.folder import write_with_ranker

FACTS = {"documents": 5, "samples": 3, "collection_documents": 120, "trees": 75, "leaves": 4, "seed": 0}
#: The first split of a tree, those below it, and their leaves.
_LEFT, _RIGHT, _LEAF = (1, 2, 3, 0, 0, 0, 0), (4, 5, 6, 0, 0, 0, 0), (0, 0, 0, 1, 1, 1, 1)


def random_trees(seed: int = 0, trees: int = 75, features: int = len(FEATURES)) -> Trees:
    """Trees of four leaves; the first split goes through all features in turn."""
    rng = np.random.default_rng(seed)
    starts = np.repeat(np.arange(trees) * 7, 7)
    leaf = np.tile(_LEAF, trees) > 0
    first = np.arange(7 * trees) % 7 == 0
    feature = np.where(first, np.arange(7 * trees) // 7 % features, rng.integers(0, features, 7 * trees))
    left, right = (np.where(leaf, 0, starts + np.tile(side, trees)) for side in (_LEFT, _RIGHT))
    return Trees(
        np.arange(0, 7 * trees, 7, dtype=np.int32),
        np.where(leaf, -1, feature).astype(np.int32),
        np.where(leaf, 0, rng.uniform(-4, 3, 7 * trees)).astype(np.float32),
        left.astype(np.int32),
        right.astype(np.int32),
        rng.normal(0, 0.2, 7 * trees).astype(np.float32),
    )


def write_ranked(model: Path, out: Path, seed: int = 0) -> Path:
    """Write the model with a random ranking and return its path."""
    ranker = Ranker.checked(random_trees(seed), list(FEATURES))
    write_with_ranker(ModelFolder.open(model), out, ranker, FACTS, overwrite=False)
    return out
