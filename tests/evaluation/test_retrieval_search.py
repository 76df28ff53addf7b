"""BM25, RM3, fields, weighted queries and vectors against numbers worked out by hand and bm25s; measures likewise."""

from __future__ import annotations

import math

import bm25s
import numpy as np
import pytest

from erukg.collection.analysis import stems
from erukg.core.query_expansion import ExpandedQuery, SearchPhrase
from erukg.errors import InputError
from erukg.research.evaluation.retrieval.index import Fields, Index, TokenisedCorpus, query_weights
from erukg.research.evaluation.retrieval.measures import average, score
from erukg.research.evaluation.retrieval.queries import fused, weighted
from erukg.research.evaluation.retrieval.rm3 import RM3
from erukg.research.evaluation.retrieval.sparse_search import SparseIndex, fuse

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
    documents = {*many, "d1", "d2", "d3", "d9"}
    scores = score("s", ["a", "b", "c"], qrels, run, documents)
    ideal = 2 + 1 / math.log2(3)
    expected = (2 / math.log2(3) + 1 / math.log2(4)) / ideal
    assert scores.by_query["nDCG@10"] == pytest.approx([expected, 0, 0])
    assert scores.by_query["R@100"].tolist() == [1, 0, 0]
    assert scores.by_query["R@1000"].tolist() == [1, 0, 0.5]
    assert scores["R@1000"] == 0.5
    assert average([scores, score("t", ["b"], qrels, {"b": {"d1": 1.0}}, documents)])["R@1000"] == 0.75
    # All of so few documents come among the first 1,000, but not one that the corpus lacks.
    assert scores.by_query["R@1000 padded"].tolist() == [1, 1, 0.5]


def test_padded_recall_is_the_mean_over_random_orders() -> None:
    documents = [f"d{i}" for i in range(4000)]
    qrels = {"q": dict.fromkeys(["d0", "d1", "d3998", "d3999", "lost"], 1)}
    few = {"q": {f"d{i}": 1000.0 - i for i in range(400)}}
    padded = score("s", ["q"], qrels, few, set(documents)).by_query["R@1000 padded"]
    # Two of five are found; 600 more places for 3,600 documents, two of them relevant.
    assert padded == pytest.approx([2 / 5 + 2 / 5 * 600 / 3600])
    found = []
    for seed in range(300):
        order = np.random.default_rng(seed).permutation(3600)[:600] + 400
        filled = few["q"] | {f"d{number}": -float(place) for place, number in enumerate(order)}
        found.append(score("s", ["q"], qrels, {"q": filled}, set(documents))["R@1000"])
    assert np.mean(found) == pytest.approx(padded[0], abs=0.02)
    # More documents of no use gain nothing, where recall itself cannot tell.
    more = {"q": few["q"] | {f"d{i}": 0.1 for i in range(400, 1000)}}
    assert score("s", ["q"], qrels, more, set(documents))["R@1000 padded"] < padded[0]
    assert score("s", ["q"], qrels, more, set(documents))["R@1000"] == pytest.approx(2 / 5)


def test_equal_scores_are_ordered_as_trec_eval_does() -> None:
    scores = score("s", ["q"], {"q": {"b": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}, {"a", "b", "c"})
    assert scores["nDCG@10"] == pytest.approx(1 / math.log2(3))


def test_a_field_has_its_own_statistics() -> None:
    texts, phrases = random_texts(40, 1), [f"{WORDS[i % 5]} only{i}" for i in range(40)]
    corpus = TokenisedCorpus.of(texts)
    text, field = Index(corpus), Index(corpus.field(phrases))
    alone = Index(TokenisedCorpus.of(phrases))
    both = Fields(text, field, 0.4)
    for query in ({"cat": 1.0, "dog": 0.3}, {"only7": 2.0}, {"lamp": 1.0}):
        expected = text.scores(query) + 0.4 * alone.scores(query)
        assert both.scores(query) == pytest.approx(expected)
    assert field.numbers["cat"] == text.numbers["cat"]
    assert both.scores({"only7": 1.0}).nonzero()[0].tolist() == [7]
    with pytest.raises(InputError, match="3 texts to add to 40"):
        corpus.field(phrases[:3])


EXPANDED = ExpandedQuery(
    "Sea ice of the sea",
    (
        SearchPhrase("sea ice", "present", 0.5),
        SearchPhrase("frozen oceans", "absent", 0.2),
        SearchPhrase("polar", "term", 0.1),
    ),
)


def test_weighted_queries_by_hand() -> None:
    assert weighted(EXPANDED) == pytest.approx({"sea": 2.5, "ice": 1.5, "frozen": 0.2, "ocean": 0.2, "polar": 0.1})


def test_fused_queries_by_hand() -> None:
    index = Index(TokenisedCorpus.of(["sea lamp", *(f"other{i}" for i in range(30))]))
    found = fused(EXPANDED, RM3(terms=30), index)
    # The relevance model is that of one document, half "sea" and half "lamp".
    expected = {
        "sea": 0.35 * 2 / 3 + 0.3 / 2 + 0.2 / 2,
        "ice": 0.35 / 3 + 0.2 / 2,
        "lamp": 0.3 / 2,
        "frozen": 0.05 / 2,
        "ocean": 0.05 / 2,
        "polar": 0.1,
    }
    assert found == pytest.approx(expected)
    assert sum(found.values()) == pytest.approx(1)


def test_sparse_search_by_hand() -> None:
    index = SparseIndex([([3, 1], [0.5, 0.25]), ([1], [2.0]), ([], [])], "model", 5)
    # One vector has no term and does not count. Of the other two, term 1 is in both and term 3 in one.
    assert index.counts.idf()[[3, 1]] == pytest.approx([math.log(1 + 1.5 / 1.5), math.log(1 + 0.5 / 2.5)])
    assert index.scores(([3, 1, 4], [1.0, 2.0, 9.0])) == pytest.approx([0.5 + 0.5, 4, 0])


def test_scores_are_fused_on_one_scale() -> None:
    both = fuse(np.array([0.0, 2.0, 4.0, 0.0]), np.array([30.0, 10.0, 20.0, 10.0]))
    assert both.tolist() == [0.5, 0.25, 0.75, 0.0]
    assert fuse(np.zeros(3), np.array([0.0, 1.0, 0.0])).tolist() == [0, 0.5, 0]
