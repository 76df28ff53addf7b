"""The array half of ranking where the oracle does not look: partial sorting, and weights that nobody asks for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erukg.core import scoring
from erukg.core.absent_features import GROUPS
from erukg.core.backend import Pieces
from erukg.core.neighbours import Neighbourhood, Terms, WeightedTerms
from erukg.core.pool import Pool
from erukg.core.ranking import Weights, rank_pool
from erukg.core.settings import Settings


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.5]), max_size=40), st.integers(0, 45))
def test_the_best_are_those_of_a_full_sort(values: list[float], limit: int) -> None:
    scores = np.array(values)
    order = sorted(range(len(values)), key=lambda i: -values[i])
    assert scoring.best(scores, limit).tolist() == [i for i in order if values[i] > 0][:limit]
    assert scoring.top_neighbour_candidates(scores, limit).tolist() == order[:limit]


def combined(
    weights: dict[int, float], words: dict[str, list[int]] | None = None, near: Neighbourhood | None = None
) -> Weights:
    """The weights of a text that consists of these words, each with its pieces."""
    words = words or {}
    starts = np.concatenate(([0], np.cumsum([len(ids) for ids in words.values()]))).astype(np.int64)
    pieces = Pieces(np.array([i for ids in words.values() for i in ids], np.int32), starts)
    ids, values = np.array(list(weights), np.int32), np.array(list(weights.values()), np.float32)
    return Weights.combine(ids, values, near or Neighbourhood.empty(), list(words), pieces)


def test_terms_are_found_among_the_weights() -> None:
    weights = combined({3: 1, 7: 2, 9: 3})
    terms = Terms(np.array([0, 2, 2, 3]), np.array([9, 3, 7], np.int32))
    assert weights.index(terms).ids.tolist() == [2, 0, 1]
    other = Terms(np.array([0, 1]), np.array([7], np.int32))
    assert weights.index(other).ids.tolist() == [1]


def test_neighbours_weights_are_read_only_when_they_count() -> None:
    read = []

    def read_terms() -> WeightedTerms:
        read.append(1)
        return WeightedTerms(np.array([3], np.int32), np.array([4], np.float32))

    none, nothing = np.empty(0, np.int64), np.empty(0, np.float32)
    near = Neighbourhood(none, nothing, none, nothing, read_terms)
    weights = combined({3: 2}, near=near)
    assert weights.mixed(1.0).tolist() == [2.0]
    assert not read
    assert weights.mixed(0.5).tolist() == [3.0]
    assert weights.neighbours.tolist() == [4.0]
    assert read == [1]


@given(st.lists(st.lists(st.sampled_from([3, 7, 9]), max_size=3), max_size=8))
def test_a_learned_ranking_is_asked_only_for_phrases_that_say_something(phrases: list[list[int]]) -> None:
    weights = combined({3: 0, 7: 2, 9: 0})
    indptr = np.cumsum([0, *map(len, phrases)])
    terms = Terms(indptr, np.array([i for phrase in phrases for i in phrase], np.int32))
    asked: list[tuple[int, list[int], list[float]]] = []

    def learned(rows: NDArray[np.int64], terms: Terms, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        for k, row in enumerate(rows.tolist()):
            pieces = slice(terms.indptr[k], terms.indptr[k + 1])
            asked.append((row, terms.ids[pieces].tolist(), weights[pieces].tolist()))
        return np.zeros((len(rows), len(GROUPS)))

    pool = Pool.of(terms, phraseness_neighbours=np.ones(len(terms)))
    found = rank_pool(pool, weights, Settings(), present=False, limit=len(terms), learned=learned)
    telling = [i for i, phrase in enumerate(phrases) if 7 in phrase]
    assert asked == [(i, phrases[i], [2.0 if piece == 7 else 0.0 for piece in phrases[i]]) for i in telling]
    assert sorted(found.pool.tolist()) == telling


def test_a_word_weighs_as_much_as_its_pieces() -> None:
    words = {"fjord": [3, 7], "of": [7], "!": [], "ferries": [9, 3, 3]}
    weights = combined({3: 1, 7: 2, 9: 4}, words)
    np.testing.assert_array_equal(weights.words, [3, np.nan, 0, 6])


@given(
    st.lists(st.one_of(st.just(math.nan), st.floats(0, 8), st.just(0.0)), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 12)), max_size=8),
)
def test_balances_are_those_of_a_plain_loop(words: list[float], drawn: list[tuple[int, int]]) -> None:
    ranges = [(a, b) for a, b in drawn if a < b <= len(words)]
    first, least = scoring.balances(np.array(words), np.array(ranges, np.int64).reshape(-1, 2))
    for (a, b), lead, lightest in zip(ranges, first.tolist(), least.tolist(), strict=True):
        weights = [w for w in words[a:b] if not math.isnan(w)]
        mean = max(sum(weights) / max(len(weights), 1), 1e-9)
        # A word that only joins others is no reason to hold a phrase back.
        checked = (math.inf if math.isnan(words[a]) else words[a], min(weights, default=math.inf))
        expected = [min(max(w / mean, 0.05), 1) if b - a > 1 else 1.0 for w in checked]
        assert [lead, lightest] == pytest.approx(expected)
