"""`erukg benchmark` from end to end on a tiny model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from erukg.backends.threads import cores
from erukg.cli import app


def call(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, ["benchmark", *map(str, arguments)])


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_run_with_a_collection_measures_everything(
    tiny_model: Path, tiny_collection: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "out.json", tmp_path / "other.jsonl"
    other.write_text("".join(tiny_corpus.read_text().splitlines(keepends=True)[-3:]))
    result = call(
        "run", tiny_corpus, other, "--quick", "--limit", 2, "--model", tiny_model, "--collection", tiny_collection,
        "--parts", "throughput,stages,length,against", "--against", "yake,paper", "-o", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    report = read(out)
    tasks = ["extract", "generate N=10", "generate N=50", "generate N=100", "generate N=400"]
    places = ["one core", "all cores"] if cores() > 1 else ["one core"]
    for part in ("single", "stream"):
        assert list(report[part]) == places
        assert all(list(by_task) == tasks for by_task in report[part].values())
    assert {"documents_per_second", "p50_ms", "p95_ms", "p99_ms"} <= set(report["single"]["one core"]["extract"])
    assert report["stream"]["one core"]["extract"]["times_extract"] == 1
    assert set(report["stages"]) == {"extract", "generate N=400"}
    assert report["stages"]["generate N=400"]["stages"]["neighbours"]["ms"] > 0
    assert [row["words"] for row in report["length"]] == [100, 1000, 5000]
    against = report["against"]
    assert set(against["systems"]) == {*(f"erukg, {task}" for task in tasks), "yake"}
    assert list(against["sets"]) == [tiny_corpus.name.partition(".")[0], "other"]
    assert all(set(part) == set(against["systems"]) for part in against["sets"].values())
    assert {row["documents"] for part in against["sets"].values() for row in part.values()} == {2}
    seconds = {name: row["seconds"] for name, row in against["systems"].items()}
    assert against["ratios"]["yake"]["erukg, extract"] == pytest.approx(seconds["yake"] / seconds["erukg, extract"])
    assert against["not_run"]["paper"].startswith("not run: give --weights")
    assert report["settings"]["texts"] == {"built_in": False, "documents": 4, "mean_words": pytest.approx(25, abs=10)}
    assert report["settings"]["collection_documents"] == 120
    assert {"numpy", "onnxruntime"} <= set(report["environment"]["versions"])
    assert report["environment"]["processor"]
    assert "this machine" in report["note"]
    for words in (
        "One document at a time",
        "Streams",
        "Time by stage",
        "Growth",
        "Against others",
        "by set",
        "not run",
    ):
        assert words in result.output


def test_run_in_processes_of_their_own(tiny_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    result = call("run", "--model", tiny_model, "--no-collection", "--parts", "cold,memory", "--limit", 2, "-o", out)
    assert result.exit_code == 0, result.output
    report = read(out)
    assert report["cold_start"]["extract"]["first_ever_s"] > 0
    assert len(report["cold_start"]["extract"]["warm_runs_s"]) == 2
    assert 0 < report["memory"]["loaded_mb"] <= report["memory"]["quarter_mb"] <= report["memory"]["peak_mb"]
    assert report["not_run"] == {"generation": "not run: no collection"}
    assert "generation: not run: no collection" in result.output
    assert report["settings"]["texts"]["built_in"]
    assert "single" not in report


def test_search_grows_with_the_collection(tiny_corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "search.json"
    result = call("search", tiny_corpus, "--sizes", "100,50", "--queries", 10, "-o", out)
    assert result.exit_code == 0, result.output
    report = read(out)
    assert [row["documents"] for row in report["sizes"]] == [50, 100]
    for row in report["sizes"]:
        assert row["recall"] >= 0.999
        assert row["error"] < 1e-3
        assert list(row["engines"]) == ["bm25s", "tantivy"]
        for engine in row["engines"].values():
            assert engine["queries"] == row["queries"] == 10
            assert engine["ratio"] == pytest.approx(engine["ms"] / row["erukg_ms"])
        assert row["engines"]["bm25s"]["recall"] == 1
    assert "one thread each" in result.output
    assert report["not_run"] == {"lucene": "not run: give --lucene JAR"}
    assert "lucene: not run: give --lucene JAR" in result.output


def test_search_without_others_says_so(tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bm25s", "tantivy"):
        monkeypatch.setitem(sys.modules, name, None)
    out = tmp_path / "search.json"
    result = call("search", tiny_corpus, "--sizes", 50, "--queries", 10, "-o", out)
    assert result.exit_code == 0, result.output
    report = read(out)
    assert report["sizes"][0]["recall"] is None
    assert report["sizes"][0]["engines"] == {}
    assert "tantivy: not run: not installed; pip install tantivy" in result.output
    refused = call("search", tiny_corpus, "--sizes", 50, "--against", "tantivy")
    assert refused.exit_code == 1
    assert "needs the package 'tantivy'" in refused.output


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "--against", "yak"), 1, "did you mean 'yake'?"),
        (("run", "--parts", "warmth"), 1, "no part 'warmth'"),
        (("run", "--collection", "c", "--no-collection"), 2, "not both"),
        (("search", "c.jsonl", "--sizes", "many"), 2, "whole numbers"),
        (("search", "c.jsonl", "--against", "tantivi"), 1, "did you mean 'tantivy'?"),
        (("search", "c.jsonl", "--lucene", "nowhere.jar"), 1, "nowhere.jar cannot be read"),
    ],
)
def test_wrong_arguments_are_named(arguments: tuple[str, ...], code: int, said: str) -> None:
    result = call(*arguments)
    assert result.exit_code == code
    assert said in result.output


def test_more_documents_than_there_are_is_refused(tiny_corpus: Path) -> None:
    result = call("search", tiny_corpus, "--sizes", 1000)
    assert result.exit_code == 1
    assert "fewer than the 1000 asked for" in result.output
