"""BM25 and RM3 against numbers worked out by hand and against bm25s; trec_eval's measures likewise."""

from __future__ import annotations

import math

import bm25s
import numpy as np
import pytest

from erukg.collection.analysis import stems
from erukg.errors import InputError
from erukg.research.evaluation.retrieval.index import Index, TokenisedCorpus, query_weights
from erukg.research.evaluation.retrieval.measures import average, score
from erukg.research.evaluation.retrieval.rm3 import RM3

WORDS = "cat dog bird fish tree river stone cloud wind snow fire lamp".split()


def random_texts(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(n)]


def test_bm25_by_hand() -> None:
    index = Index(TokenisedCorpus.of(["The cat and a cat and the dogs", "dog", "bird, cat, fish: fish!"]))
    found = index.search(query_weights("cats"), 10)
    # N = 3, df = 2: ln(1 + 1.5 / 2.5) = ln 1.6; lengths 3, 1, 4 with mean 8/3.
    # d0: K = 0.9 (0.6 + 0.4 · 9/8) = 0.945, tf = 2;  d2: K = 0.9 (0.6 + 0.4 · 3/2) = 1.08, tf = 1.
    assert found.documents.tolist() == [0, 2]
    assert found.scores == pytest.approx([0.4700036 * 2 / 2.945, 0.4700036 / 2.08], rel=1e-6)
    twice = index.search({"cat": 2.0, "unicorn": 5.0}, 10)
    assert twice.scores == pytest.approx(2 * found.scores)
    assert index.terms_of(2) == {"bird": 1, "cat": 1, "fish": 2}


@pytest.mark.parametrize("seed", range(5))
def test_bm25_agrees_with_bm25s(seed: int) -> None:
    texts = random_texts(60, seed)
    ours = Index(TokenisedCorpus.of(texts))
    theirs = bm25s.BM25(method="lucene", k1=0.9, b=0.4, dtype="float64")
    theirs.index([stems(text) for text in texts], show_progress=False)
    for query in random_texts(20, seed + 100):
        expected = theirs.get_scores(stems(query)) if stems(query) else np.zeros(len(texts))
        found = ours.search(query_weights(query), len(texts))
        assert found.scores == pytest.approx(expected[found.documents], rel=1e-5)
        assert set(found.documents.tolist()) == set(np.flatnonzero(expected > 0).tolist())
        few = ours.search(query_weights(query), 7)
        assert few.documents.tolist() == found.documents.tolist()[:7]


def test_of_equal_scores_the_earlier_document_stays() -> None:
    index = Index(TokenisedCorpus.of(["dog", *["cat"] * 50]))
    assert index.search({"cat": 1.0}, 3).documents.tolist() == [1, 2, 3]


def test_an_extended_corpus_is_that_of_the_longer_texts() -> None:
    texts, more = random_texts(30, 1), random_texts(30, 2)
    longer = Index(TokenisedCorpus.of([f"{a}\n{b}" for a, b in zip(texts, more, strict=True)]))
    base = TokenisedCorpus.of(texts)
    extended = Index(base.extended(more))
    for query in random_texts(10, 3):
        a, b = longer.search(query_weights(query), 30), extended.search(query_weights(query), 30)
        assert a.documents.tolist() == b.documents.tolist()
        assert a.scores == pytest.approx(b.scores)
    with pytest.raises(InputError, match="one for each"):
        base.extended(more[:3])


@pytest.mark.parametrize("texts", [[], [""], ["", "the of"]])
def test_nothing_is_found_in_nothing(texts: list[str]) -> None:
    index = Index(TokenisedCorpus.of(texts))
    assert index.search({"cat": 1.0}, 5).documents.size == 0
    assert RM3().expand({"cat": 2.0}, index) == {"cat": 1.0}
    assert RM3().expand({}, index) == {}


def feedback_index() -> Index:
    fillers = [f"filler{i}a filler{i}b filler{i}c" for i in range(18)]
    return Index(TokenisedCorpus.of(["alpha beta beta gamma", "alpha delta", *fillers]))


def test_rm3_by_hand() -> None:
    # N = 20, mean length 3, df = 2: idf = ln(1 + 18.5 / 2.5) = 2.1282317.
    # d0: K = 0.9 (0.6 + 0.4 · 4/3) = 1.02, score 1.0535801;  d1: K = 0.9 (0.6 + 0.4 · 2/3) = 0.78, score 1.1956358.
    # Two best terms of d0: beta 2/3 and alpha 1/3 (before gamma by the alphabet); of d1: alpha ½, delta ½.
    # alpha 1.0535801/3 + 1.1956358/2 = 0.9490113, beta 0.7023867, delta 0.5978179; the two best, to the sum 1:
    model = RM3(documents=2, terms=2).relevance_model({"alpha": 1.0}, feedback_index())
    assert model == pytest.approx({"alpha": 0.5746712, "beta": 0.4253288}, rel=1e-5)
    mixed = RM3(documents=2, terms=2).expand({"alpha": 3.0, "omega": 1.0}, feedback_index())
    assert mixed == pytest.approx({"alpha": 0.375 + 0.5 * 0.5746712, "beta": 0.5 * 0.4253288, "omega": 0.125}, rel=1e-5)


def test_rm3_finds_a_document_without_a_query_term() -> None:
    texts = ["sonar whale", "whale whale blubber", "blubber lamp", *(f"other{i}" for i in range(30))]
    index = Index(TokenisedCorpus.of(texts))
    assert index.search(query_weights("sonar"), 10).documents.tolist() == [0]
    assert index.search(RM3().expand(query_weights("sonar"), index), 10).documents.tolist()[:2] == [0, 1]


def test_rm3_leaves_out_common_words_and_odd_spellings() -> None:
    texts = ["query common x é12 straße " + "z" * 25, *["common thing"] * 5, *(f"other{i}" for i in range(14))]
    assert RM3().relevance_model({"queri": 1.0}, Index(TokenisedCorpus.of(texts))) == {"queri": 1.0}


def test_measures_by_hand() -> None:
    qrels = {"a": {"d1": 2, "d3": 1, "d9": 0}, "b": {"d1": 1}, "c": {"r": 1, "lost": 1}}
    many = {f"x{i:03}": 1000.0 - i for i in range(150)} | {"r": 880.5}
    run = {"a": {"d2": 3.0, "d1": 2.0, "d3": 1.0}, "b": {}, "c": many, "unasked": {"d1": 1.0}}
    scores = score("s", ["a", "b", "c"], qrels, run)
    ideal = 2 + 1 / math.log2(3)
    expected = (2 / math.log2(3) + 1 / math.log2(4)) / ideal
    assert scores.by_query["nDCG@10"] == pytest.approx([expected, 0, 0])
    assert scores.by_query["R@100"].tolist() == [1, 0, 0]
    assert scores.by_query["R@1000"].tolist() == [1, 0, 0.5]
    assert scores["R@1000"] == 0.5
    assert average([scores, score("t", ["b"], qrels, {"b": {"d1": 1.0}})])["R@1000"] == 0.75


def test_equal_scores_are_ordered_as_trec_eval_does() -> None:
    scores = score("s", ["q"], {"q": {"b": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}})
    assert scores["nDCG@10"] == pytest.approx(1 / math.log2(3))
