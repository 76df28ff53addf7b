"""Folding many words at once, and finding phrases by the hashes of runs of words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erukg.core import folding
from erukg.core.folding import fold, fold_words
from erukg.core.hashing import among, find_sorted, hash_phrases, hash_runs

PHRASES = ["Neural Networks", "glaciers", "sea ice", "buses and classes", "A", "  two  spaces ", "bodies", "movies"]


@given(st.one_of(st.sampled_from(PHRASES), st.text(st.sampled_from("aBsex i-'\n"), max_size=12)))
def test_plain_words_fold_as_everything_else(text: str) -> None:
    assert fold(text) == folding._fold(text)


@given(st.lists(st.text(max_size=6), max_size=20))
def test_words_fold_together_as_one_by_one(words: list[str]) -> None:
    assert fold_words(words) == tuple(map(fold, words))


def test_folds_of_words_are_forgotten_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_MOST_WORDS", 10)
    monkeypatch.setattr(folding, "_folds", {})
    for start in range(0, 60, 4):
        words = [f"words{i}s" for i in range(start, start + 8)]
        assert fold_words(words) == tuple(map(fold, words))
        assert len(folding._folds) <= 10


@settings(deadline=None)  # the first call loads the compiled code
@given(st.lists(st.sampled_from(["sea", "ice", "é", "radar", "x"]), max_size=12), st.integers(1, 4))
def test_runs_are_found_by_their_hashes(words: list[str], longest: int) -> None:
    asked = ["sea", "ice", "sea ice", "ice sea", "é x", "sea ice radar", "x x x x", "radar é x sea ice", "absent"]
    runs = {" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + longest, len(words)) + 1)}
    found = among(hash_phrases(asked), hash_runs(words, longest))
    assert found.tolist() == [phrase in runs for phrase in asked]
    assert among(np.empty(0, np.uint64), hash_runs(words, longest)).tolist() == []


_HASHES = st.integers(0, 2**64 - 1)


@settings(deadline=None)  # the first call loads the compiled code
@given(st.lists(_HASHES | st.integers(2**63, 2**63 + 900), unique=True, max_size=700), st.lists(_HASHES, max_size=9))
def test_hashes_are_found_wherever_they_lie(held: list[int], others: list[int]) -> None:
    """However unevenly they lie, and at either end."""
    values = np.array(sorted(held), np.uint64)
    found = find_sorted(values, np.array([*values, *others, 0, 2**64 - 1], np.uint64))
    places = {value: place for place, value in enumerate(values.tolist())}
    assert found.tolist() == [*range(len(values)), *(places.get(other, -1) for other in [*others, 0, 2**64 - 1])]
