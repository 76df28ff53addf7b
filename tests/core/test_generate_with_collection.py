"""Generation with a real collection: absent phrases, their sources, and the equations over what the search gives."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from erukg import Collection, KeyphraseGenerator, Settings, fold
from erukg.errors import CollectionError
from tiny import write_model

PAPER = Settings.paper(neighbours=20)


@pytest.fixture(scope="module")
def generator(tiny_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)


@pytest.fixture(scope="module")
def rows(tiny_corpus: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in tiny_corpus.read_text().splitlines()]


def text_of(row: dict[str, str]) -> str:
    return f"{row['title']}\n{row['abstract']}"


def test_absent_phrases_are_absent_and_say_where_they_come_from(
    generator: KeyphraseGenerator, rows: list[dict[str, str]]
) -> None:
    ids = {row["id"] for row in rows}
    found = 0
    for row in rows[:30]:
        text = text_of(row).replace(row["title"], "A title")
        result = generator.generate(text, settings=PAPER)
        words = f" {fold(text)} "
        for k in result.absent:
            found += 1
            assert f" {fold(k.phrase)} " not in words
            assert k.sources
            assert {s.id for s in k.sources} <= ids
            assert [s.share for s in k.sources] == sorted((s.share for s in k.sources), reverse=True)
            assert not k.spans
        assert all(k.spans for k in result.present)
    assert found > 30


def test_scores_follow_from_the_neighbourhood(generator: KeyphraseGenerator, rows: list[dict[str, str]]) -> None:
    """Recompute every score in plain Python from what the collection and the encoder say."""
    background, encoder = generator.background, generator.backend
    assert isinstance(background, Collection)
    for row in rows[:10]:
        text = text_of(row).replace(row["title"], "A title")
        around = background.neighbourhood(text, 20)
        assert around.shares.sum() == pytest.approx(1, abs=1e-5)
        phrase_share = dict(zip(around.phrase_ids.tolist(), around.phrase_shares.tolist(), strict=True))
        term_share = dict(zip(around.term_ids.tolist(), around.term_weights.tolist(), strict=True))
        result = generator.generate(text, 1000, PAPER, explain=True)
        own = {fold(k.phrase) for k in result.present if k.explanation and k.explanation.phraseness_document > 0}
        for k in result:
            e = k.explanation
            assert e is not None
            number = int(background.glossary.find(_hash(fold(k.phrase)))[0])
            neighbours = phrase_share.get(number, 0.0)
            assert e.phraseness_neighbours == pytest.approx(neighbours, rel=1e-5)
            p = 0.8 * (1 / len(own) if fold(k.phrase) in own else 0) + 0.2 * neighbours
            terms = encoder.phrase_terms([k.phrase]).ids.tolist()
            for t, term in zip(e.terms, terms, strict=True):
                assert t.neighbours == pytest.approx(term_share.get(term, 0.0), rel=1e-5)
            f = sum(0.8 * t.document + 0.2 * t.neighbours for t in e.terms) / (len(terms) + 0.25)
            omega = 1.0 if e.words_before is None else 1 + 1 / math.log2(e.words_before + 2)
            assert k.score == pytest.approx(omega * p**1.5 * f, rel=1e-5)


def _hash(folded: str) -> np.ndarray:
    from erukg.core.folding import hash_phrases

    return hash_phrases([folded])


def test_a_document_is_never_its_own_neighbour(generator: KeyphraseGenerator, rows: list[dict[str, str]]) -> None:
    for row in rows[:10]:
        by_text = generator.generate(text_of(row), 1000, PAPER)
        by_id = generator.generate(text_of(row) + " Quickly.", 1000, PAPER, id=row["id"])
        for result in (by_text, by_id):
            assert row["id"] not in {s.id for k in result.absent for s in k.sources}


def test_batch_and_threads_give_the_same(generator: KeyphraseGenerator, rows: list[dict[str, str]]) -> None:
    items = [(row["id"], text_of(row)) for row in rows]
    alone = [generator.generate(text, id=id) for id, text in items]
    assert list(generator.generate_batch(items, threads=2)) == alone
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda item: generator.generate(item[1], id=item[0]), items)) == alone


def test_extraction_leaves_the_collection_alone(generator: KeyphraseGenerator, rows: list[dict[str, str]]) -> None:
    text = text_of(rows[0])
    without = KeyphraseGenerator(generator.backend)
    assert generator.extract(text) == without.extract(text)
    assert generator.generate(text, settings=Settings(neighbours=0)).absent == ()


def test_rank_uses_neighbours_for_term_weights(generator: KeyphraseGenerator, rows: list[dict[str, str]]) -> None:
    text = text_of(rows[0])
    ranked = generator.rank(text, ["deep forest", "radar image"], Settings(alpha=0.8), explain=True)
    assert any(t.neighbours > 0 for k in ranked if k.explanation for t in k.explanation.terms)


def test_a_collection_of_another_model_is_refused(tiny_collection: Path, tmp_path: Path) -> None:
    other = write_model(tmp_path / "other", seed=1)
    with pytest.raises(CollectionError, match="another model"):
        KeyphraseGenerator.from_pretrained(other, tiny_collection)
    with pytest.raises(CollectionError):
        KeyphraseGenerator.from_pretrained(other, tmp_path / "none")
