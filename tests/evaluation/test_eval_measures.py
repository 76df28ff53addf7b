"""Measures, categories of gold and all-gold conventions: numbers worked by hand, and a second implementation."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from nltk.stem.porter import PorterStemmer

from erukg.errors import InputError
from erukg.research.evaluation import Dataset, Record, average, score
from erukg.research.evaluation.all_gold import ALL_GOLD, all_gold_score
from erukg.research.evaluation.ground_truth import gold
from erukg.research.evaluation.measures import measure_names, ranks_needed
from erukg.research.evaluation.metrics import STORED, Prediction
from erukg.research.evaluation.prmu import categories, category_counts, prmu_score

TITLE, ABSTRACT = "Sea ice from radar", "We map sea ice with radar images and neural networks."


def record(*keyphrases: str, id: str = "d", official: tuple[tuple[str, ...], ...] | None = None) -> Record:
    return Record(id, TITLE, ABSTRACT, keyphrases, official)


def present(predicted: list[str], *keyphrases: str, measures: str) -> list[float]:
    names = measure_names([measures])
    scores = score([(predicted, [])], Dataset("s", (record(*keyphrases),)), "stemmed", names).present
    return [scores[name] for name in names]


def test_cut_offs_worked_by_hand() -> None:
    # Right at ranks 1 and 4 of 4 distinct phrases; 3 gold phrases, so that O looks at 3 places.
    predicted = ["sea ice", "map", "with", "Sea Ice", "radar images"]
    right = ("sea ice", "radar image", "neural networks")
    assert present(predicted, *right, measures="P@M,R@M,F@M") == pytest.approx([2 / 4, 2 / 3, 4 / 7])
    assert present(predicted, *right, measures="P@O,R@O,F@O") == pytest.approx([1 / 3, 1 / 3, 1 / 3])
    assert present(predicted, *right, measures="P@5,P@5u,F@5,F@5u") == pytest.approx([2 / 5, 2 / 4, 4 / 8, 4 / 7])
    assert present(predicted, *right, measures="P@3,P@3u,R@1,F@1") == pytest.approx([1 / 3, 1 / 3, 1 / 3, 2 / 4])
    # Fewer predictions than gold: O is padded unless told otherwise.
    assert present(["sea ice"], *right, measures="P@O,P@Ou,F@O,F@Ou") == pytest.approx([1 / 3, 1, 2 / 6, 2 / 4])
    assert present([], *right, measures="P@M,F@M,F@5u,P@Ou,micro-P@M,catseq-F@M") == [0] * 6


def three_documents() -> tuple[list[Prediction], Dataset]:
    records = (
        record("sea ice", id="a"),
        record("radar images", "neural networks", "sea ice", id="b"),
        record("glacier", id="c"),
    )
    return [(["sea ice"], []), (["map", "sea ice"], []), (["radar"], ["glacier", "snow"])], Dataset("s", records)


def test_averages_worked_by_hand() -> None:
    predictions, dataset = three_documents()
    # Present: document a has P = R = 1, b has P 1/2 and R 1/3, c has no present gold.
    names = measure_names(["P@M,R@M,F@M,micro-P@M,micro-R@M,micro-F@M", "catseq-P@M,catseq-R@M,catseq-F@M"])
    got = score(predictions, dataset, "stemmed", names)
    assert got.present.documents == 2
    macro = [(1 + 1 / 2) / 2, (1 + 1 / 3) / 2, (1 + 2 / 5) / 2]
    micro = [2 / 3, 2 / 4, 4 / 7]
    p, r = (1 + 1 / 2) / 3, (1 + 1 / 3) / 3  # over three documents
    assert list(got.present.means().values()) == pytest.approx([*macro, *micro, p, r, 2 * p * r / (p + r)])
    # Absent: one document, one of two right.
    assert [got.absent[name] for name in ("P@M", "micro-P@M", "catseq-P@M")] == pytest.approx([1 / 2, 1 / 2, 1 / 6])
    padded = score(predictions, dataset, "stemmed", ["micro-P@5", "micro-F@5", "micro-P@5u"]).present
    assert list(padded.means().values()) == pytest.approx([2 / 10, 4 / 14, 2 / 3])
    both = average([got, got], "present")
    assert both == pytest.approx(got.present.means())
    nothing = score([([], [])], Dataset("n", (record(),)), "stemmed", STORED)
    assert all(np.isnan(value) for value in nothing.present.means().values())


def test_only_the_ranks_that_count_are_looked_at() -> None:
    assert ranks_needed(["F@5", "P@10u"], 3) == 10
    assert ranks_needed(["F@5", "F@O"], 12) == 12
    assert ranks_needed(["F@5", "micro-F@M"], 3) is None


@pytest.mark.parametrize("name", ["F1@5", "f@5", "F@0", "F@K", "macro-F@5", "F@5 u", "F@"])
def test_unknown_measures_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"There is no measure '.*'; measures are called F@5, P@10"):
        measure_names([f"F@5,{name}"])


def test_measures_that_mean_nothing_are_refused() -> None:
    for name in ("R@5u", "F@Mu"):
        with pytest.raises(InputError, match="leave the 'u' out"):
            measure_names([name])
    with pytest.raises(InputError, match="largest cut-off is 1000"):
        measure_names(["F@1001"])
    assert measure_names(["F@5, F@M", "F@5,"]) == ("F@5", "F@M")


def test_categories_worked_by_hand() -> None:
    # Title and abstract are searched apart for P ("radar we" crosses their border) and together for words.
    one = record("Neural Network", "images radar", "radar we", "ice glacier", "snow-glacier", "networks neural", "...")
    found = categories(one)
    assert {name: set(keys) for name, keys in found.keys.items()} == {
        "P": {"neural network"},
        "R": {"imag radar", "radar we", "network neural"},
        "M": {"ice glacier"},
        "U": {"snow glacier"},
    }
    assert found.counts == {"P": 1, "R": 3, "M": 1, "U": 1}
    # Alternatives: the best category counts, once; brackets that the text has say nothing.
    several = record(official=(("glacier snow", "sea ic"), ("snow",), ("snow", "ic map"), ("glacier (x",)))
    assert categories(several).counts == {"P": 1, "R": 1, "M": 0, "U": 1}
    assert category_counts(Dataset("s", (one, several))) == {"P": 2, "R": 4, "M": 1, "U": 2}


def test_recall_by_category_worked_by_hand() -> None:
    first = record("sea ice", "images radar", "ice glacier", "snow", id="a")
    second = record("radar images", "neural networks", "ice networks", id="b")
    predictions: list[Prediction] = [
        (["map", "sea ice"], ["snow", "a", "b", "c", "d", "radar-images", "image radar"]),
        (["ice networks", "radar image"], ["neural networks"]),  # either is in the wrong list
    ]
    got = prmu_score(predictions, Dataset("s", (first, second))).kinds
    assert {name: part.documents for name, part in got.items()} == {"P": 2, "R": 2, "M": 1, "U": 1}
    assert [got["P"][name] for name in ("R@5", "micro-R@5")] == pytest.approx([(1 + 1 / 2) / 2, 2 / 3])
    assert [got["R"][name] for name in ("R@5", "R@10", "R@M", "micro-R@M")] == pytest.approx([0, 1 / 2, 1 / 2, 1 / 2])
    assert (got["M"]["R@M"], got["U"]["R@5"]) == (0, 1)
    assert prmu_score(predictions, Dataset("s", (first, second)), depth=6).kinds["R"]["R@M"] == 0


def test_all_gold_conventions_worked_by_hand() -> None:
    dataset = Dataset("s", (record("Sea Ice", "sea ices", "snow-glacier", id="a"), record("radar image", id="b")))
    lists = [["sea ice", "SEA  ICE", "sea ices", "snow glacier", "snow-glaciers"], ["map", "radar images"]]
    # By stems: a's list is sea ice, snow glacier, snow-glaciers (2 of 3 right), its gold two phrases.
    by_stems = all_gold_score(lists, dataset, "samrank").kinds["all"]
    assert by_stems["P@5u"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert by_stems["R@5"] == 1
    assert by_stems["F@5u"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    # As written: a's list has four phrases, of which three are right; its gold is three phrases.
    written = all_gold_score(lists, dataset, "promptrank").kinds["all"]
    assert written["micro-P@5u"] == pytest.approx((3 + 1) / (4 + 2))
    assert written["micro-R@5"] == pytest.approx((3 + 1) / (3 + 1))
    assert written["micro-F@15u"] == pytest.approx(2 * 4 / (6 + 4))
    official = Dataset("s", (record(official=(("overlai network", "network overlai"), ("snow",))),))
    for convention, measure in (("samrank", "R@5"), ("promptrank", "micro-R@5")):
        assert all_gold_score([["overlay networks"]], official, convention).kinds["all"][measure] == 1 / 2


# A second implementation, from the definitions alone: lists, loops, textbook formulas.

_stem = cache(PorterStemmer().stem)
WORDS = [
    "network",
    "networks",
    "graph",
    "graphs",
    "ice",
    "map",
    "maps",
    "mapping",
    "query",
    "queries",
    "learn",
    "survey",
]


def stems(phrase: str) -> str:
    return " ".join(_stem(word) for word in phrase.lower().split())


def unique(phrases: list[str]) -> list[str]:
    return [phrase for i, phrase in enumerate(phrases) if phrase not in phrases[:i]]


def other_document(predicted: list[str], right: list[str], cutoff: str) -> tuple[int, int, int]:
    """Right answers, predicted places and gold phrases of one document."""
    padded = not cutoff.endswith("u")
    cutoff = cutoff.removesuffix("u")
    k = len(predicted) if cutoff == "M" else len(right) if cutoff == "O" else int(cutoff)
    top = predicted[:k]
    if padded:
        top = top + ["<wrong>"] * (k - len(top))
    return len([answer for answer in top if answer in right]), len(top), len(right)


def prf(good: float, named: float, right: float) -> dict[str, float]:
    p, r = good / named if named else 0.0, good / right
    return {"P": p, "R": r, "F": 2 * p * r / (p + r) if good else 0.0}


def other_measure(name: str, documents: list[tuple[list[str], list[str]]]) -> float:
    averaging, _, plain = name.rpartition("-")
    letter, cutoff = plain.split("@")
    counts = [other_document(predicted, right, cutoff) for predicted, right in documents if right]
    values = [prf(*count) for count in counts]
    if averaging == "micro":
        return prf(*(float(sum(column)) for column in zip(*counts, strict=True)))[letter]
    if averaging == "catseq":
        p, r = (sum(v[one] for v in values) / len(documents) for one in "PR")
        return {"P": p, "R": r, "F": 2 * p * r / (p + r)}[letter]
    return sum(v[letter] for v in values) / len(values)


def random_set(rng: random.Random) -> tuple[list[Prediction], Dataset]:
    def phrases(most: int) -> list[str]:
        return [" ".join(rng.choices(WORDS, k=rng.choice([1, 2]))) for _ in range(rng.randint(0, most))]

    records, predictions = [], []
    for i in range(300):
        text = " ".join(rng.choices(WORDS, k=12))
        records.append(Record(f"{i}", "", text, tuple(phrases(14))))
        predictions.append((phrases(rng.choice([3, 25])), phrases(rng.choice([3, 25]))))
    return list(predictions), Dataset("random", tuple(records))


def test_measures_agree_with_a_second_implementation() -> None:
    predictions, dataset = random_set(random.Random(5))
    names = measure_names([*STORED, "P@3u,P@Ou,F@7u,R@O,micro-P@M,micro-F@10u,catseq-P@5,catseq-F@O"])
    got = score(predictions, dataset, "stemmed", names)
    for number, kind in enumerate(("present", "absent")):
        documents = []
        for prediction, r in zip(predictions, dataset.records, strict=True):
            right = [
                s for s in map(stems, r.keyphrases) if (f" {s} " in f" {stems(r.abstract)} ") == (kind == "present")
            ]
            documents.append((unique([stems(phrase) for phrase in prediction[number]]), unique(right)))
        for name in names:
            assert got.kinds[kind][name] == pytest.approx(other_measure(name, documents), rel=1e-12), name
            assert got.kinds[kind][name] > 0


def test_all_gold_agrees_with_a_second_implementation() -> None:
    predictions, dataset = random_set(random.Random(6))
    lists = [[*present, *absent] for present, absent in predictions]
    pairs = [(named, list(r.keyphrases)) for named, r in zip(lists, dataset.records, strict=True)]
    by_stems = [(unique(list(map(stems, named))), unique(list(map(stems, right)))) for named, right in pairs]
    got = all_gold_score(lists, dataset, "samrank").kinds["all"]
    for name in ALL_GOLD["samrank"]:
        assert got[name] == pytest.approx(other_measure(name, by_stems), rel=1e-12)
    got = all_gold_score(lists, dataset, "promptrank").kinds["all"]
    for k in (5, 10, 15):
        good = named = right = 0
        for predicted, keyphrases in pairs:
            top = unique(predicted)[:k]
            good += len([p for p in top if stems(p) in list(map(stems, keyphrases))]) if keyphrases else 0
            named += len(top) if keyphrases else 0
            right += len(keyphrases)
        values = prf(good, named, right)
        for letter, suffix in (("F", "u"), ("P", "u"), ("R", "")):
            assert got[f"micro-{letter}@{k}{suffix}"] == pytest.approx(values[letter], rel=1e-12)


def test_categories_agree_with_the_stemmed_protocol() -> None:
    predictions, dataset = random_set(random.Random(7))
    counts = category_counts(dataset)
    truth = [gold(r, "stemmed") for r in dataset.records]
    assert counts["P"] == sum(g.n_present for g in truth) > 100
    assert counts["R"] + counts["M"] + counts["U"] == sum(g.n_absent for g in truth) > 100
    got, same = prmu_score(predictions, dataset).kinds["P"], score(predictions, dataset, "stemmed").present
    np.testing.assert_array_equal(got.by_document["R@5"], same.by_document["R@5"])
