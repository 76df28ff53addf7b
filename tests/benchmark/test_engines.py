"""Other search engines over numbered terms, against BM25 written out, and in turns with the collection's search."""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from erukg.cli import app
from erukg.errors import ErukgError, InputError
from erukg.research.benchmark.engines import Bm25s, Engine, Tantivy, TermLists
from erukg.research.benchmark.lucene import Lucene, LuceneProgram
from erukg.research.benchmark.search_timing import ENGINES, choose_engines, compare_search
from tiny import write_corpus

KEEP = 20


def make_documents(lengths: list[int], n: int = 300, terms: int = 200) -> TermLists:
    """Documents of these lengths, some terms far more frequent than others."""
    rng = np.random.default_rng(4)
    sizes = rng.choice(lengths, n)
    numbers = (terms * rng.random(sizes.sum()) ** 3).astype(np.int32)
    return TermLists(numbers, np.concatenate(([0], np.cumsum(sizes))), terms)


def plain_scores(documents: TermLists, query: NDArray[np.int32], k1: float, b: float) -> list[float]:
    counts = [Counter(documents[i].tolist()) for i in range(len(documents))]
    mean = len(documents.numbers) / len(documents)
    scores = [0.0] * len(documents)
    for term, weight in Counter(query.tolist()).items():
        frequency = sum(term in count for count in counts)
        idf = math.log(1 + (len(documents) - frequency + 0.5) / (frequency + 0.5))
        for i, count in enumerate(counts):
            tf = count[term]
            scores[i] += weight * idf * tf / (tf + k1 * (1 - b + b * count.total() / mean))
    return scores


def check(engine: Engine, documents: TermLists, k1: float, b: float, factor: float) -> None:
    """The best scores in order, each the score of its document."""
    queries = [documents[i] for i in range(0, 60, 3)]
    seconds, found = engine.search(queries)
    assert seconds > 0
    assert len(found) == len(queries)
    for query, (numbers, scores) in zip(queries, found, strict=True):
        plain = np.array(plain_scores(documents, query, k1, b)) * factor
        np.testing.assert_allclose(scores, np.sort(plain)[::-1][:KEEP], rtol=1e-4)
        np.testing.assert_allclose(scores, plain[numbers], rtol=1e-4)


def test_bm25s_over_numbered_terms(tmp_path: Path) -> None:
    documents = make_documents(list(range(3, 90)))
    check(Bm25s(documents, KEEP, tmp_path), documents, 0.9, 0.4, 1)


def test_tantivy_is_bm25_with_its_own_constants(tmp_path: Path) -> None:
    # Up to 40 terms a length is kept as it is.
    documents = make_documents(list(range(3, 41)))
    engine = Tantivy(documents, KEEP, tmp_path)
    assert engine.searcher.num_segments == 1
    check(engine, documents, 1.2, 0.75, 2.2)
    engine.close()


def test_engines_take_turns_with_the_collection(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "corpus.jsonl")
    found = list(compare_search([source], [60, 120], ENGINES, queries=55, neighbours=20))
    assert [timing["documents"] for timing in found] == [60, 120]
    for timing in found:
        assert timing["recall"] == 1
        assert timing["error"] is not None
        assert timing["error"] < 1e-5
        assert list(timing["engines"]) == ["bm25s", "tantivy"]
        for engine in timing["engines"].values():
            assert engine["queries"] == timing["queries"] == 55
            assert engine["ratio"] == pytest.approx(engine["ms"] / timing["erukg_ms"])
            assert engine["recall"] is not None
            assert 0.6 < engine["recall"] <= 1
    with pytest.raises(InputError, match="hold 120 documents, fewer than"):
        list(compare_search([source], [121], {}))


def test_a_slow_engine_gets_fewer_queries(tmp_path: Path) -> None:
    source = write_corpus(tmp_path / "corpus.jsonl")
    (timing,) = compare_search([source], [120], {"tantivy": Tantivy}, queries=55, engine_seconds=1e-9)
    assert timing["engines"]["tantivy"]["queries"] == 1
    assert timing["queries"] == 55
    assert timing["recall"] is None
    assert timing["engines"]["tantivy"]["recall"] is None


def test_a_jar_without_lucene_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.jar", "w") as jar:
        jar.writestr("Other.class", b"")
    with pytest.raises(InputError, match=r"no Lucene in .*other\.jar"):
        choose_engines("", [str(tmp_path / "other.jar")])


def test_lucene_is_bm25(lucene: LuceneProgram, tmp_path: Path) -> None:
    # Version 4 keeps one over the root of a length in 8 bits, which these lengths survive unharmed.
    documents = make_documents([4, 16, 64])
    engine = Lucene(lucene, documents, KEEP, tmp_path)
    try:
        check(engine, documents, 0.9, 0.4, 1.9 if lucene.calls == "lucene4" else 1)
        engine.process.kill()
        engine.process.wait()
        with pytest.raises(ErukgError, match="The program with Lucene ended"):
            engine.search([documents[0]])
    finally:
        engine.close()


def test_lucene_from_the_command_line(lucene: LuceneProgram, tiny_corpus: Path) -> None:
    arguments = ["benchmark", "search", str(tiny_corpus), "--sizes", "60", "--queries", "10", "--lucene", lucene.jars]
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert lucene.name.startswith("lucene ")
    assert f"{lucene.name}: one segment, BM25Similarity(0.9, 0.4)" in result.output
    assert "--lucene JAR" not in result.output
