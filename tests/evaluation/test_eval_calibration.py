"""Confidence against what people chose: the fit, the tenths, the bands, the command and its plots."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from erukg.cli import app
from erukg.research.evaluation.calibration import Shown, fit_logistic, measure
from erukg.research.evaluation.results import write_results


def test_the_weights_that_made_the_choices_are_found_again() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40_000, 2))
    p = 1 / (1 + np.exp(-(-1.5 + 2 * features[:, 0] - 0.5 * features[:, 1])))
    assert fit_logistic(features, rng.random(len(p)) < p) == pytest.approx([-1.5, 2, -0.5], abs=0.08)
    assert np.isfinite(fit_logistic(features[:50], np.zeros(50, bool))).all()


def test_tenths_and_bands_by_hand() -> None:
    phrases = [
        Shown(
            score=0.5 + i / 100,
            fit=1.0,
            confidence=i / 100,
            band="strong" if i >= 90 else "weak",
            exact=i % 2 == 0,
            near=i >= 95,
        )
        for i in range(100)
    ]
    found = measure(phrases, "absent")
    assert found.bins[0] == pytest.approx((0.045, 0.5, 10))
    assert found.bins[-1] == pytest.approx((0.945, 0.5, 10))
    assert found.bands == {"strong": (0.1, 0.5, 0.5), "weak": (0.9, 0.5, 0.0)}
    assert measure(phrases, "present").fitted[2] == 0


def test_the_command_and_its_page(tiny_model: Path, tiny_collection: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in tiny_corpus.read_text().splitlines()]
    lines = []
    for row, other in zip(rows[:40], rows[6:46], strict=True):  # every sixth is of the same topic
        gold = [*row["title"].split(" for the "), *other["title"].split(" for the ")]
        lines.append(json.dumps({"id": "x" + row["id"], "title": "", "abstract": row["abstract"], "keyphrases": gold}))
    (tmp_path / "dev.jsonl").write_text("\n".join(lines) + "\n")
    output = tmp_path / "calibration.json"
    parts = ["--model", str(tiny_model), "--collection", str(tiny_collection), "-o", str(output)]
    result = CliRunner().invoke(app, ["evaluate", "calibration", str(tmp_path / "dev.jsonl"), *parts])
    assert result.exit_code == 0, result.output
    assert "present: fitted constant=" in result.stdout
    report = json.loads(output.read_text())
    assert {kind: len(found["bins"]) for kind, found in report["kinds"].items()} == {"present": 10, "absent": 10}
    assert sum(count for _, _, count in report["kinds"]["absent"]["bins"]) > 100
    page, *plots = write_results([output], tmp_path / "out")
    assert "## Confidence" in page.read_text()
    assert sorted(plot.name for plot in plots) == ["calibration-absent.svg", "calibration-present.svg"]
    assert all("<svg" in plot.read_text() for plot in plots)
