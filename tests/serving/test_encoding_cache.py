"""The cache of encodings: the generator's own results, without a second pass of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg import Collection, KeyphraseGenerator, Settings
from erukg.backends import OnnxBackend
from erukg.core.backend import Encoding, Pieces
from erukg.serving.encoding_cache import EncodingCache

TEXTS = [f"Sparse retrieval of keyphrases in network {i}. Deep graph models support search engines." for i in range(5)]


class Counted(OnnxBackend):
    passes = 0

    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
        self.passes += 1
        return super().encode(pieces, terms)


@pytest.fixture
def generator(tiny_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(Counted.load(tiny_model), Collection.open(tiny_collection))


def test_other_settings_rank_again_without_the_model(generator: KeyphraseGenerator) -> None:
    cache = EncodingCache(generator)
    encoder = generator.backend
    assert isinstance(encoder, Counted)
    for settings in (
        Settings(),
        Settings(phraseness=2, length_penalty=-4, beta=0.2),
        Settings.paper(),
        Settings(diversity=1),
    ):
        settings = settings.replace(neighbours=100, search_words=32, neighbour_candidates=50)
        found = cache.generate(TEXTS[0], 5, settings, explain=True)
        before = encoder.passes
        assert found == generator.generate(TEXTS[0], 5, settings, explain=True)
        encoder.passes = before
    assert encoder.passes == 1
    alone = cache.generate(TEXTS[0], 5, Settings().extraction())
    assert encoder.passes == 2
    assert alone.absent == ()
    cache.generate(TEXTS[0], 5, Settings(neighbour_candidates=50), id="someone")
    assert encoder.passes == 3


def test_only_the_last_few_are_kept(generator: KeyphraseGenerator) -> None:
    encoder = generator.backend
    assert isinstance(encoder, Counted)
    cache = EncodingCache(generator, entries=2)
    for text, passes in ((TEXTS[0], 1), (TEXTS[1], 2), (TEXTS[0], 2), (TEXTS[2], 3), (TEXTS[0], 3), (TEXTS[1], 4)):
        cache.generate(text, 3, Settings())
        assert encoder.passes == passes
    small = EncodingCache(generator, characters=len(TEXTS[0]) - 1)
    small.generate(TEXTS[0], 3, Settings())
    small.generate(TEXTS[0], 3, Settings())
    assert encoder.passes == 6
