"""TextRank, PositionRank and MultipartiteRank against graphs worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erukg.research.baselines.multipartiterank import MultipartiteRank, adjust, distance_weights, topics
from erukg.research.baselines.pagerank import cooccurrences, pagerank
from erukg.research.baselines.positionrank import PositionRank, position_weights
from erukg.research.baselines.tagged import Phrase, Reader
from erukg.research.baselines.textrank import TextRank, joined

TEXT = (
    "Sparse retrieval of documents\n"
    "We propose a sparse index for document retrieval. The sparse index is small and exact. "
    "Neural network models of documents are large; the index is not."
)


@pytest.fixture(scope="module")
def reader(tiny_model: Path) -> Reader:
    return Reader(model=str(tiny_model))


def undirected(*pairs: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = np.array(pairs).T
    return np.r_[a, b], np.r_[b, a], np.ones(2 * len(pairs))


def test_pagerank_of_a_path_is_the_solution_of_its_equations() -> None:
    # b = 0.05 + 0.85·2a and a = 0.05 + 0.85·b/2, so b = 0.135 / 0.2775.
    b = 0.135 / 0.2775
    assert pagerank(*undirected((0, 1), (1, 2)), 3) == pytest.approx([(1 - b) / 2, b, (1 - b) / 2])


def test_pagerank_without_edges_or_nodes() -> None:
    none = np.zeros(0, np.int64)
    assert pagerank(none, none, np.zeros(0), 4) == pytest.approx([0.25] * 4)
    assert pagerank(none, none, np.zeros(0), 2, np.array([3.0, 1.0])) == pytest.approx([0.75, 0.25])
    assert len(pagerank(none, none, np.zeros(0), 0)) == 0


def test_pagerank_agrees_with_networkx() -> None:
    networkx = pytest.importorskip("networkx")
    rng = np.random.default_rng(1)
    for n in (2, 5, 30):
        matrix = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
        matrix[0] = 0  # a node that leads nowhere
        teleport = rng.random(n)
        graph = networkx.from_numpy_array(matrix, create_using=networkx.DiGraph)
        sources, targets = np.nonzero(matrix)
        ours = pagerank(sources, targets, matrix[sources, targets], n, teleport)
        theirs = networkx.pagerank(graph, 0.85, dict(enumerate(teleport)), 1000, 1e-12)
        assert ours == pytest.approx([theirs[i] for i in range(n)], abs=1e-8)


def edges(nodes: list[int], window: int) -> dict[tuple[int, int], float]:
    a, b, counts = cooccurrences(np.array(nodes, np.int64), window)
    return dict(zip(zip(a.tolist(), b.tolist(), strict=True), counts.tolist(), strict=True))


def test_cooccurrences_count_pairs_inside_the_window() -> None:
    nodes = [0, -1, 1, 0, 0, 2]
    assert edges(nodes, 2) == {(0, 1): 1, (1, 0): 1, (0, 2): 1, (2, 0): 1}
    assert edges(nodes, 3) == {(0, 1): 3, (1, 0): 3, (0, 2): 2, (2, 0): 2}
    assert edges(nodes, 100) == {(0, 1): 3, (1, 0): 3, (0, 2): 3, (2, 0): 3, (1, 2): 1, (2, 1): 1}
    assert edges([0], 10) == edges([], 10) == edges(nodes, 1) == {}


def test_textrank_sums_the_ranks_of_linked_words(reader: Reader) -> None:
    # sparse – index, index – document, nothing else: a path with "index" in the middle.
    text = "A sparse index of the index documents"
    middle = 0.135 / 0.2775
    end = (1 - middle) / 2
    forms, values = zip(*TextRank(reader).extract(text), strict=True)
    assert forms == ("sparse index", "index documents")
    assert values == pytest.approx((middle + end, middle + end))
    assert TextRank(reader, normalise=True).extract(text, 1)[0][1] == pytest.approx((middle + end) / 2)
    # The best third of three words is "index" alone.
    ((form, value),) = TextRank(reader, share=1 / 3).extract(text)
    assert form == "index"
    assert value == pytest.approx(middle)


def test_kept_words_are_joined_where_nothing_parts_them(reader: Reader) -> None:
    tagged = reader.read("Deep neural network. Network graphs, deep Neural networks")
    assert joined(tagged, tagged.content) == {
        ("deep", "neural", "network"): "Deep neural network",
        ("network", "graph"): "Network graphs",
    }


def test_positions_weigh_early_and_frequent_words(reader: Reader) -> None:
    tagged = reader.read("The index of sparse index documents")
    assert tagged.nodes[1] == ["index", "spars", "document"]
    assert position_weights(tagged) == pytest.approx([1 / 2 + 1 / 5, 1 / 4, 1 / 6])


def test_positionrank_takes_adjectives_then_nouns_of_at_most_three_words(reader: Reader) -> None:
    text = "Index sparse documents of large deep neural network models with a random graph"
    found = dict(PositionRank(reader).extract(text))
    assert set(found) == {"Index", "sparse documents", "random graph"}
    longer = dict(PositionRank(reader, max_words=5).extract(text))
    assert set(longer) - set(found) == {"large deep neural network models"}
    # By symmetry words rank by position alone where all are linked alike.
    (first, a), (second, b) = PositionRank(reader).extract("A network with an index")
    assert (first, second) == ("network", "index")
    weight = (1 / 2) / (1 / 2 + 1 / 5)
    assert a == pytest.approx((0.85 * b) + 0.15 * weight)
    assert a + b == pytest.approx(1)


def phrase(words: str, *offsets: int) -> Phrase:
    return Phrase(words, tuple(words.split()), np.array(offsets, np.int64))


PHRASES = [phrase("neural net", 0, 10), phrase("graph", 4), phrase("deep neural net", 6)]


def test_topics_are_phrases_that_share_stems() -> None:
    # Distance 1/3 between the two nets, 1 from the graph to both.
    first, graph, second = topics(PHRASES, 0.74)
    assert first == second != graph
    assert len(set(topics(PHRASES, 0.3).tolist())) == 3
    assert len(set(topics(PHRASES, 1.0).tolist())) == 1
    assert len(topics(PHRASES[:1], 0.74)) == 1


def test_average_linkage_decides_between_topics() -> None:
    # a–b 2/3 (one of three stems), b–c 2/3, a–c 1: joined a and b are (2/3 + 1) / 2 = 0.83 away from c.
    chain = [phrase("x y", 0), phrase("y z", 3), phrase("z w", 6)]
    assert len(set(topics(chain, 0.74).tolist())) == 2
    assert len(set(topics(chain, 0.84).tolist())) == 1


def test_distances_run_from_the_end_of_the_first_phrase() -> None:
    weights = distance_weights(PHRASES)
    # graph at 4: three words after the end (word 1) of the first net, six before the second at 10.
    assert weights[0, 1] == weights[1, 0] == pytest.approx(1 / 3 + 1 / 6)
    assert weights[1, 2] == weights[2, 1] == pytest.approx(1 / 2)
    # deep neural net at 6–8: five words after word 1, two before word 10.
    assert weights[0, 2] == weights[2, 0] == pytest.approx(1 / 5 + 1 / 2)


def test_first_mentions_gain_what_their_topic_is_linked_by() -> None:
    weights = np.array([[0, 0.5, 0], [0.5, 0, 0.25], [0, 0.25, 0]])
    out = adjust(weights, np.array([1, 2, 1]), [3, 4, 6], 1.1)
    expected = weights.copy()
    expected[1, 0] += 1.1 * math.exp(1 / 4) * 0.25
    assert out == pytest.approx(expected)
    assert adjust(weights, np.array([1, 2, 3]), [3, 4, 6], 1.1) == pytest.approx(weights)


def test_multipartiterank_agrees_with_a_graph_built_edge_by_edge(reader: Reader) -> None:
    networkx = pytest.importorskip("networkx")
    places = {
        "Sparse retrieval": [0],
        "documents": [3, 25],
        "sparse index": [7, 14],
        "document retrieval": [10],
        "Neural network models": [21],
        "index": [30],
    }
    # Half of their stems in common: joined. "Sparse retrieval" is then (2/3 + 1) / 2 away from both topics.
    groups = [["documents", "document retrieval"], ["sparse index", "index"]]
    groups += [["Sparse retrieval"], ["Neural network models"]]
    assert [(p.form, p.offsets.tolist()) for p in reader.read(TEXT).phrases()] == list(places.items())
    numbers = topics(reader.read(TEXT).phrases(), 0.74).tolist()
    by_form = dict(zip(places, numbers, strict=True))
    assert [{by_form[form] for form in group} for group in groups] == [{by_form[g[0]]} for g in groups]
    assert len(set(numbers)) == len(groups)
    graph = networkx.DiGraph()
    for a in places:
        for b in places:
            if by_form[a] != by_form[b]:
                weight = 0.0
                for i in places[a]:
                    for j in places[b]:
                        length = len((a if i < j else b).split())
                        weight += 1 / (abs(i - j) - length + 1)
                graph.add_edge(a, b, weight=weight)
    plain = graph.copy()
    for group in groups:
        first = min(group, key=lambda form: places[form][0])
        for end in places:
            boost = sum(plain[v][end]["weight"] for v in group if v != first and plain.has_edge(v, end))
            if boost:
                graph[end][first]["weight"] += 1.1 * math.exp(1 / (1 + places[first][0])) * boost
    expected = networkx.pagerank(graph, tol=1e-12, max_iter=1000)
    assert dict(MultipartiteRank(reader).extract(TEXT)) == pytest.approx(expected)
    unboosted = networkx.pagerank(plain, tol=1e-12, max_iter=1000)
    assert dict(MultipartiteRank(reader, alpha=0).extract(TEXT)) == pytest.approx(unboosted)


@pytest.mark.parametrize("baseline", [TextRank, PositionRank, MultipartiteRank])
def test_odd_texts_and_repeatability(reader: Reader, baseline: Any) -> None:
    system = baseline(reader)
    for text in ("", " \n\t ", "...", "the of and", "1 2 3", "\x00\ufffd \ud83d", "的 数据 模型", "(" * 500):
        assert system.extract(text) == []
    assert [form for form, _ in system.extract("Index")] == ["Index"]
    assert len(system.extract("network " * 300)) >= 1 or baseline is PositionRank
    found = system.extract(TEXT, 50)
    assert found == baseline(reader).extract(TEXT, 50)
    assert found[:3] == system.extract(TEXT, 3)
    assert system.extract(TEXT, 0) == []
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 and math.isfinite(score) for score in scores)
    folded = TEXT.lower()
    assert all(form.lower() in folded for form, _ in found)


def test_long_texts_take_seconds(reader: Reader) -> None:
    nouns = "network file search query index document ice radar image model memory cache graph data".split()
    rng = np.random.default_rng(0)
    text = " of the ".join(" ".join(rng.choice(nouns, rng.integers(1, 4))) for _ in range(3000))
    assert len(MultipartiteRank(reader).extract(text)) == 10
    assert len(TextRank(reader).extract(text)) == 10
    assert len(PositionRank(reader).extract(text)) == 10
