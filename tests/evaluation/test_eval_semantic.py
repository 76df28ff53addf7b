"""Semantic matching against cases worked by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from erukg.cli.evaluate import app
from erukg.errors import InputError
from erukg.research.evaluation import Dataset, Record, average
from erukg.research.evaluation.semantic import PhraseVectors, match, semantic_score
from evaluation.eval_samples import write_sets

# Lengths differ on purpose: cosines do not see them.
PLANE = {
    "ice": (1.0, 0.0),
    "snow": (3.0, 4.0),  # 0.6 to "ice", 0.8 to "rain"
    "rain": (0.0, 2.0),
    "sun": (-5.0, 0.0),  # -1 to "ice"
}


class Plane:
    """Looks phrases up in the plane, and remembers what it was asked for."""

    ordered = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([PLANE.get(text, (0.0, 0.0)) for text in texts], np.float32)

    def describe(self) -> Mapping[str, Any]:
        return {"name": "plane"}


def one(text: str, gold: Sequence[str], official: tuple[tuple[str, ...], ...] | None = None) -> Dataset:
    return Dataset("s", (Record("d", text, "", tuple(gold), official),))


def figures(present: Sequence[str], absent: Sequence[str], dataset: Dataset, kind: str) -> list[float]:
    scores = semantic_score([(present, absent)], dataset, PhraseVectors(Plane())).kinds[kind]
    return [scores[f"Sem{letter}@5"] for letter in "PRF"]


def test_precision_and_recall_are_means_of_the_nearest() -> None:
    dataset = one("ice and rain", ["ice", "rain"])
    # snow: nearest gold is rain (0.8). ice: nearest prediction is snow (0.6); rain: 0.8.
    assert figures(["snow"], [], dataset, "present") == pytest.approx([0.8, 0.7, 2 * 0.8 * 0.7 / 1.5])
    # ice: 1. ice: 1, rain: snow's 0.8.
    assert figures(["ice", "snow"], [], dataset, "present") == pytest.approx([0.9, 0.9, 0.9])
    # A second form of the same stem is no second prediction, and case does not matter.
    assert figures(["Snow", "snows"], [], dataset, "present") == pytest.approx([0.8, 0.7, 2 * 0.8 * 0.7 / 1.5])


def test_opposite_and_unknown_phrases_are_worth_nothing() -> None:
    dataset = one("ice", ["ice"])
    assert figures(["sun", "fog"], [], dataset, "present") == [0, 0, 0]
    assert figures(["ice", "sun"], [], dataset, "present") == pytest.approx([0.5, 1, 2 / 3])
    assert figures([], [], dataset, "present") == [0, 0, 0]


def test_absent_and_all_phrases() -> None:
    dataset = one("ice", ["ice", "rain"])  # rain is absent
    assert figures(["ice"], ["snow"], dataset, "absent") == pytest.approx([0.8, 0.8, 0.8])
    # ice: 1, snow: 0.8; gold ice: 1, gold rain: 0.8.
    assert figures(["ice"], ["snow"], dataset, "all") == pytest.approx([0.9, 0.9, 0.9])
    assert figures(["ice"], [], dataset, "absent") == [0, 0, 0]
    # rain is only half the gold: without absent phrases its cosine to ice, 0, halves the recall.
    assert figures(["ice"], [], dataset, "all") == pytest.approx([1, 0.5, 2 / 3])


def test_cutoffs_look_at_the_best_of_each_kind() -> None:
    dataset = one("ice", ["ice"])
    names = ["sun", "fog", "mist", "haze", "smog", "ice"]
    scores = semantic_score([(names, [])], dataset, PhraseVectors(Plane())).kinds["present"]
    assert [scores["SemR@5"], scores["SemR@10"]] == [0, 1]
    assert [scores["SemP@5"], scores["SemP@10"]] == pytest.approx([0, 1 / 6])


def test_one_of_several_accepted_forms_is_enough() -> None:
    # "snow" and "rain" are one gold phrase: its nearest form counts. Nobody wrote "fogi" out.
    dataset = one("snow", ["snow", "rain"], (("snow", "rain"), ("fogi",)))
    scores = semantic_score([(["ice", "rain"], [])], dataset, PhraseVectors(Plane())).kinds
    assert scores["present"].documents == 1
    assert scores["present"]["SemP@5"] == pytest.approx((0.6 + 1) / 2)
    assert scores["present"]["SemR@5"] == pytest.approx(1)
    assert scores["all"]["SemR@5"] == pytest.approx(0.5)


def test_means_are_over_documents_with_gold_of_the_kind_and_then_over_sets() -> None:
    records = (Record("a", "ice", "", ("ice",)), Record("b", "ice", "", ("rain",)), Record("c", "ice", "", ()))
    vectors = PhraseVectors(Plane())
    first = semantic_score([(["ice"], []), (["ice"], ["snow"]), (["ice"], [])], Dataset("x", records), vectors)
    assert [first.kinds[k].documents for k in ("present", "absent", "all")] == [1, 1, 2]
    assert first.kinds["absent"]["SemF@5"] == pytest.approx(0.8)
    second = semantic_score([(["snow"], [])], Dataset("y", records[:1]), vectors)
    assert average([first, second], "present")["SemP@5"] == pytest.approx((1 + 0.6) / 2)
    assert average([first, second], "absent")["SemP@5"] == pytest.approx(0.8)
    assert np.isnan(average([second], "absent")["SemP@5"])
    with pytest.raises(InputError, match="1 predictions for the 3 documents"):
        semantic_score([([], [])], Dataset("x", records), vectors)


def test_every_phrase_is_embedded_once() -> None:
    plane = Plane()
    vectors = PhraseVectors(plane)
    dataset = one("ice", ["ice", "rain"])
    for _ in range(2):
        semantic_score([(["snow", "Ice"], ["rain"])], dataset, vectors)
    assert plane.asked == ["ice", "rain", "snow"]


def test_match_agrees_with_plain_loops() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        predicted, gold = (
            v / np.linalg.norm(v, axis=1, keepdims=True)
            for v in (rng.normal(size=(n, 3)) for n in rng.integers(1, 6, 2))
        )
        groups = np.sort(rng.integers(0, len(gold), len(gold)))
        groups = np.unique(groups, return_inverse=True)[1]
        p = np.mean([max(max(0, float(x @ y)) for y in gold) for x in predicted])
        best: dict[int, float] = {}
        for y, group in zip(gold, groups.tolist(), strict=True):
            best[group] = max([best.get(group, 0.0), *(float(x @ y) for x in predicted)])
        r = np.mean(list(best.values()))
        f, precision, recall = match(predicted.astype(np.float32), gold.astype(np.float32), groups)
        assert (precision, recall) == pytest.approx((p, r), abs=1e-5)
        assert f == pytest.approx(2 * p * r / (p + r) if p + r else 0, abs=1e-5)


def test_command_prints_and_writes_it_only_when_asked(tmp_path: Path, tiny_model: Path) -> None:
    sets = write_sets(tmp_path / "sets")
    words = sorted({word for line in (sets / "inspec.jsonl").open() for word in re.findall("[a-z]+", line.lower())})
    rng = np.random.default_rng(0)
    table = "".join(f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=4))}\n" for word in words)
    (tmp_path / "vectors.txt").write_text(table)
    common = ["keyphrases", str(sets), "--model", str(tiny_model), "-s", "erukg-extract", "-s", "embedrank"]
    common += ["--store", str(tmp_path / "store")]

    def run(*more: str) -> tuple[str, dict[str, Any]]:
        out = tmp_path / "out.json"
        result = CliRunner().invoke(app, [*common, *more, "-o", str(out)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout, json.loads(out.read_text())

    plain, without = run()
    text, report = run("--semantic", str(tmp_path / "vectors.txt"))
    assert text.startswith(plain)
    assert "semantic matching, protocol 'paper'" in text[len(plain) :]
    assert report["semantic"]["name"] == "vectors.txt"
    ours = report["systems"][0].pop("semantic")["paper"]
    assert 0 < ours["sets"]["inspec"]["present"]["SemF@5"] <= 1
    assert ours["average"]["absent"]["SemF@10"] == 0
    del report["semantic"]
    assert report == without
    with pytest.raises(InputError, match="semantic matching needs"):
        CliRunner().invoke(app, [*common, "--semantic", str(tmp_path / "none")], catch_exceptions=False)
