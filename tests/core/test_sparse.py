"""Sparse vectors: the model's heaviest terms, with and without idf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.core.document import Document
from erukg.core.sparse import SparseVector, TermCounts
from erukg.errors import InputError

TEXT = "Passive radar images of sea ice, classified by a neural network."


def every_weight(encoder: OnnxBackend, text: str) -> dict[str, float]:
    """All weights of terms that are words or parts of words, one by one."""
    pieces = encoder.pieces(Document.parse(text).words)
    weights = encoder.encode(pieces, np.arange(encoder.vocab_size, dtype=np.int32)).weights.tolist()
    tokens = encoder.tokens(range(encoder.vocab_size))
    usable = {t: w for t, w in zip(tokens, weights, strict=True) if w > 0 and t.strip("#[]").isalnum() and "[" not in t}
    return dict(sorted(usable.items(), key=lambda pair: (-pair[1], tokens.index(pair[0]))))


def test_the_heaviest_terms_in_falling_order(tiny_generator: KeyphraseGenerator, tiny_encoder: OnnxBackend) -> None:
    expected = every_weight(tiny_encoder, TEXT)
    assert any(token.startswith("##") for token in expected)
    vector = tiny_generator.encode(TEXT, 12, id="a")
    assert (len(vector), vector.id, vector.notices) == (12, "a", ())
    assert vector.tokens == tuple(expected)[:12]
    assert vector.values == pytest.approx([expected[token] for token in vector.tokens], rel=5e-4)
    assert all(value == float(f"{value:.4g}") > 0 for value in vector.values)
    assert list(vector.tokens) == tiny_encoder.tokens(vector.indices)
    assert vector.weights() == dict(zip(vector.tokens, vector.values, strict=True))
    whole = tiny_generator.encode(Document.parse(TEXT), 10_000)
    assert set(whole.tokens) == set(expected)
    assert "," not in whole.tokens
    assert tiny_generator.encode(TEXT, 0).indices == ()


def test_a_product_is_over_shared_terms() -> None:
    left, right = SparseVector((1, 2), (2.0, 3.0), ("a", "b")), SparseVector((7, 2), (5.0, 0.5), ("c", "b"))
    assert left.dot(right) == right.dot(left) == 1.5
    assert left.dot(SparseVector()) == 0


def test_idf_multiplies_what_was_chosen(tiny_generator: KeyphraseGenerator, tiny_encoder: OnnxBackend) -> None:
    plain = tiny_generator.encode(TEXT, 6)
    counts = TermCounts(tiny_encoder.term_space, tiny_encoder.vocab_size)
    for n in range(5):
        counts.add(plain.indices[: n + 1])
    weighted = tiny_generator.encode(TEXT, 6, idf=counts)
    expected = {
        index: value * math.log(1 + (5 - n + 0.5) / (n + 0.5))
        for index, value, n in zip(plain.indices, plain.values, (5, 4, 3, 2, 1, 1), strict=True)
    }
    assert dict(zip(weighted.indices, weighted.values, strict=True)) == pytest.approx(expected, rel=2e-3)
    assert list(weighted.values) == sorted(weighted.values, reverse=True)
    assert weighted.indices != plain.indices
    again = TermCounts.from_dict(counts.to_dict(), tiny_encoder.vocab_size)
    assert tiny_generator.encode(TEXT, 6, idf=again) == weighted


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"term_space": None},
        {"documents": -1},
        {"documents": True},
        {"counts": []},
        {"counts": {"x": 1}},
        {"counts": {"999999": 1}},
        {"counts": {"٣": 1}},
        {"counts": {"3": 0}},
        {"counts": {"3": 3}},
        {"counts": {"3": 1.5}},
    ],
)
def test_counts_from_outside_are_checked(change: dict[str, Any]) -> None:
    counts = TermCounts("space", 10)
    counts.add([3])
    counts.add([3, 4])
    data = counts.to_dict()
    assert TermCounts.from_dict(data, 10).to_dict() == data
    with pytest.raises(InputError):
        TermCounts.from_dict({**data, **change}, 10)


def test_counts_of_another_model_are_refused(tiny_generator: KeyphraseGenerator, tiny_encoder: OnnxBackend) -> None:
    for counts in (TermCounts("other", tiny_encoder.vocab_size), TermCounts(tiny_encoder.term_space, 3)):
        with pytest.raises(InputError, match="another model"):
            tiny_generator.encode(TEXT, idf=counts)
        with pytest.raises(InputError, match="another model"):
            tiny_generator.encode_stream([TEXT], idf=counts)


@pytest.mark.parametrize("text", ["", "  \n", "the of And", "... !", "|"])
def test_texts_that_say_nothing_have_empty_vectors(tiny_generator: KeyphraseGenerator, text: str) -> None:
    vector = tiny_generator.encode(text)
    assert (len(vector), vector.weights()) == (0, {})
    assert [notice.code for notice in vector.notices] == ["too-short"]


def test_streams_give_the_same_in_order(tiny_generator: KeyphraseGenerator) -> None:
    texts = [f"{TEXT} {word}" for word in ("graph", "memory", "search", "cache")] * 5
    answers = list(tiny_generator.encode_stream([*texts, 3], 20, threads=2))
    assert [answer.unwrap() for answer in answers[:-1]] == [tiny_generator.encode(text, 20) for text in texts]
    assert answers[-1].error is not None
    endless = tiny_generator.encode_stream(iter(lambda: TEXT, ""), 5)
    assert next(endless).unwrap() == tiny_generator.encode(TEXT, 5)


@pytest.mark.parametrize("terms", [-1, 1.5, True, "9"])
def test_terms_are_a_whole_number(tiny_generator: KeyphraseGenerator, terms: Any) -> None:
    with pytest.raises(InputError, match="terms must be a whole number"):
        tiny_generator.encode(TEXT, terms)


def test_another_language_is_pointed_out(tiny_encoder: OnnxBackend) -> None:
    generator = KeyphraseGenerator(tiny_encoder, language_of=lambda text: "German")
    vector = generator.encode("Das Wetter war heute sehr schlecht im ganzen Land")
    assert len(vector)
    assert [notice.code for notice in vector.notices] == ["not-english"]
