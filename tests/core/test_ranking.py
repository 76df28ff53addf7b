"""The array half of ranking where the oracle does not look: partial sorting, and weights that nobody asks for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erukg.collection.gather import Gathered
from erukg.core import scoring
from erukg.core.neighbours import Neighbourhood, Terms
from erukg.core.ranking import Weights


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.5]), max_size=40), st.integers(0, 45))
def test_the_best_are_those_of_a_full_sort(values: list[float], limit: int) -> None:
    scores = np.array(values)
    order = [i for i in sorted(range(len(values)), key=lambda i: -values[i]) if values[i] > 0]
    assert scoring.best(scores, limit).tolist() == order[:limit]


def test_terms_are_found_among_the_weights() -> None:
    weights = Weights.combine(np.array([3, 7, 9], np.int32), np.array([1, 2, 3], np.float32), Neighbourhood.empty())
    terms = Terms(np.array([0, 2, 2, 3]), np.array([9, 3, 7], np.int32))
    assert weights.index(terms).ids.tolist() == [2, 0, 1]
    other = Terms(np.array([0, 1]), np.array([7], np.int32))
    assert weights.index(other).ids.tolist() == [1]


def test_neighbours_weights_are_read_only_when_they_count() -> None:
    read = []

    def later() -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        read.append(1)
        return np.array([3], np.int32), np.array([4], np.float32)

    none, nothing = np.empty(0, np.int64), np.empty(0, np.float32)
    near = Gathered(none, nothing, none, nothing, (none, none), later)
    weights = Weights.combine(np.array([3], np.int32), np.array([2], np.float32), near)
    assert weights.mixed(1.0).tolist() == [2.0]
    assert not read
    assert weights.mixed(0.5).tolist() == [3.0]
    assert weights.neighbours.tolist() == [4.0]
    assert read == [1]
