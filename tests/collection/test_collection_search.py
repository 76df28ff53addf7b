"""Search and gathering against the definitions in plain Python, and BM25 against bm25s, number by number."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bm25s
import numpy as np
import pytest

from collection.samples import PlainCollection, WordAnalyser, make_collection, make_records, make_text
from erukg.collection import Collection, DocumentRecord
from erukg.collection.analysis import Query, analyse, stems, terms_of
from erukg.collection.search import idf
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.core.neighbours import Background
from erukg.errors import InputError

RECORDS = make_records(400, seed=1)
QUERIES = [make_text(random.Random(i), 40) for i in range(20)] + [r.text for r in RECORDS[:20]]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return Collection.open(make_collection(tmp_path_factory.mktemp("search") / "c", RECORDS, part=150, least=3))


@pytest.fixture(scope="module")
def plain() -> PlainCollection:
    return PlainCollection(RECORDS, 3)


def test_is_a_background(collection: Collection) -> None:
    background: Background = collection
    assert background.fingerprint == WordAnalyser.fingerprint
    assert len(background) == len(RECORDS)


def test_scores_are_those_of_the_formula(collection: Collection, plain: PlainCollection) -> None:
    for text in QUERIES:
        hits = collection.search(text, 50)
        expected = plain.scores(text)[:50]
        np.testing.assert_allclose(hits.scores, [s for s, _ in expected], rtol=2e-6)
        assert np.all(hits.scores[1:] <= hits.scores[:-1])
        by_number = {i: s for s, i in plain.scores(text)}
        np.testing.assert_allclose(hits.scores, [by_number[i] for i in hits.documents.tolist()], rtol=2e-6)


def test_neighbourhood_is_that_of_the_definitions(collection: Collection, plain: PlainCollection) -> None:
    for text in QUERIES:
        near = collection.neighbourhood(text, 30)
        scores = {i: s for s, i in plain.scores(text)}
        chosen = [(scores[i], i) for i in near.documents.tolist()]
        phrases, terms = plain.sums(chosen)
        total = sum(s for s, _ in chosen)
        np.testing.assert_allclose(near.shares, [s / total for s, _ in chosen], rtol=1e-5)
        assert near.shares.sum() == pytest.approx(1, abs=1e-6)
        found = dict(zip(near.phrase_ids.tolist(), near.phrase_shares.tolist(), strict=True))
        numbers = collection.glossary.find(hash_phrases(list(phrases)))
        assert sorted(found) == near.phrase_ids.tolist() == sorted(numbers.tolist())
        np.testing.assert_allclose([found[n] for n in numbers.tolist()], list(phrases.values()), rtol=1e-5)
        assert near.term_ids.tolist() == sorted(terms)
        # Weights are kept in 8 bits: within 1.2 % of limit · √w around each of them.
        np.testing.assert_allclose(near.term_weights, [terms[t] for t in sorted(terms)], rtol=0.05)


@pytest.mark.parametrize("words", [1, 4, 1000])
def test_only_the_weightiest_words_are_searched_for(collection: Collection, words: int) -> None:
    text = " ".join(QUERIES)
    query = analyse(text)
    worth = query.counts * idf(collection.frequencies(query.terms), len(collection))
    chosen = np.sort(np.argsort(-worth.astype(np.float32), kind="stable")[:words])
    assert words == 1000 or len(chosen) == words
    expected = collection.search_terms(Query(query.terms[chosen], query.counts[chosen], query.key), 30)
    near = collection.neighbourhood(text, 30, words=words)
    assert near.documents.tolist() == expected.documents.tolist()
    np.testing.assert_allclose(near.shares, expected.scores / expected.scores.sum(), rtol=1e-5)
    assert (near.documents.tolist() == collection.neighbourhood(text, 30).documents.tolist()) == (words == 1000)


def test_sources_are_the_neighbours_that_hold_the_phrase(collection: Collection, plain: PlainCollection) -> None:
    near = collection.neighbourhood(QUERIES[0], 30)
    asked = near.phrase_ids[::-1]
    found = collection.sources(near, asked)
    share = dict(zip(collection.ids(near.documents), near.shares.tolist(), strict=True))
    for form, sources in zip(collection.glossary.phrases(asked), found, strict=True):
        expected = [
            RECORDS[i].id for i in near.documents.tolist() if fold(form) in {p.fold for p in plain.encoded[i].phrases}
        ]
        assert [s.id for s in sources] == expected
        assert [s.share for s in sources] == [share[i] for i in expected]
    assert collection.sources(near, np.empty(0, np.int64)) == []


def test_glossary_holds_phrases_of_three_documents(collection: Collection, plain: PlainCollection) -> None:
    glossary = collection.glossary
    every = np.arange(len(glossary))
    folds = [fold(p) for p in glossary.phrases(every)]
    assert dict(zip(folds, glossary.counts(every).tolist(), strict=True)) == plain.glossary
    assert glossary.find(hash_phrases(folds)).tolist() == every.tolist()
    assert glossary.find(np.array([1, 2], np.uint64)).tolist() == [-1, -1]
    assert len(glossary.terms(every)) == len(glossary)
    with pytest.raises(InputError, match="phrases 0 to"):
        glossary.phrases(np.array([len(glossary)]))


def test_most_used_form_stands_for_a_phrase(tmp_path: Path) -> None:
    texts = ["graph kernels", "graph kernel", "graph kernels", "Graph Kernels deluxe", "graph kernel"]
    records = [DocumentRecord(str(i), t + f" filler{i} word{i}") for i, t in enumerate(texts)]
    glossary = Collection.open(make_collection(tmp_path / "c", records, part=2)).glossary
    number = glossary.find(hash_phrases([fold("graph kernel")]))
    assert glossary.phrases(number) == ["graph kernels"]
    assert glossary.counts(number).tolist() == [5]


def test_never_its_own_neighbour(collection: Collection) -> None:
    for record in RECORDS[:30]:
        spelt_otherwise = "  " + record.text.upper().replace(" ", ",\n") + "!"
        for text in (record.text, spelt_otherwise):
            assert record.id not in collection.ids(collection.search(text, 400).documents)
        changed = record.text + " kaka"
        assert record.id in collection.ids(collection.search(changed, 400).documents)
        assert record.id not in collection.ids(collection.search(changed, 400, exclude=record.id).documents)


def test_best_are_the_first_of_all(collection: Collection) -> None:
    for text in QUERIES[:10]:
        every = collection.search(text, 10**6)
        for n in (1, 2, 7, 100):
            some = collection.search(text, n)
            assert some.documents.tolist() == every.documents[:n].tolist()
            assert some.scores.tolist() == every.scores[:n].tolist()


def test_equal_scores_in_the_order_of_documents(tmp_path: Path) -> None:
    texts = ["kalo miren", "miren kalo", "tuvas", "kalo miren!", "miren  kalo", "kalo"] * 40
    records = [DocumentRecord(str(i), text) for i, text in enumerate(texts)]
    collection = Collection.open(make_collection(tmp_path / "c", records, part=70))
    hits = collection.search("kalo miren orpel", 90)
    for score in np.unique(hits.scores):
        same = hits.documents[hits.scores == score]
        assert same.tolist() == sorted(same.tolist())
    assert len(hits.documents) == 90
    assert hits.documents[0] == 0


def test_threads_change_nothing(tmp_path: Path) -> None:
    # More than two blocks of 4,096 documents, so that a segment is really divided.
    rng = random.Random(5)
    records = [DocumentRecord(str(i), make_text(rng, 6)) for i in range(9_000)]
    folder = make_collection(tmp_path / "c", records, part=8_500)
    one, many = Collection.open(folder), Collection.open(folder, threads=3)
    texts = [make_text(rng, 30) for _ in range(12)]
    expected = [one.search(text, 100) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for search in (one.search, many.search):
            for hits, other in zip(pool.map(search, texts, [100] * len(texts)), expected, strict=True):
                assert hits.documents.tolist() == other.documents.tolist()
                assert hits.scores.tolist() == other.scores.tolist()
    with pytest.raises(InputError, match="at least 1 thread"):
        Collection.open(folder, threads=0)


def test_large_term_frequencies(tmp_path: Path) -> None:
    texts = [" ".join(["kalo"] * n + ["miren"]) for n in (1, 2, 3, 16, 17, 18, 19, 300, 70_000)]
    records = [DocumentRecord(str(i), t) for i, t in enumerate(texts)]
    folder = make_collection(tmp_path / "c", records, part=4)
    hits = Collection.open(folder).search("kalo tuvas", 20)
    expected = PlainCollection(records).scores("kalo tuvas")
    # Frequencies above 65,535 count as 65,535, which changes a score by less than one part in 10^4.
    np.testing.assert_allclose(hits.scores, [s for s, _ in expected], rtol=1e-4)


def test_nothing_to_find(collection: Collection) -> None:
    for text in ("", "the of and", "unheardof", "\x00", "日本語"):
        near = collection.neighbourhood(text, 10)
        assert len(near.documents) == len(near.phrase_ids) == len(near.term_ids) == 0
        assert collection.sources(near, np.array([0])) == [()]
    assert len(collection.search(QUERIES[0], 0).documents) == 0


def test_agrees_with_bm25s(tmp_path: Path) -> None:
    records = make_records(3_000, seed=9)
    collection = Collection.open(make_collection(tmp_path / "c", records, part=1_000))
    corpus = [stems(r.text) for r in records]
    numbers = {stem: i for i, stem in enumerate(sorted({s for doc in corpus for s in doc}))}
    retriever = bm25s.BM25(method="lucene", k1=0.9, b=0.4)
    retriever.index(([[numbers[s] for s in doc] for doc in corpus], numbers), show_progress=False)
    rng = random.Random(3)
    found_all, shown = 0, 0
    for _ in range(100):
        text = make_text(rng, 60)
        query = [numbers[s] for s in stems(text) if s in numbers]
        documents, scores = retriever.retrieve([query], k=100, show_progress=False)
        hits = collection.search(text, 100)
        np.testing.assert_allclose(hits.scores, scores[0], rtol=1e-5)
        # Documents that tie with the last one are interchangeable.
        sure = documents[0][scores[0] > scores[0][-1] * (1 + 1e-5)]
        found_all += int(np.isin(sure, hits.documents).sum())
        shown += len(sure)
    assert found_all == shown > 5_000


def test_analysis() -> None:
    assert stems("The Running of peer-to-peer Networks' caches, and networks’ cache!") == [
        "run",
        "peer",
        "peer",
        "network",
        "cach",
        "network",
        "cach",
    ]
    assert terms_of("networks").tolist() == terms_of("NETWORK").tolist()
    assert len(terms_of("the is a")) == 0
    query = analyse("cache caches network")
    assert sorted(query.counts.tolist()) == [1, 2]
    assert query.terms.tolist() == sorted(query.terms.tolist())
    assert analyse("a b, c").key == analyse("B\nc").key != analyse("c b").key


def test_analysis_from_many_threads() -> None:
    texts = [make_text(random.Random(i), 200) for i in range(40)]
    expected = [stems(t) for t in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(stems, texts)) == expected
        numbers = list(pool.map(terms_of, texts))
    assert all(np.array_equal(n, terms_of(t)) for n, t in zip(numbers, texts, strict=True))
