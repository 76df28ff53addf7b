"""From samples to trees: boosted by LightGBM, which is needed here and never to use the ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from erukg.core.absent_features import FEATURES
from erukg.core.ranker import Ranker
from erukg.core.trees import Trees
from erukg.errors import TrainingError
from erukg.training.ranking.samples import Samples

__all__ = ["FitOptions", "fit_ranker", "flatten"]

# With fewer documents the trees learn those by heart.
_FEWEST = 100


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How the trees are grown; `least` is how many candidates a leaf has at least."""

    trees: int = 150
    leaves: int = 16
    rate: float = 0.05
    least: int = 200
    seed: int = 0


def fit_ranker(samples: Samples, options: FitOptions, *, fewest: int = _FEWEST) -> Ranker:
    """The ranking whose score is the logarithm of the odds that a candidate is right; deterministic."""
    import lightgbm

    if len(samples) < fewest:
        raise TrainingError(
            f"Only {len(samples)} documents have a title with phrases of their neighbours, at least {fewest} are "
            "needed; give more documents, or a collection that is more like them."
        )
    data = lightgbm.Dataset(samples.features, samples.right.astype(np.int32))
    parameters = {
        "objective": "binary",
        "num_leaves": options.leaves,
        "learning_rate": options.rate,
        "min_data_in_leaf": options.least,
        "feature_fraction": 0.4,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "seed": options.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    booster = lightgbm.train(parameters, data, options.trees)
    return Ranker.checked(flatten(booster.dump_model()["tree_info"]), list(FEATURES))


def flatten(trees: list[dict[str, Any]]) -> Trees:
    """The trees of LightGBM's own description, every parent before its children."""
    roots: list[int] = []
    nodes: list[tuple[int, float, int, int, float]] = []

    def add(node: dict[str, Any]) -> int:
        place = len(nodes)
        if "split_feature" not in node:
            nodes.append((-1, 0.0, 0, 0, float(node["leaf_value"])))
            return place
        nodes.append((0, 0.0, 0, 0, 0.0))
        left, right = add(node["left_child"]), add(node["right_child"])
        nodes[place] = node["split_feature"], node["threshold"], left, right, float(node["internal_value"])
        return place

    for tree in trees:
        roots.append(add(tree["tree_structure"]))
    feature, threshold, left, right, value = np.array(nodes, np.float64).reshape(-1, 5).T
    # Rounded down: features are single numbers, and none of them may change sides of a threshold.
    single = threshold.astype(np.float32)
    single = np.where(single > threshold, np.nextafter(single, np.float32(-np.inf)), single)
    return Trees(
        np.array(roots, np.int32),
        feature.astype(np.int32),
        single,
        left.astype(np.int32),
        right.astype(np.int32),
        value.astype(np.float32),
    )
