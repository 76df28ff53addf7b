"""The work for a text grows with its length, whatever it repeats."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from tiny import write_model

# Four times the length: four times the work, and sixteen times where some of it grows with the square.
TIMES, MOST = 4, 8


def seconds(work: Callable[[], object]) -> float:
    """The processor's, which others on the machine do not lengthen."""
    start = time.process_time()
    work()
    return time.process_time() - start


def growth(work: Callable[[int], object], size: int) -> float:
    # The better of two for both: one hiccup of the machine is no growth.
    short = min(seconds(lambda: work(size)) for _ in range(2))
    return min(seconds(lambda: work(TIMES * size)) for _ in range(2)) / short


@pytest.mark.parametrize("sentence", ["The graph q{i} is of model. ", "The deep graph model q{i} is fast. "])
def test_many_phrases_that_begin_alike(tiny_generator: KeyphraseGenerator, sentence: str) -> None:
    def generate(sentences: int) -> None:
        tiny_generator.generate("".join(sentence.format(i=i) for i in range(sentences)))

    assert growth(generate, 800) < MOST


def test_a_text_of_many_windows(tmp_path: Path) -> None:
    backend = OnnxBackend.load(write_model(tmp_path / "m", window=16))

    def encode(words: int) -> None:
        pieces = backend.pieces(["graph"] * words)
        assert len(backend.encode(pieces, np.unique(pieces.ids)).tags) == words

    assert growth(encode, 24_000) < MOST
