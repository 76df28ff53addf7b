"""Generation with a learned ranking of absent phrases, and everything as ever without one."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from erukg import Collection, KeyphraseGenerator, Settings
from erukg.core.absent_features import FEATURES, GROUPS
from erukg.core.results import Keyphrases
from erukg.errors import InputError

OPEN = Settings(abstain=False, min_confidence=0)
# Without phrases that the text's own words make.
LENT = OPEN.replace(absent_composed=0.0)
LEARNED = {f"learned_{group}" for group in GROUPS}


@pytest.fixture(scope="module")
def ranked(ranked_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(ranked_model, tiny_collection)


@pytest.fixture(scope="module")
def plain(tiny_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)


@pytest.fixture(scope="module")
def items(tiny_corpus: Path) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in tiny_corpus.read_text().splitlines()]
    return [(row["id"], row["abstract"]) for row in rows[:40]]


def told(results: list[Keyphrases]) -> list[list[tuple[str, float, dict[str, float]]]]:
    """Every phrase with its score and its factors."""
    return [[(k.phrase, k.score, k.explanation.factors) for k in each if k.explanation] for each in results]


def test_scores_are_the_product_of_their_factors(ranked: KeyphraseGenerator, items: list[tuple[str, str]]) -> None:
    values: dict[str, set[float]] = {name: set() for name in LEARNED}
    for result in ranked.generate_batch(items, 20, OPEN, explain=True):
        assert [k.score for k in result.absent] == sorted((k.score for k in result.absent), reverse=True)
        for k in result:
            assert k.explanation is not None
            factors = k.explanation.factors
            assert k.score == pytest.approx(math.prod(factors.values()), rel=1e-9)
            assert LEARNED & set(factors) == (set() if k.spans else LEARNED)
            for name in LEARNED & set(factors):
                values[name].add(factors[name])
    assert all(len(some) > 10 for some in values.values())


def test_factors_are_what_the_trees_say_of_the_features(
    ranked: KeyphraseGenerator, items: list[tuple[str, str]]
) -> None:
    background, ranker = ranked.background, ranked.backend.ranker
    assert background is not None
    assert ranker is not None
    compared = 0
    for settings, (id, text) in itertools.product((LENT, LENT.replace(neighbour_candidates=15)), items[:6]):
        prepared = ranked.prepare((id, text), settings)
        encoding = ranked.backend.encode(prepared.pieces, prepared.terms)
        found = ranked.absent_candidates(prepared, encoding, settings)
        glossary_ids = background.glossary.find(found.hashes)
        phrases = background.glossary.phrases(glossary_ids)
        assert found.features.shape == (len(phrases), len(FEATURES))
        words = found.features[:, list(FEATURES).index("words")]
        assert words.tolist() == [len(phrase.split()) for phrase in phrases]
        counts = np.exp(found.features[:, list(FEATURES).index("count")])
        assert counts == pytest.approx(background.glossary.counts(glossary_ids), rel=1e-5)
        # The neighbours' support is that of the same phrases.
        at = np.searchsorted(prepared.neighbourhood.phrase_ids, glossary_ids)
        support = prepared.neighbourhood.support
        assert support is not None
        assert np.array_equal(found.features[:, list(FEATURES).index("best")], support.best[at])
        assert np.array_equal(found.features[:, list(FEATURES).index("few_holders")], support.few_holders[at])
        titles = np.expm1(found.features[:, list(FEATURES).index("in_titles")])
        assert titles == pytest.approx(background.glossary.titled(glossary_ids), rel=1e-5)
        assert titles.any()
        expected = dict(
            zip(phrases, np.exp(settings.absent_learned * ranker.contributions(found.features)), strict=True)
        )
        for k in ranked.complete(prepared, encoding, 20, settings, explain=True).absent:
            assert k.explanation is not None
            got = [k.explanation.factors[f"learned_{group}"] for group in GROUPS]
            assert got == pytest.approx(expected[k.phrase], rel=1e-6)
            compared += 1
    assert compared > 30


@pytest.mark.parametrize("settings", [Settings.paper(), Settings(absent_learned=0)])
def test_settings_that_leave_the_ranking_out(
    ranked: KeyphraseGenerator, plain: KeyphraseGenerator, items: list[tuple[str, str]], settings: Settings
) -> None:
    results = list(ranked.generate_batch(items, 20, settings, explain=True))
    assert results == list(plain.generate_batch(items, 20, settings, explain=True))
    assert any(each.absent for each in results)
    assert not any(LEARNED & set(factors) for each in told(results) for _, _, factors in each)


def test_a_model_without_a_ranking_scores_as_with_none(
    ranked: KeyphraseGenerator, plain: KeyphraseGenerator, items: list[tuple[str, str]]
) -> None:
    without = told(list(plain.generate_batch(items, 20, OPEN.replace(absent_learned=0), explain=True)))
    assert told(list(plain.generate_batch(items, 20, OPEN, explain=True))) == without
    assert told(list(ranked.generate_batch(items, 20, OPEN, explain=True))) != without


def test_present_phrases_are_the_same(
    ranked: KeyphraseGenerator, plain: KeyphraseGenerator, items: list[tuple[str, str]]
) -> None:
    pairs = zip(ranked.generate_batch(items), plain.generate_batch(items), strict=True)
    assert all(one.present == other.present for one, other in pairs)
    assert ranked.extract(items[0][1]) == plain.extract(items[0][1])
    alone = KeyphraseGenerator(ranked.backend)
    assert alone.generate(items[0][1], explain=True).absent == ()


def test_batches_give_the_same_as_one_at_a_time(ranked: KeyphraseGenerator, items: list[tuple[str, str]]) -> None:
    alone = [ranked.generate(text, 20, OPEN, id=id, explain=True) for id, text in items]
    assert list(ranked.generate_batch(items, 20, OPEN, explain=True, threads=2)) == alone


def test_a_neighbourhood_that_has_travelled_gives_the_same(
    ranked: KeyphraseGenerator, items: list[tuple[str, str]]
) -> None:
    assert isinstance(ranked.background, Collection)
    for id, text in items[:5]:
        near = ranked.background.neighbourhood(text, OPEN.neighbours, exclude=id)
        travelled = pickle.loads(pickle.dumps(near))
        assert near.support is not None
        assert all(map(np.array_equal, travelled.support, near.support))
        prepared = ranked.prepare((id, text), OPEN, neighbourhood=travelled)
        encoding = ranked.backend.encode(prepared.pieces, prepared.terms)
        result = ranked.complete(prepared, encoding, 20, OPEN, explain=True)
        assert result.absent
        assert result == ranked.generate(text, 20, OPEN, id=id, explain=True)


def test_texts_with_little_in_them(ranked: KeyphraseGenerator) -> None:
    for text in ("", "network", "the of and", "zzz qqq", "graph " * 400):
        for k in ranked.generate(text, 20, OPEN, explain=True):
            assert math.isfinite(k.score)
            assert k.explanation is not None
            assert k.score == pytest.approx(math.prod(k.explanation.factors.values()), rel=1e-9)


def test_candidates_need_a_collection(ranked: KeyphraseGenerator) -> None:
    alone = KeyphraseGenerator(ranked.backend)
    prepared = alone.prepare("sparse graph", OPEN)
    with pytest.raises(InputError, match="collection"):
        alone.absent_candidates(prepared, alone.backend.encode(prepared.pieces, prepared.terms), OPEN)
