"""Phrases that a caller brings: judged as a whole, by what they mean in the model."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from erukg import KeyphraseGenerator, Settings
from erukg.backends import OnnxBackend
from erukg.core import phrase_ranking
from erukg.core.factors import FACTORS
from erukg.core.results import Keyphrase
from tiny import ADJECTIVES, NOUNS

TEXT = "We show a deep neural network for sea ice in radar images. The network is fast, and sea ice is not."
FEW = ["neural network", "sea ice", "graph", "random forest", "radar images", "distributed systems"]
MANY = [f"{a} {n}" for a in ADJECTIVES for n in NOUNS]


def by_phrase(ranked: list[Keyphrase]) -> dict[str, Keyphrase]:
    return {k.phrase: k for k in ranked}


def factors(keyphrase: Keyphrase) -> dict[str, float]:
    assert keyphrase.explanation is not None
    return keyphrase.explanation.factors


def test_the_factors_are_what_they_are_said_to_be(tiny_generator: KeyphraseGenerator) -> None:
    backend = tiny_generator.backend
    every = np.arange(backend.vocab_size, dtype=np.int32)
    text = backend.encode(backend.pieces(TEXT.replace(".", " .").replace(",", " ,").split()), every)
    for k in tiny_generator.rank(TEXT, FEW, explain=True):
        found = factors(k)
        assert list(found) == [factor.name for factor in FACTORS if factor.ranked]
        phrase = backend.encode(backend.pieces(k.phrase.split()), every)
        words = [backend.encode(backend.pieces([word]), every) for word in k.phrase.split()]
        share, *single = (e.weights[text.weights > 0].sum() / e.weights.sum() for e in (phrase, *words))
        assert found["meaning"] == pytest.approx(share**1.5, rel=1e-5)
        assert found["completeness"] == pytest.approx((min(single) + 0.02) ** 0.5, rel=1e-5)
        weights = [text.weights[backend.pieces([word]).ids].min() for word in k.phrase.split()]
        assert found["words"] == pytest.approx(math.exp(np.log(np.add(weights, 0.1)).mean()) ** 0.5, rel=1e-5)
        assert found["occurrence"] == (7 if k.spans else 1)
        assert found["usage"] == 1, "there is no collection"
        assert 0 < found["likeness"] < 1


def test_a_word_weighs_what_its_weakest_piece_does(tiny_generator: KeyphraseGenerator) -> None:
    backend = tiny_generator.backend
    (k,) = tiny_generator.rank(TEXT, ["icebox"], explain=True)  # not in the vocabulary: pieces
    assert k.explanation is not None
    weights = [term.weight for term in k.explanation.terms]
    assert len(weights) == len(backend.pieces(["icebox"]).ids) > 2
    assert k.explanation.informativeness == pytest.approx(min(weights) + 0.1)


def test_a_word_that_stands_only_inside_others_does_not_weigh(tiny_generator: KeyphraseGenerator) -> None:
    backend = tiny_generator.backend
    first = backend.tokens(backend.pieces(["xylem"]).ids.tolist())[0]
    inside, whole = (
        tiny_generator.rank(text, [first], explain=True)[0] for text in ("sea xylem", f"sea xylem {first}")
    )
    assert inside.explanation is not None
    assert whole.explanation is not None
    assert inside.explanation.informativeness == pytest.approx(0.1)
    assert whole.explanation.informativeness == pytest.approx(whole.explanation.terms[0].weight + 0.1)


def test_likeness_is_measured_from_a_text_about_nothing(tiny_generator: KeyphraseGenerator) -> None:
    same, other = (tiny_generator.rank(text, ["sea ice"], explain=True)[0] for text in ("sea ice", TEXT))
    # Alike to the last digit: the logistic curve at 1.
    assert factors(same)["likeness"] == pytest.approx(1 / (1 + math.exp(-6 * (1 - 0.36))), rel=1e-5)
    assert factors(other)["likeness"] < factors(same)["likeness"]


def test_what_is_hardly_about_the_text_scores_nothing_and_keeps_its_order(tiny_generator: KeyphraseGenerator) -> None:
    ranked = tiny_generator.rank(TEXT, [*MANY[:40], "漢字"], explain=True)
    closeness = [math.prod(v for name, v in factors(k).items() if name != "relevance") for k in ranked]
    assert closeness == sorted(closeness, reverse=True)
    assert [k.score for k in ranked] == [pytest.approx(c if c / (c + 0.19) >= 0.1 else 0) for c in closeness]
    assert [k.confidence for k in ranked] == [pytest.approx(k.score / (k.score + 0.19)) for k in ranked]
    assert {bool(k.score) for k in ranked} == {True, False}, "choose phrases of both kinds"


def test_only_the_best_of_a_long_list_are_read_and_nothing_is_lost(tiny_generator: KeyphraseGenerator) -> None:
    alone = by_phrase(tiny_generator.rank(TEXT, FEW, explain=True))
    phrases = [*FEW, *MANY]
    ranked = tiny_generator.rank(TEXT, phrases, explain=True)
    assert len(ranked) == len(tiny_generator.phrase_list(phrases).forms)
    read = [k for k in ranked if k.explanation]
    assert len(read) == 48
    assert {"sea ice", "neural network", "radar images"} <= set(by_phrase(read))
    for k in read:
        if k.phrase in alone:
            assert k == alone[k.phrase], "the company of others changes nothing"
    rest = [k.phrase for k in ranked[48:]]
    assert rest == [phrase for phrase in tiny_generator.phrase_list(phrases).forms if phrase in set(rest)]
    assert {(k.score, k.confidence) for k in ranked[48:]} == {(0.0, 0.0)}
    for limit in (0, 5, 60):
        assert tiny_generator.rank(TEXT, phrases, top_k=limit, explain=True) == ranked[:limit]


def test_phrases_are_read_once_and_not_kept_for_ever(
    tiny_encoder: OnnxBackend, monkeypatch: pytest.MonkeyPatch, tiny_generator: KeyphraseGenerator
) -> None:
    expected = [tiny_generator.rank(text, MANY) for text in (TEXT, "Cache memory of a modern storage system.")]
    monkeypatch.setattr(phrase_ranking, "_REMEMBERED", 60)
    generator = KeyphraseGenerator(tiny_encoder)
    for _ in range(2):
        assert [generator.rank(text, MANY) for text in (TEXT, "Cache memory of a modern storage system.")] == expected


def test_similar_documents_speak_for_their_phrases(
    tiny_encoder: OnnxBackend, tiny_collection: Path, tiny_generator: KeyphraseGenerator
) -> None:
    from erukg.collection import Collection

    collection = Collection.open(tiny_collection)
    generator = KeyphraseGenerator(tiny_encoder, collection)
    text = "A neural network model of sea ice."
    phrases = collection.glossary.phrases(collection.neighbourhood(text, 100).phrase_ids)[:20]
    ranked = by_phrase(generator.rank(text, [*phrases, "satellite ice"], explain=True))
    assert {factors(ranked[phrase])["usage"] for phrase in phrases} == {4.0}
    assert factors(ranked["satellite ice"])["usage"] == 1
    alone = generator.rank(text, phrases, Settings().extraction())
    assert alone == tiny_generator.rank(text, phrases), "extraction leaves the collection alone"


def test_inverted_headings_are_read_in_natural_order(tiny_generator: KeyphraseGenerator) -> None:
    inverted, plain = (tiny_generator.rank(TEXT, [phrase], explain=True)[0] for phrase in ("Ice, Sea", "sea ice"))
    assert inverted.phrase == "Ice, Sea"
    assert (inverted.score, inverted.spans) == (plain.score, plain.spans)
    assert [k.phrase for k in tiny_generator.rank(TEXT, ["Ice, Sea", "sea ice", "ice, sea, radar"])].count(
        "sea ice"
    ) == 0


def test_diversity_pushes_repeated_words_down(tiny_generator: KeyphraseGenerator) -> None:
    phrases = ["sea ice", "ice", "sea", "radar images"]
    ranked = tiny_generator.rank(TEXT, phrases, Settings(diversity=0.9), explain=True)
    assert any(0 < factors(k)["novelty"] < 1 for k in ranked)
    plain = by_phrase(tiny_generator.rank(TEXT, phrases))
    for k in ranked:
        assert k.score == pytest.approx(plain[k.phrase].score * factors(k)["novelty"])
        assert k.confidence == plain[k.phrase].confidence


def test_texts_and_phrases_without_words(tiny_generator: KeyphraseGenerator) -> None:
    assert {k.score for k in tiny_generator.rank("", FEW, explain=True)} == {0.0}
    assert {k.score for k in tiny_generator.rank("漢字", ["漢字", "漢字 漢字"])} == {0.0}, "the model cannot read them"


def test_a_long_text_calls_up_only_what_weighs(
    tiny_generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join([*NOUNS, *ADJECTIVES])
    whole = by_phrase(tiny_generator.rank(text, FEW, explain=True))
    monkeypatch.setattr(phrase_ranking, "_TELLING", 20)
    some = by_phrase(tiny_generator.rank(text, FEW, explain=True))
    assert all(factors(some[phrase])["meaning"] <= factors(whole[phrase])["meaning"] for phrase in FEW)
    assert any(factors(some[phrase])["meaning"] < factors(whole[phrase])["meaning"] for phrase in FEW)
