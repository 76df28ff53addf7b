"""How near phrases come to texts: the cosine of two short vectors."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg import KeyphraseGenerator, Settings
from erukg.core.affinity import Affinity, AffinityArrays
from erukg.core.neighbours import Terms
from tiny_affinity import random_affinity

HIDDEN, VOCABULARY = 8, 20
ARRAYS = random_affinity(HIDDEN, VOCABULARY)
EMBEDDINGS = np.random.default_rng(1).normal(0, 1, (VOCABULARY, HIDDEN)).astype(np.float32)


def plainly(vector: NDArray[np.float32], ids: list[int]) -> float:
    """The cosine, a number at a time."""
    a = ARRAYS

    def gelu(x: float) -> float:
        return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    hidden = [gelu(float(row @ vector + b)) for row, b in zip(a.inner, a.inner_bias, strict=True)]
    text = [float(row @ np.array(hidden) + b) for row, b in zip(a.outer, a.outer_bias, strict=True)]
    phrase = np.zeros(len(text))
    for i in ids:
        phrase += math.exp(a.weights[i]) * (a.pieces @ EMBEDDINGS[i] + a.pieces_bias)
    return float(phrase @ text / np.linalg.norm(phrase) / np.linalg.norm(text))


def test_the_cosine_of_text_and_phrase() -> None:
    vector = np.random.default_rng(2).normal(0, 1, HIDDEN).astype(np.float32)
    phrases = [[3], [1, 2, 2], [], [19, 0, 7, 4]]
    indptr = np.cumsum([0, *map(len, phrases)])
    terms = Terms(indptr, np.array([i for phrase in phrases for i in phrase], np.int32))
    found = Affinity(ARRAYS, lambda: EMBEDDINGS).to(vector, terms)
    assert found[2] == 0
    for k in (0, 1, 3):
        assert found[k] == pytest.approx(plainly(vector, phrases[k]), abs=1e-5)
    assert len(Affinity(ARRAYS, lambda: EMBEDDINGS).to(vector, terms.take(np.array([], np.int64)))) == 0


@pytest.mark.parametrize("name", [f.name for f in fields(AffinityArrays)])
def test_arrays_that_do_not_fit_are_refused(name: str) -> None:
    whole = {f.name: getattr(ARRAYS, f.name) for f in fields(AffinityArrays)}
    assert AffinityArrays.of(whole, HIDDEN, VOCABULARY).inner.dtype == np.float32
    with pytest.raises(KeyError):
        AffinityArrays.of({k: v for k, v in whole.items() if k != name}, HIDDEN, VOCABULARY)
    with pytest.raises(ValueError, match=r"shapes|array"):
        AffinityArrays.of({**whole, name: whole[name][..., None]}, HIDDEN, VOCABULARY)
    with pytest.raises(ValueError, match="finite"):
        AffinityArrays.of({**whole, name: whole[name] * np.nan}, HIDDEN, VOCABULARY)


def test_far_phrases_lose_and_absent_ones_gain_where_they_are_near(near_model: object, tiny_collection: object) -> None:
    generator = KeyphraseGenerator.from_pretrained(str(near_model), str(tiny_collection), language="en")
    text = "A sparse index of documents. The neural network reads satellite images of sea ice for a search engine."
    plain = Settings(min_confidence=0)
    for settings in (plain, plain.replace(affinity=2.0, absent_affinity=3.0)):
        result = generator.generate(text, 50, settings, explain=True)
        assert result.present
        for kind, exponent in ((result.present, settings.affinity), (result.absent, settings.absent_affinity)):
            for k in kind:
                assert k.explanation is not None
                factor = k.explanation.factors["affinity"]
                assert factor <= 1 or kind is result.absent
                near = math.log(factor) / exponent + 0.3
                assert -1 - 1e-6 <= near <= 1 + 1e-6
                assert math.prod(k.explanation.factors.values()) == pytest.approx(k.score, rel=1e-9)
    without = generator.generate(text, 50, plain.replace(affinity=0, absent_affinity=0), explain=True)
    assert all(k.explanation and "affinity" not in k.explanation.factors for k in without.present + without.absent)


def test_what_is_far_from_the_text_is_no_absent_phrase(near_model: object, tiny_collection: object) -> None:
    generator = KeyphraseGenerator.from_pretrained(str(near_model), str(tiny_collection), language="en")
    text = "A sparse index of documents. The neural network reads satellite images of sea ice for a search engine."
    everything = Settings(min_confidence=0, abstain=False, drop_contained=False)
    every = generator.generate(text, 200, everything, explain=True).absent
    some = generator.generate(text, 200, everything.replace(abstain=True), explain=True).absent

    def far(phrases: object) -> list[str]:
        assert isinstance(phrases, tuple)
        return [k.phrase for k in phrases if math.log(k.explanation.factors["affinity"]) / 2 + 0.3 < 0.1]

    assert far(every)
    assert not far(some)


def test_what_comes_near_is_given_to_a_text_somewhat_unlike_the_collection(
    near_model: object, tiny_collection: object
) -> None:
    generator = KeyphraseGenerator.from_pretrained(str(near_model), str(tiny_collection), language="en")
    text = "A sparse index of documents. The neural network reads satellite images of sea ice for a search engine."
    settings = Settings(min_confidence=0, drop_contained=False)
    prepared = generator.prepare(text, settings)
    encoding = generator.backend.encode(prepared.pieces, prepared.terms)

    def given(fit: float) -> tuple[dict[str, float], list[str]]:
        known = replace(prepared, neighbourhood=replace(prepared.neighbourhood, fit=fit))
        result = generator.complete(known, encoding, 200, settings)
        near = generator.backend.affinity
        assert near is not None
        phrases = [k.phrase for k in result.absent]
        cosines = near.to(encoding.vector, generator.backend.phrase_terms(phrases))
        assert all(k.confidence and k.confidence > 0 for k in result.absent)
        return dict(zip(phrases, cosines.tolist(), strict=True)), [notice.code for notice in result.notices]

    like, _ = given(1.0)
    somewhat, told = given(-0.01)
    assert somewhat
    assert somewhat.keys() < like.keys()
    # Three quarters of what it comes nearer than phrases do as a rule make up for the fit.
    enough = 0.305 + 0.01 / 0.75
    assert min(somewhat.values()) > enough >= max(like[name] for name in like.keys() - somewhat.keys())
    assert told == []
    assert given(-0.7) == ({}, ["unlike-collection"])
