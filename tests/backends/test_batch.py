"""Packing many texts at once is packing each and joining them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from erukg.backends.batch import Packed, PackedEncodings, join, pack, unpack, windows
from erukg.core.backend import Pieces

WINDOW = 12


def make(lengths: list[int], terms: int) -> tuple[Pieces, np.ndarray]:
    """A text whose words have so many pieces each, and some asked-for terms."""
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    return Pieces(np.arange(starts[-1], dtype=np.int32), starts), np.arange(terms, dtype=np.int32)


words = st.lists(st.integers(0, 4), max_size=25)
many = st.lists(st.builds(make, words, st.integers(0, 5)), max_size=6)


@settings(deadline=None, max_examples=150)
@given(many)
def test_many_at_once(texts: list[tuple[Pieces, np.ndarray]]) -> None:
    packed = pack(texts, WINDOW)
    joined = join([pack([text], WINDOW) for text in texts])
    assert len(packed) == len(texts)
    for ours, theirs in zip(packed.arrays(), joined.arrays(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == np.int32
    again = Packed(*packed.arrays())
    np.testing.assert_array_equal(again.word_last, packed.word_last)


@settings(deadline=None, max_examples=150)
@given(words)
def test_a_word_is_tagged_where_it_is_farthest_from_an_edge(lengths: list[int]) -> None:
    pieces, terms = make(lengths, 1)
    packed = pack([(pieces, terms)], WINDOW)
    rows = windows(len(pieces.ids), WINDOW)
    assert list(zip(packed.row_starts.tolist(), packed.row_lengths.tolist(), strict=True)) == [
        (start, stop - start) for start, stop in rows
    ]
    filled = [i for i, length in enumerate(lengths) if length]
    assert packed.word_counts.tolist() == [len(filled)]
    for k, i in enumerate(filled):
        first, last = int(pieces.starts[i]), int(pieces.starts[i + 1]) - 1
        depth = [min(first - start, stop - 1 - first) if start <= first < stop else -1 for start, stop in rows]
        best = int(np.argmax(depth))
        start, stop = rows[best]
        assert packed.word_rows[k] == best
        assert packed.word_first[k] == first - start + 1
        assert packed.word_last[k] == min(last, stop - 1) - start + 1


def test_answers_come_apart_as_texts_were_joined() -> None:
    texts = [make([1, 0, 2], 2), make([], 0), make([3], 1)]
    batches = [pack(texts[:2], WINDOW), pack(texts[2:], WINDOW)]
    answers = PackedEncodings(np.arange(3, dtype=np.float32), np.array([1, 2, 3], np.int8), np.ones((3, 4), np.float32))
    parts = answers.parts(batches)
    assert [part.weights.tolist() for part in parts] == [[0, 1], [2]]
    sent = [PackedEncodings(*part.arrays(vectors=False)) for part in parts]
    assert [part.vectors.shape for part in sent] == [(2, 0), (1, 0)]
    first, empty = unpack(batches[0], sent[0], [pieces for pieces, _ in texts[:2]])
    assert first.tags.tolist() == [1, 0, 2]
    assert len(empty.tags) == len(empty.weights) == 0
    assert unpack(batches[1], PackedEncodings(*parts[1].arrays()), [texts[2][0]])[0].vector.tolist() == [1] * 4
