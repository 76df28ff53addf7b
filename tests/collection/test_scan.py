"""The scan over posting lists of several blocks, against BM25 worked out document by document."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erukg.collection.arrays import PackedLists
from erukg.collection.glossary import gather_lists
from erukg.collection.neighbourhood import Holders, LazyNeighbourhood
from erukg.collection.postings import BLOCK, pack, sum_weights
from erukg.collection.search import (
    OVERHANG,
    Excluded,
    QueryLists,
    SearchedDocuments,
    Task,
    best_first,
    idf,
    norms,
    run,
    scan_order,
)
from erukg.core.neighbours import Neighbourhood, WeightedTerms
from erukg.core.search_words import every_word
from erukg.errors import CollectionError

N = 3 * BLOCK + 700


class Lists:
    """Random posting lists, rare terms and common ones, with small, middling and large frequencies."""

    def __init__(self, seed: int, terms: int = 24) -> None:
        rng = np.random.default_rng(seed)
        self.table = np.zeros((terms, N), np.int64)
        for row, share in zip(self.table, 0.4 * 0.7 ** np.arange(terms), strict=True):
            chosen = np.flatnonzero(rng.random(N) < share + 1e-4)
            row[chosen] = rng.choice([1, 1, 1, 1, 2, 3, 5, 17, 18, 300], len(chosen))
        frequencies = (self.table > 0).sum(1)
        which, documents = np.nonzero(self.table)
        indptr = np.searchsorted(which, np.arange(terms + 1))
        counts = self.table[which, documents].astype(np.int32)
        self.words, ends = pack(indptr, documents.astype(np.int32), counts)
        starts = np.concatenate(([0], ends[:-1]))
        factors = (rng.integers(1, 4, terms) * idf(frequencies, N)).astype(np.float32)
        order = scan_order(factors, frequencies)
        self.table, self.factors = self.table[order], factors[order]
        self.starts, self.stops = starts[order], ends[order]
        lengths = rng.integers(20, 400, N).astype(np.uint32)
        self.norm = norms(lengths, float(lengths.mean()), 0.9, 0.4)
        self.dead = (rng.random(N) < 0.1).astype(np.uint8)

    def scores(self) -> NDArray[np.float64]:
        inverse = 1 / self.norm[:N].astype(np.float64) - 1
        parts = self.factors[:, None] * (self.table / np.maximum(self.table + inverse, 1e-9))
        return np.where(self.dead, 0.0, parts.sum(0))

    def tasks(self, cuts: list[int]) -> list[Task]:
        nothing = np.empty(0, np.uint8)
        lists = QueryLists(self.words, self.starts, self.stops, self.factors)
        texts, ids_offsets = np.ones(N, np.uint64), np.zeros(N + 1, np.uint32)
        searched = SearchedDocuments(0, self.norm, self.dead, texts, nothing, ids_offsets)
        excluded = Excluded(np.uint64(0), nothing)
        return [Task(Path("segment"), lists, searched, excluded, blocks) for blocks in pairwise(cuts)]


@pytest.mark.parametrize("keep", [1, 10, 100, 2000])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_documents_are_found(seed: int, keep: int) -> None:
    lists = Lists(seed)
    assert len(lists.norm) >= N + OVERHANG
    expected = lists.scores()
    documents, scores = run(lists.tasks([0, 4]), keep)
    assert len(set(documents.tolist())) == len(documents) == keep
    np.testing.assert_allclose(scores, expected[documents], rtol=1e-5)
    np.testing.assert_allclose(scores, np.sort(expected)[::-1][:keep], rtol=1e-5)


@pytest.mark.parametrize("blocks", [[0, 1, 2, 3, 4], [0, 2, 4], [0, 3, 4]])
def test_scores_do_not_depend_on_where_the_scan_begins(blocks: list[int]) -> None:
    tasks, whole = Lists(5).tasks(blocks), run(Lists(5).tasks([0, 4]), 50)
    documents, scores = zip(*(run([task], 50) for task in tasks), strict=True)
    for parts in run(tasks, 50), best_first(np.concatenate(documents), np.concatenate(scores), 50):
        assert np.array_equal(whole[0], parts[0])
        assert np.array_equal(whole[1], parts[1])


@pytest.mark.parametrize("keep", [1, 90, 1000])
@pytest.mark.parametrize("cuts", [[0, 4], [0, 1, 2, 3, 4]])
def test_of_equal_documents_the_first_are_found(keep: int, cuts: list[int]) -> None:
    lists = Lists(7, terms=3)
    lists.norm[:N] = 0.5
    found, scores = run(lists.tasks(cuts), keep)
    every, all_scores = run(lists.tasks([0, 4]), N)
    assert len(np.unique(all_scores)) < len(every) / 20
    assert np.array_equal(found, every[:keep])
    assert np.array_equal(scores, all_scores[:keep])


def test_lists_are_gathered_and_checked() -> None:
    values, offsets = np.arange(10, 20, dtype=np.uint16), np.array([0, 3, 3, 10], np.uint32)
    indptr = np.empty(4, np.int64)
    out = gather_lists(values, offsets, np.array([2, 1, 0]), indptr)
    assert out.tolist() == [*range(13, 20), 10, 11, 12]
    assert indptr.tolist() == [0, 7, 7, 10]
    gather_lists(values, np.array([0, 3, 3, 11], np.uint32), np.array([0, 1, 2]), indptr)
    assert indptr[0] < 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=40))
def test_holders_are_found_by_phrase_and_nearest_first(held: list[tuple[int, int]]) -> None:
    phrases, neighbours = np.array(held, np.int64).reshape(-1, 2).T
    found = Holders.of(phrases, neighbours).find(np.arange(11))
    assert found == [sorted(neighbour for phrase, neighbour in held if phrase == wanted) for wanted in range(11)]


def test_term_weights_are_read_once_and_travel_along() -> None:
    asked = []

    def read_terms() -> WeightedTerms:
        asked.append(1)
        return WeightedTerms(np.array([4], np.int32), np.array([0.5], np.float32))

    number, share = np.array([7]), np.array([1], np.float32)
    holders = Holders.of(np.array([3]), np.array([0]))
    near = LazyNeighbourhood(number, share, np.array([3]), share, read_terms, holders=holders)
    assert not asked
    assert near.term_ids.tolist() == [4]
    assert near.term_weights.tolist() == [0.5]
    assert asked == [1]
    copy = pickle.loads(pickle.dumps(near))
    assert type(copy) is Neighbourhood
    assert (copy.documents.tolist(), copy.term_ids.tolist(), copy.phrase_ids.tolist()) == ([7], [4], [3])


@given(st.text(st.sampled_from("abZ1_' -.\x1f\u00e9\u2019"), max_size=30))
def test_ascii_texts_have_the_same_words_as_all_others(text: str) -> None:
    odd = every_word(text + " \u00e9")
    assert [*every_word(text), "\u00e9"] == odd


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_summed_over_all_documents_of_a_list(seed: int) -> None:
    """However often a document has the term; a list with a document that does not exist is damaged."""
    lists, rng = Lists(seed), np.random.default_rng(seed)
    table = lists.table[np.argsort(lists.starts)]
    postings = PackedLists(lists.words, np.append(np.sort(lists.starts), len(lists.words)).astype(np.uint32))
    terms, out = rng.choice(len(table), 7, replace=False), np.ones(N)
    weights = rng.random(7)
    sum_weights(postings, terms, weights, out)
    assert out == pytest.approx(1 + weights @ (table[terms] > 0))
    last = np.flatnonzero(table[terms].sum(0)).max()
    with pytest.raises(CollectionError, match="posting lists"):
        sum_weights(postings, terms, weights, np.zeros(last))
