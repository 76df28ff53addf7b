"""Trees as arrays: what each group of features adds, and arrays that no program wrote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg.core.absent_features import FEATURES, GROUPS
from erukg.core.ranker import Ranker
from erukg.core.trees import Trees
from erukg.errors import ModelError
from tiny_ranker import random_trees

GROUP_OF = np.array([GROUPS.index(group) for group in FEATURES.values()], np.int32)


def plain(trees: Trees, row: NDArray[np.float32]) -> list[float]:
    """What each group of features adds to the sum of the trees, a node at a time."""
    out = [0.0] * len(GROUPS)
    names = list(FEATURES)
    for root in trees.roots.tolist():
        node = root
        while trees.feature[node] >= 0:
            feature = int(trees.feature[node])
            child = int((trees.left if row[feature] <= trees.threshold[node] else trees.right)[node])
            out[GROUPS.index(FEATURES[names[feature]])] += float(trees.value[child]) - float(trees.value[node])
            node = child
    return out


def test_contributions_are_those_of_a_walk_by_hand() -> None:
    trees = random_trees(3)
    trees.check(len(FEATURES))
    rows = np.random.default_rng(1).normal(0, 3, (50, len(FEATURES))).astype(np.float32)
    rows[:10] = trees.threshold[:7].max()  # equal to a threshold: to the left
    got = Ranker.checked(trees, list(FEATURES)).contributions(rows)
    assert got.shape == (50, len(GROUPS))
    assert np.allclose(got, [plain(trees, row) for row in rows], atol=1e-5)
    assert np.ptp(got, axis=0).min() > 0


def test_nothing_to_walk_through() -> None:
    numbers, values = np.empty(0, np.int32), np.empty(0, np.float32)
    none = Trees(numbers, numbers, values, numbers, numbers, values)
    none.check(len(FEATURES))
    rows = np.ones((4, len(FEATURES)), np.float32)
    assert none.contributions(rows, GROUP_OF, len(GROUPS)).tolist() == [[0.0] * len(GROUPS)] * 4
    number, value = np.zeros(2, np.int32), np.ones(2, np.float32)
    leaves = Trees(np.arange(2, dtype=np.int32), number - 1, value, number, number, value)
    leaves.check(len(FEATURES))
    assert not leaves.contributions(rows, GROUP_OF, len(GROUPS)).any()
    assert random_trees().contributions(rows[:0], GROUP_OF, len(GROUPS)).shape == (0, len(GROUPS))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("left", 7, 7),  # to itself
        ("right", 9, 7),  # back to its parent
        ("left", 8, 0),  # into the tree before
        ("left", 7, -1),
        ("right", 7, 14),
        ("right", 2, 7),  # into the tree behind
        ("right", 7, 8),  # where the left goes
        ("feature", 7, -1),  # nobody comes to the nodes below
        ("right", 8, 2**31 - 1),
        ("roots", 1, 14),
        ("roots", 0, -1),
        ("roots", 1, 0),  # the same tree twice
        ("feature", 0, len(FEATURES)),
        ("threshold", 1, np.nan),
        ("value", 5, np.nan),
        ("value", 5, np.inf),
    ],
)
def test_hostile_arrays_are_refused(name: str, place: int, value: float) -> None:
    trees = random_trees(trees=2)
    trees.check(len(FEATURES))
    array = getattr(trees, name).copy()
    array[place] = value
    with pytest.raises(ModelError, match="damaged"):
        replace(trees, **{name: array}).check(len(FEATURES))


@pytest.mark.parametrize("name", ["feature", "threshold", "left", "right", "value"])
def test_arrays_of_unequal_length_are_refused(name: str) -> None:
    trees = random_trees(trees=2)
    with pytest.raises(ModelError, match="damaged"):
        replace(trees, **{name: getattr(trees, name)[:-1]}).check(len(FEATURES))
