"""The paper's pipeline has the same weights, neighbours and kinds of phrases as what it is compared with."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from erukg.collection import Collection
from erukg.collection.reader import Hits
from erukg.core.settings import Settings
from erukg.errors import InputError, ModelError
from erukg.research.benchmark import Plan
from erukg.research.benchmark.competitors import load_competitors
from erukg.research.benchmark.lucene import LuceneProgram
from erukg.research.benchmark.paper_pipeline import PaperPipeline, PlainCollection
from erukg.taggers import Tagger

TEXT = "Sparse retrieval of documents\nWe propose a fast index for the neural network and a distributed file system."


def test_term_weights_are_those_of_the_model(torch_weights: Path, tagger: Tagger) -> None:
    import torch

    from erukg.training.base import load_base

    pipeline = PaperPipeline(torch_weights, tagger)
    model, _ = load_base(torch_weights)
    ids = torch.tensor([pipeline._tokenizer.encode(TEXT).ids])
    with torch.no_grad():
        expected = model.eval().terms(model.encode(ids, torch.ones_like(ids, dtype=torch.bool)))[0]
    found = pipeline.term_weights(TEXT)
    assert sorted(found) == torch.nonzero(expected)[:, 0].tolist()
    assert [found[t] for t in sorted(found)] == pytest.approx(expected[expected > 0].tolist(), rel=1e-3, abs=1e-4)


def test_noun_phrases_follow_the_grammar(torch_weights: Path, tagger: Tagger) -> None:
    phrases = PaperPipeline(torch_weights, tagger).noun_phrases(TEXT)
    assert list(phrases) == [
        "sparse retrieval", "documents", "fast index", "neural network", "distributed file system",
    ]  # fmt: skip
    assert phrases["fast index"] == 7


def test_the_plain_collection_is_the_same_collection(tiny_collection: Path) -> None:
    ours, plain = Collection.open(tiny_collection), PlainCollection(tiny_collection)
    assert len(plain) == len(ours)
    hits = ours.search(TEXT, 10)
    found = plain.search(TEXT, 10)
    assert [score for _, score in found] == pytest.approx(hits.scores.tolist(), rel=1e-3)
    first = int(hits.documents[0])
    known = ours.gather(Hits(np.array([first]), np.ones(1, np.float32)))
    assert plain.weights(first) == dict(zip(known.term_ids.tolist(), known.term_weights.tolist(), strict=True))
    assert plain.phrases(first) == ours.glossary.phrases(known.phrase_ids)
    assert plain.search("", 10) == []


def test_it_may_search_with_lucene(tiny_collection: Path, lucene: LuceneProgram) -> None:
    by_bm25s, by_lucene = PlainCollection(tiny_collection), PlainCollection(tiny_collection, lucene=lucene, keep=5)
    try:
        found = by_lucene.search(TEXT, 3)
        assert len(found) == 3
        # Lucene rounds the lengths of documents, so near ones change places.
        assert {document for document, _ in found} < {document for document, _ in by_bm25s.search(TEXT, 20)}
    finally:
        by_lucene.close()


def test_generation_finds_absent_phrases_and_extraction_none(
    torch_weights: Path, tagger: Tagger, tiny_collection: Path
) -> None:
    pipeline = PaperPipeline(torch_weights, tagger, PlainCollection(tiny_collection))
    present, absent = pipeline.generate(TEXT, 5)
    assert 0 < len(present) <= 5
    assert 0 < len(absent) <= 5
    assert not set(present) & set(absent)
    assert all(phrase in TEXT.lower() for phrase in present)
    assert not any(phrase in TEXT.lower() for phrase in absent)
    assert pipeline.generate(TEXT, 5, neighbours=0)[1] == []
    assert pipeline.generate("") == ([], [])


def test_neighbours_phrases_are_cut_down_by_phraseness(
    torch_weights: Path, tagger: Tagger, tiny_collection: Path
) -> None:
    """Eq. 10: what the text has too comes first among them, for its share of the text."""
    plain = PlainCollection(tiny_collection)
    everything = PaperPipeline(torch_weights, tagger, plain, Settings.paper(neighbour_candidates=1000))
    # Most of the text is about one topic, and a phrase is from another.
    text = f"We propose {' and '.join(plain.phrases(0))}. It is not the {plain.phrases(1)[0]}."
    own, shares = everything.noun_phrases(text), dict[str, float]()
    hits = plain.search(text, 100)
    for document, score in hits:
        for phrase in plain.phrases(document):
            share = score / sum(s for _, s in hits) / len(plain.phrases(document))
            shares[phrase] = shares.get(phrase, 0.0) + share
    by_share = sorted(shares, key=lambda c: -shares[c])
    rank = sorted(shares, key=lambda c: -(0.8 * (c in own) / len(own) + 0.2 * shares[c]))
    k = next(n for n in range(1, len(rank)) if set(rank[:n]) != set(by_share[:n]))
    few = PaperPipeline(torch_weights, tagger, plain, Settings.paper(neighbour_candidates=k))
    absent = [phrase for phrase in everything.generate(text, 1000)[1] if phrase in rank[:k]]
    assert few.generate(text, 1000)[1] == absent
    assert not set(by_share[:k]) <= {*own, *absent}


def test_it_competes_in_extraction_and_with_a_collection_in_generation(
    torch_weights: Path, tagger: Tagger, tiny_collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("erukg.research.benchmark.paper_pipeline.load_tagger", lambda name: tagger)
    plan = dataclasses.replace(Plan.quick(), against=("paper",), weights=torch_weights)
    competitors = load_competitors(plan, TEXT, tiny_collection)
    sizes = (10, 50, 100, 400)
    assert list(competitors.systems) == ["paper, extract", *(f"paper, generate N={n}" for n in sizes)]
    assert not competitors.not_run
    alone = load_competitors(plan, TEXT, None)
    assert list(alone.systems) == ["paper, extract"]
    assert alone.not_run == {"paper, generation": "not run: no collection"}


def test_what_is_missing_is_said(tmp_path: Path, tagger: Tagger, torch_weights: Path) -> None:
    with pytest.raises(ModelError, match="no model folder"):
        PaperPipeline(tmp_path, tagger)
    with pytest.raises(InputError, match="no tagger 'brill'"):
        PaperPipeline(torch_weights, "brill")
