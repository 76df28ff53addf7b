"""Boosted trees, grown by LightGBM, which is needed here and never to use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.trees import Trees

__all__ = ["flatten", "grow_trees"]


def grow_trees(
    features: NDArray[np.float32],
    right: NDArray[np.bool_],
    *,
    trees: int,
    leaves: int,
    rate: float,
    least: int,
    seed: int,
    features_of_tree: float,
    directions: Sequence[int] | None = None,
    weights: NDArray[np.float32] | None = None,
) -> Trees:
    """Trees whose sum is the logarithm of the odds that a row is right; deterministic.

    `least` is how many rows a leaf has at least, `features_of_tree` the share of the features that each tree may ask
    for. With `directions`, a feature of direction 1 never speaks against a row, and one of -1 never for it. `weights`
    say how much each row counts.
    """
    import lightgbm

    parameters: dict[str, Any] = {
        "objective": "binary",
        "num_leaves": leaves,
        "learning_rate": rate,
        "min_data_in_leaf": least,
        "feature_fraction": features_of_tree,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    if directions is not None:
        parameters["monotone_constraints"] = list(directions)
    booster = lightgbm.train(parameters, lightgbm.Dataset(features, right.astype(np.int32), weight=weights), trees)
    return flatten(booster.dump_model()["tree_info"])


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
