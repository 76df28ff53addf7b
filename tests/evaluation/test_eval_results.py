"""The results folder: tables and plots from stored runs, real ones where a command can make them."""

from __future__ import annotations

import copy
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from eval_samples import write_sets
from retrieval_samples import write_set
from typer.testing import CliRunner

from erukg.cli.evaluate import app
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.encoder import Encoder
from erukg.errors import InputError
from erukg.evaluation.results import svg, write_results
from erukg.evaluation.results.runs import load_runs, speeds
from tiny import write_corpus

SVG = "{http://www.w3.org/2000/svg}"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def stored(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Path, tiny_encoder: Encoder, tiny_collection: Path
) -> Path:
    """A folder with a run of each kind, made by the commands, and a benchmark's report."""
    folder = tmp_path_factory.mktemp("stored")
    sets = write_sets(folder / "sets")
    common = ["--model", tiny_model, "--store", folder / "store"]
    run(
        *("keyphrases", sets, *common, "-s", "erukg-generate", "-s", "textrank", "-s", "embedrank"),
        *("--collection", tiny_collection, "--compare", "erukg-generate", "textrank", "--samples", 50),
        *("-o", folder / "kp.json"),
    )
    run("keyphrases", sets, *common, "-s", "erukg-extract", "-s", "textrank", "-o", folder / "more.json")
    build(folder / "D", [write_corpus(folder / "corpus.jsonl", 30)], ModelAnalyser(tiny_encoder))
    run(
        *("ablations", sets, *common, "--collection", tiny_collection),
        *("--collections", f"small={folder / 'D'}", "-o", folder / "abl.json"),
    )
    write_set(folder / "beir" / "sea")
    run(
        *("retrieval", folder / "beir", *common, "-m", "bm25,query,doct5query", "-s", "erukg-extract"),
        *("-o", folder / "ret.json"),
    )
    rates = {"extract": 90.0, "generate N=100": 30.0, "textrank": 45.0, "someone else": 1.0}
    bench = {
        "format": "erukg-benchmark",
        "version": 1,
        "environment": {"processor": "abacus", "cores": 2},
        "against": {"systems": {name: {"documents_per_second": rate} for name, rate in rates.items()}},
    }
    (folder / "bench.json").write_text(json.dumps(bench))
    return folder


def paths(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.json" for name in names]


def test_every_figure_of_the_page_stands_in_a_run(stored: Path, tmp_path: Path) -> None:
    names = ("kp", "more", "ret", "abl", "bench")
    printed = run("report", *paths(stored, *names), "-o", tmp_path / "r")
    page = (tmp_path / "r" / "README.md").read_text()
    assert printed.splitlines()[0] == str(tmp_path / "r" / "README.md")
    kp = json.loads((stored / "kp.json").read_text())
    table = page.split("### Present phrases, protocol `paper`")[1].split("###")[0]
    for system in kp["systems"][:2]:
        average = system["scores"]["paper"]["average"]["present"]
        (row,) = (line for line in table.splitlines() if line.startswith(f"| {system['name']} |"))
        shown = [float(number.strip("*| ")) for number in row.split(" | ")[-1].split("/")]
        assert shown == pytest.approx([100 * average["F@5"], 100 * average["F@10"]], abs=0.051)
    # Systems of two files on the same sets share a table, and one that is in both stands there once.
    assert [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")][2:] == [
        "| erukg-generate",
        "| textrank",
        "| embedrank",
        "| erukg-extract",
    ]
    assert "- embedrank: not run: weights not available" in page
    assert "- doct5query: not run: weights not available" in page
    assert "erukg-generate minus textrank" in page
    assert "inspec (4)" in page
    assert "| glossary not pruned | not run: no such collection" in page
    assert "| bench.json | benchmark |" in page
    assert "abacus, 2 cores" in page
    for part in ("kp.json more.json ret.json abl.json bench.json", "R@1000", "nDCG@10", "### alpha-beta"):
        assert part in page


def test_plots_are_named_on_the_page_and_well_formed(stored: Path, tmp_path: Path) -> None:
    written = write_results(paths(stored, "kp", "more", "ret", "abl", "bench"), tmp_path)
    plots = {path.name: ET.parse(path).getroot() for path in written[1:]}
    assert set(plots) >= {
        "keyphrases-present-F10.svg",
        "quality-speed.svg",
        "retrieval-R100.svg",
        "alpha-beta.svg",
        "neighbours.svg",
        "collection.svg",
    }
    page = written[0].read_text()
    assert all(f"]({name})" in page for name in plots)
    curves = plots["alpha-beta.svg"].findall(f"{SVG}polyline")
    assert [len(curve.attrib["points"].split()) for curve in curves] == [6, 6, 6, 6]
    # Extraction, without a collection, has no place on its logarithmic axis.
    curve = plots["collection.svg"].find(f"{SVG}polyline")
    assert curve is not None
    assert len(curve.attrib["points"].split()) == 2
    assert {"30", "120"} < {text.text for text in plots["collection.svg"].findall(f"{SVG}text")}
    words = [text.text for text in plots["quality-speed.svg"].findall(f"{SVG}text")]
    assert {"erukg-extract", "erukg-generate", "textrank"} < set(words)
    assert "someone else" not in words
    assert "| erukg-generate | 0.333 |" in page


def test_the_same_runs_give_the_same_bytes(stored: Path, tmp_path: Path) -> None:
    names = ("kp", "ret", "abl", "bench")
    first, second = (write_results(paths(stored, *names), tmp_path / folder) for folder in "ab")
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_nothing_is_shown_of_what_was_not_given(stored: Path, tmp_path: Path) -> None:
    (readme, *plots) = write_results(paths(stored, "ret"), tmp_path)
    page = readme.read_text()
    assert "## Keyphrases" not in page
    assert "## Ablations" not in page
    assert [path.name for path in plots] == ["retrieval-R100.svg", "retrieval-nDCG10.svg"]


def test_other_sets_get_a_part_of_their_own_and_other_figures_another_name(stored: Path, tmp_path: Path) -> None:
    report = json.loads((stored / "more.json").read_text())
    other = copy.deepcopy(report)
    other["systems"][0]["scores"]["paper"]["average"]["present"]["F@5"] = 0.5
    fewer = copy.deepcopy(report)
    fewer["sets"][0]["documents"] = 2
    for name, content in (("other", other), ("fewer", fewer)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    runs = load_runs([*paths(stored, "more"), *paths(tmp_path, "other", "fewer")])
    assert [[s["name"] for s in group.systems] for group in runs.keyphrases] == [
        ["erukg-extract", "textrank", "erukg-extract (other.json)"],
        ["erukg-extract", "textrank"],
    ]
    page = write_results([*paths(stored, "more"), tmp_path / "fewer.json"], tmp_path / "r")[0].read_text()
    assert "## Keyphrases on inspec, nus (1 of 2)" in page
    assert "](keyphrases-present-F10-2.svg)" in page


def test_speeds_are_those_of_one_benchmark_and_of_what_was_timed(stored: Path) -> None:
    def system(name: str, neighbours: int = 100) -> dict[str, Any]:
        return {"name": name, "description": {"settings": {"neighbours": neighbours}}}

    runs = load_runs(paths(stored, "bench"))
    wanted = [system(n) for n in ("erukg-extract", "erukg-extract:paper", "erukg-generate", "erukg-generate:alpha=1")]
    wanted.append(system("erukg-generate:neighbours=10", 10))
    assert speeds(runs.benchmarks, wanted) == {"erukg-extract": 90, "erukg-generate": 30}
    assert speeds([], wanted) == {}


def test_plots_of_extreme_figures_are_well_formed() -> None:
    for plot in (
        svg.bars("a & <b>", "%", ["x"], {"none": [None], "zero": [0.0]}),
        svg.bars("many", "%", ["x", "y"], {f"system {i} with a long name": [i, None] for i in range(20)}),
        svg.lines("one", "%", "x", [svg.Line("a", [(5, 0.0)])]),
        svg.lines("log", "%", "x", [svg.Line("a", [(1, 0.001), (1e6, 0.002)], dashed=True)], log=True),
        svg.scatter("s", "%", "x", {"a" * 60: (1.0, 3.0), "b" * 60: (1.0, 3.0), "c": (250.0, 3.0)}),
    ):
        root = ET.fromstring(plot)
        height = float(root.attrib["height"])
        for text in root.findall(f"{SVG}text"):
            assert 0 <= float(text.attrib["y"]) <= height
            assert "nan" not in (text.text or "")


def test_what_is_no_run_is_refused_and_nothing_written(stored: Path, tmp_path: Path) -> None:
    whole = json.loads((stored / "kp.json").read_text())
    for content, message in (
        ("{", r"bad\.json is not JSON"),
        ("[]", r"bad\.json is not a stored run"),
        ('{"format": "erukg-model"}', r"bad\.json is not a stored run"),
        (json.dumps({**whole, "version": 2}), r"of version 2, and only version 1"),
        (json.dumps({**whole, "task": "cooking"}), r"bad\.json is not a stored run"),
        (json.dumps({**whole, "sets": 3}), r"One of bad\.json is not a whole run"),
        (json.dumps({**whole, "systems": [{"name": "x"}]}), r"One of bad\.json is not a whole run"),
    ):
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(InputError, match=message):
            write_results([tmp_path / "bad.json"], tmp_path / "out")
    with pytest.raises(InputError, match="cannot be read"):
        write_results([tmp_path / "none.json"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
