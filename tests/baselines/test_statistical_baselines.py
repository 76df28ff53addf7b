"""TF-IDF with frequencies counted by hand, and YAKE through its package."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from erukg.errors import InputError
from erukg.research.baselines import tfidf
from erukg.research.baselines.tagged import Reader
from erukg.research.baselines.tfidf import Frequencies, FrequencyCorpus, TfIdf
from erukg.research.baselines.yake import Yake, with_stops

CORPUS = [
    "Neural networks read documents.",
    "A neural network and a cache.",
    "The cache of a graph: cache, cache.",
    "Documents in an archive.",
]
ODD = ("", " \n\t ", "...", "the of and", "1 2 3", "\x00\ufffd \ud83d", "(" * 500)


@pytest.fixture(scope="module")
def reader(tiny_model: Path) -> Reader:
    return Reader(model=str(tiny_model))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": str(i), "text": t}) + "\n" for i, t in enumerate(CORPUS)))
    return path


def test_frequencies_count_documents_not_occurrences() -> None:
    table = Frequencies.count(CORPUS)
    assert table.documents == 4
    phrases = [
        ["neural"],
        ["neural", "network"],
        ["cach"],
        ["document"],
        ["neural", "cach"],
        ["a", "neural", "network"],
    ]
    assert table.of(phrases).tolist() == [2, 2, 2, 2, 0, 1]
    assert Frequencies.count([]).of([["x"]]).tolist() == [0]


def test_frequencies_are_the_same_however_they_are_batched(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Frequencies.count(CORPUS)
    monkeypatch.setattr(tfidf, "_BATCH", 1)
    parts = Frequencies.count(iter(CORPUS))
    assert np.array_equal(whole.hashes, parts.hashes)
    assert np.array_equal(whole.counts, parts.counts)


def test_what_was_seen_once_is_let_go_when_there_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tfidf, "_MOST", 5)
    few = Frequencies.count(CORPUS[:2])
    assert few.of([["neural", "network"], ["document"]]).tolist() == [2, 0]


def test_tfidf_by_hand(reader: Reader, corpus: Path) -> None:
    text = "A cache for neural networks\nThe neural network is fast. The satellite cache is a cache."
    found = dict(TfIdf(FrequencyCorpus(str(corpus)), reader).extract(text))
    assert found == {
        "cache": pytest.approx(3 * math.log2(5 / 3)),  # in the satellite cache too
        "neural networks": pytest.approx(2 * math.log2(5 / 3)),
        "satellite cache": pytest.approx(1 * math.log2(5 / 1)),
    }
    assert list(found) == sorted(found, key=lambda form: -found[form])
    # Only the first two documents: the cache is then in one of two.
    first = dict(TfIdf(FrequencyCorpus(str(corpus), 2), reader).extract(text))
    assert first["cache"] == pytest.approx(3 * math.log2(3 / 2))


def test_tfidf_of_odd_texts_and_bad_corpora(reader: Reader, corpus: Path, tmp_path: Path) -> None:
    system = TfIdf(FrequencyCorpus(str(corpus)), reader)
    for text in ODD:
        assert system.extract(text) == []
    assert system.extract("Index", 0) == []
    form, score = system.extract("Radar\u00ad images: peer-to-peer <i>search</i>")[0]
    assert form
    assert score > 0
    assert system.extract("Radar images") == TfIdf(FrequencyCorpus(str(corpus)), reader).extract("Radar images")
    with pytest.raises(InputError, match="no corpus"):
        FrequencyCorpus(str(tmp_path / "none.jsonl")).describe()
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "1"\n')
    with pytest.raises(InputError, match=r"bad\.jsonl"):
        TfIdf(FrequencyCorpus(str(bad)), reader).extract("Radar images")
    assert FrequencyCorpus(str(corpus)).describe()["documents"] == 50_000


def test_lines_that_end_without_a_stop_get_one() -> None:
    assert with_stops("Sparse index\nWe read.") == "Sparse index.\nWe read."
    wrapped = (
        "We propose a cache for the sparse index of a large archive, and compare\n"
        "the cache with a neural network that reads every document of the same\n"
        "archive once."
    )
    for whole in ("", "Sparse index", "Is it?\nWe read.", wrapped):
        assert with_stops(whole) == whole


def test_yake_scores_fall_and_stay_above_zero() -> None:
    pytest.importorskip("yake")
    text = (
        "Sparse retrieval of documents\nSparse retrieval finds documents by a sparse index. "
        "We propose a cache for the sparse index, and compare the cache with a neural network."
    )
    found = Yake().extract(text, 8)
    assert not any("documents sparse" in phrase.lower() for phrase, _ in found)  # title and text are apart
    assert len(found) == 8
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert any("sparse" in phrase.lower() for phrase, _ in found[:3])
    assert all(phrase.lower() in text.lower() for phrase, _ in found)
    assert found[:3] == Yake().extract(text, 3)
    assert all(len(phrase.split()) == 1 for phrase, _ in Yake(max_words=1).extract(text))
    assert Yake().extract(text, 0) == []
    for odd in ODD:
        assert all(score > 0 for _, score in Yake().extract(odd))
    assert Yake().extract("") == []
