"""The shipped model and collection know when to be silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from erukg import KeyphraseGenerator
from erukg.research.evaluation.readers import load_readers

TEXTS = {text.id: text for text in load_readers([Path(__file__).parent]).texts}
METOPROLOL = (
    "Metoprolol and the risk of atrial fibrillation after cardiac surgery\nWe studied whether metoprolol given before "
    "cardiac surgery prevents atrial fibrillation. Patients who received metoprolol had fewer arrhythmias than those "
    "who did not, and metoprolol did not change mortality or the length of stay in hospital."
)


@pytest.fixture(scope="module")
def generator() -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained("tiny")


def test_recipes_get_no_absent_phrases_and_a_notice(generator: KeyphraseGenerator) -> None:
    for text in (text for text in TEXTS.values() if text.kind == "recipe"):
        result = generator.generate(text.text)
        assert result.absent == (), text.id
        assert [notice.code for notice in result.notices] == ["unlike-collection"], text.id
        assert result.present


@pytest.mark.parametrize("kind", ["minutes", "fiction", "news", "product"])
def test_hardly_an_everyday_text_gets_absent_phrases(generator: KeyphraseGenerator, kind: str) -> None:
    results = [generator.generate(text.text) for text in TEXTS.values() if text.kind == kind]
    assert sum(bool(result.absent) for result in results) <= 1
    assert all(result.present for result in results)
    silent = [result for result in results if "unlike-collection" in {notice.code for notice in result.notices}]
    assert len(silent) >= len(results) / 2
    assert not any(result.absent for result in silent)


def test_queries_the_collection_knows_are_answered_and_others_not(generator: KeyphraseGenerator) -> None:
    assert generator.generate("cheap flights paris").absent == ()
    assert generator.generate("gluten free sourdough starter").absent == ()
    found = generator.generate("federated learning medical imaging")
    assert len(found.absent) >= 5
    assert all(len(k.sources) >= 3 for k in found.absent)
    assert found.notices == ()


def test_no_phrase_wins_by_a_piece_of_a_word(generator: KeyphraseGenerator) -> None:
    assert "met" not in {k.phrase for k in generator.generate(METOPROLOL).absent}


def test_science_is_answered_with_confidence_that_falls(generator: KeyphraseGenerator) -> None:
    result = generator.generate(TEXTS["cs-bloom-peer"].text, explain=True)
    assert result.notices == ()
    assert len(result.absent) >= 5
    sure = [k.confidence for k in result.absent if k.confidence is not None]
    assert sure == sorted(sure, reverse=True)
    assert len(sure) == len(result.absent)
    assert all(0.005 <= value < 0.5 for value in sure)
    assert {"whole_words", "cover", "agreement"} <= set(result.absent[0].explanation.factors)  # type: ignore[union-attr]
