"""The results folder: tables and plots from stored runs, real ones where a command can make them."""

from __future__ import annotations

import copy
import json
import random
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from erukg import Settings
from erukg.backends import OnnxBackend
from erukg.cli.evaluate import app
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.errors import InputError
from erukg.research.evaluation.case import run_case
from erukg.research.evaluation.results import charts, published, write_results
from erukg.research.evaluation.results.runs import Run, key, label, load_runs, speeds
from evaluation.eval_samples import write_sets
from evaluation.retrieval_samples import write_set
from tiny import write_corpus

SVG = "{http://www.w3.org/2000/svg}"
NEIGHBOURS = Settings().neighbours


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def stored(
    tmp_path_factory: pytest.TempPathFactory, tiny_model: Path, tiny_encoder: OnnxBackend, tiny_collection: Path
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
        *("retrieval", folder / "beir", *common, "-m", "query,title,bm25,doct5query,rm3-30", "-s", "erukg-extract"),
        *("--compare", "query", "title", "--samples", 50, "-o", folder / "ret.json"),
    )
    (folder / "case.jsonl").write_text(
        json.dumps({"id": "the document", "title": "Sea ice", "abstract": "Passive radar images | of sea ice."})
        + "\n"
        + json.dumps({"id": "a query", "text": "fast search engine"})
    )
    run(
        *("case", folder / "case.jsonl", "--model", tiny_model, "--collection", tiny_collection),
        *("-s", "erukg-generate", "-s", "textrank", "-s", "promptrank", "-o", folder / "case.json", "--top-k", 3),
    )
    rates = {
        "erukg, extract": 90.0,
        f"erukg, generate N={NEIGHBOURS}": 30.0,
        "textrank": 45.0,
        "paper, extract": 9.0,
        "someone else": 1.0,
    }
    bench = {
        "format": "erukg-benchmark",
        "version": 1,
        "environment": {"processor": "abacus", "cores": 2},
        "against": {"systems": {name: {"documents_per_second": rate} for name, rate in rates.items()}},
    }
    (folder / "bench.json").write_text(json.dumps(bench))
    return folder


def words(plot: ET.Element) -> set[str]:
    return {text.text or "" for text in plot.iter(f"{SVG}text")}


def drawn(plot: ET.Element, style: str) -> list[ET.Element]:
    return [
        path
        for path in plot.iter(f"{SVG}path")
        if f"{style};" in path.attrib.get("style", "") + ";" and "L" in path.attrib["d"]
    ]


def paths(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.json" for name in names]


def test_every_figure_of_the_page_stands_in_a_run(stored: Path, tmp_path: Path) -> None:
    names = ("kp", "more", "ret", "abl", "case", "bench")
    printed = run("report", *paths(stored, *names), "-o", tmp_path / "r")
    page = (tmp_path / "r" / "README.md").read_text()
    assert printed.splitlines()[0] == str(tmp_path / "r" / "README.md")
    kp = json.loads((stored / "kp.json").read_text())
    table = page.split("### Present phrases, protocol `paper`")[1].split("###")[0]
    for system in kp["systems"][:2]:
        average = system["scores"]["paper"]["average"]["present"]
        (row,) = (line for line in table.splitlines() if line.startswith(f"| {label(system)} |"))
        shown = [float(number.strip("*| ")) for number in row.split(" | ")[-1].split("/")]
        assert shown == pytest.approx([100 * average["F@5"], 100 * average["F@10"]], abs=0.051)
    # Systems of two files on the same sets share a table, and one that is in both stands there once.
    assert [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")][2:6] == [
        "| erukg generate",
        "| TextRank",
        "| EmbedRank",
        "| erukg extract",
    ]
    assert "- EmbedRank: not run: weights not available\n" in page
    assert "- docT5query: not run: weights not available\n" in page
    assert "erukg generate minus TextRank" in page
    assert "inspec (4)" in page
    assert "| glossary not pruned | not run: no such collection" in page
    assert "| bench.json | benchmark |" in page
    assert "abacus, 2 cores" in page
    for part in ("kp.json more.json ret.json abl.json case.json bench.json", "R@1000", "nDCG@10", "### alpha-beta"):
        assert part in page


def test_the_papers_figures_stand_beside_ours(stored: Path, tmp_path: Path) -> None:
    page = write_results(paths(stored, "kp", "abl"), tmp_path)[0].read_text()
    present, absent = (page.split(f"### {kind} phrases, protocol `paper`")[1] for kind in ("Present", "Absent"))
    # On the two sets of the run; its average of five is not an average of these.
    assert "| *ERU-KG-base, in the paper* | *29.0 / 36.0* | *27.8 / 27.0* | – |" in present
    assert "| *ERU-KG-base, in the paper* | *5.3 / 6.5* | *3.4 / 5.5* | – |" in absent
    assert "in the paper" not in page.split("### Present phrases, protocol `stemmed`")[1].split("### Baselines")[0]
    beside = page.split("### Baselines beside the paper")[1].split("\n\n")
    kp = json.loads((stored / "kp.json").read_text())
    here = kp["systems"][1]["scores"]["paper"]["sets"]["inspec"]["present"]
    apart = f"{100 * here['F@5'] - 29.3:+.1f} / {100 * here['F@10'] - 36.2:+.1f}"
    assert f"| difference | {apart} |" in beside[2]
    assert "Candidates" in beside[3] + beside[4]


def test_the_papers_averages_are_those_of_its_rows() -> None:
    for rows in (published.PRESENT, published.ABSENT):
        for row in rows.values():
            sets = [pair for name, pair in row.items() if name != "average"]
            assert len(sets) in (0, 5)
            for i in (0, 1):
                mean = sum(pair[i] for pair in sets) / 5
                assert not sets or mean == pytest.approx(row["average"][i], abs=0.11)
    five = ["inspec", "kp20k_1000", "krapivin", "nus", "semeval2010"]
    assert published.average_of(five)
    assert not published.average_of([*five, "other"])
    assert not published.average_of(five[:4])
    assert published.known_set("krapivin_dev") is None


def test_the_case_study_shows_phrases(stored: Path, tmp_path: Path) -> None:
    report = json.loads((stored / "case.json").read_text())
    assert [text["id"] for text in report["texts"]] == ["the document", "a query"]
    ours, textrank, promptrank = report["systems"]
    assert ours["description"]["collection"]["documents"] == 120
    found = ours["phrases"]["the document"]
    assert 0 < len(found["present"]) <= 3
    assert textrank["phrases"]["a query"]["absent"] == []
    assert promptrank["not_run"].startswith("weights not available")
    page = write_results(paths(stored, "case"), tmp_path)[0].read_text()
    assert "> Sea ice\n>\n> Passive radar images | of sea ice." in page
    assert f"| erukg generate | {' · '.join(found['present'])} |" in page
    assert "| PromptRank | not run: weights not available | – |" in page


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ('{"id": "a"}\n', r"line 1: It has none of the fields"),
        ('{"id": "a", "text": "b"}\n{"id": "a", "text": "c"}\n', "line 2: the id 'a' was already used"),
        ('{"id": "a", "te\n', "line 1: It is not JSON"),
        ("".join(f'{{"id": "{i}", "text": "x"}}\n' for i in range(101)), "more than 100 documents"),
    ],
)
def test_bad_texts_of_a_case_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "texts.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        run_case(tmp_path / "texts.jsonl", [])


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
    # Two panels, in each a curve of six points for each of two metrics.
    curves = [len(path.attrib["d"].split("L")) for path in drawn(plots["alpha-beta.svg"], "stroke-width: 2")]
    assert curves.count(6) == 4
    # Extraction, without a collection, has no place on its logarithmic axis: it is a line across.
    assert len(drawn(plots["collection.svg"], "stroke-width: 2")[0].attrib["d"].split("L")) == 2
    assert {"30", "120", "F@10, no D"} < words(plots["collection.svg"])
    assert {"erukg extract", "erukg generate", "TextRank"} < words(plots["quality-speed.svg"])
    assert "someone else" not in words(plots["quality-speed.svg"])
    assert "| erukg generate | 0.333 |" in page
    assert "| someone else | 0.0111 | – |" in page
    assert "| the paper's own pipeline, extract | 0.1 | – |" in page
    for path in written[1:]:
        plot = path.read_text()
        assert "dc:creator" not in plot  # neither the version nor the day that it was made
        assert "dc:date" not in plot


def test_names_do_not_cover_each_other() -> None:
    """However close the points: names are apart from each other, and in the frame."""
    for seed in range(10):
        numbers = random.Random(seed)
        points = [
            charts.Point(f"system number {i}", numbers.uniform(0.5, 3), numbers.uniform(20, 30), ours=i < 3)
            for i in range(10)
        ]
        root = ET.fromstring(charts.scatter("t", "s", "y", "x", points))
        boxes = []
        for text in root.iter(f"{SVG}text"):
            if (text.text or "").startswith("system number"):
                anchor = re.findall("text-anchor: (\\w+)", text.attrib["style"])[0]
                x = float(text.attrib["x"]) - {"start": 0, "middle": 50, "end": 100}[anchor]
                boxes.append((x, float(text.attrib["y"]), x + 100))
                assert 0 <= x <= 880 - 100
        assert len(boxes) == 10
        for i, (a, y, b) in enumerate(boxes):
            assert not any(abs(y - other[1]) < 10 and a < other[2] and other[0] < b for other in boxes[:i])


def test_labels_name_no_paths() -> None:
    for name, shown in {
        "erukg-generate": "erukg generate",
        "erukg-generate:paper": "erukg generate, paper's settings",
        "erukg-extract:model=/a/b/tiny": "erukg extract, tiny",
        "erukg-extract:alpha=1,tagger=spacy:en_core_web_sm": "erukg extract, alpha=1, tags by spaCy",
        "embedrank:/home/me/all-MiniLM-L6-v2/": "EmbedRank (all-MiniLM-L6-v2)",
        "textrank:tagger=spacy:x": "TextRank (tags by spaCy)",
        "query erukg-extract": "query, erukg extract",
        "unheard-of": "unheard-of",
    }.items():
        assert label({"name": name}) == shown
    described = {"name": "tfidf:/c/acm.jsonl.xz", "description": {"corpus": {"documents": 50_000}}}
    assert label(described) == "TF-IDF (50,000 documents)"
    assert label({"name": "rm3-30"}) == "RM3 (30 terms)"
    assert key("embedrank:/x/m") == key("embedrank:/y/m") != key("embedrank:/y/n")


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
    assert [path.name for path in plots] == ["retrieval-nDCG10.svg", "retrieval-R100.svg"]


def test_methods_stand_in_groups_and_beside_rm3(stored: Path, tmp_path: Path) -> None:
    report = json.loads((stored / "ret.json").read_text())
    page = write_results(paths(stored, "ret"), tmp_path)[0].read_text()
    table = page.split("### nDCG@10 (%)")[1].split("###")[0]
    assert [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| ")][2:] == [
        "| *Baselines*",
        "| BM25",
        "| RM3 (30 terms)",
        "| docT5query",
        "| *Controls*",
        "| title",
        "| *Keyphrases in queries*",
        "| query",
    ]
    assert "| title | the title once more as a field |" in page
    assert "Models: tiny (" in page
    assert "| query minus title | sea | nDCG@10 |" in page.split("### Other differences")[1]
    (found,) = (
        c["result"]
        for c in report["comparisons"]
        if (c["first"], c["second"], c["measure"]) == ("query", "bm25", "R@100")
    )
    minus = page.split("### Minus BM25")[1].split("###")[0]
    (row,) = (line for line in minus.splitlines() if line.startswith("| query | "))
    points, low, high = (f"{100 * found[name]:+.1f}" for name in ("difference", "low", "high"))
    assert row.split(" | ")[2].replace("*", "") == f"{points} ({low} … {high})"


def test_where_rm3_wins_is_said(stored: Path, tmp_path: Path) -> None:
    report = json.loads((stored / "ret.json").read_text())
    made = {"difference": -0.021, "low": -0.03, "high": -0.01}
    for c in report["comparisons"]:
        if (c["first"], c["second"]) in (("query", "rm3-30"), ("title", "rm3-30")):
            c["result"] |= {"nDCG@10": made, "R@100": {**made, "high": 0.01}}.get(
                c["measure"], {"difference": 0.02, "low": 0.01, "high": 0.03}
            )
    (tmp_path / "made.json").write_text(json.dumps(report))
    page = write_results([tmp_path / "made.json"], tmp_path / "r")[0].read_text()
    ahead = page.split("RM3 (30 terms) is ahead")[1].split("###")[0]
    assert "- nDCG@10: of query on sea by 2.1*.\n" in ahead
    assert "- R@100: of query on sea by 2.1.\n" in ahead
    assert "- R@1000 padded: of none of the methods" in ahead
    assert "title" not in ahead
    assert "| query | **-2.1** (-3.0 … -1.0) | -2.1 (-3.0 … +1.0) | **+2.0** (+1.0 … +3.0) |" in page


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
    def system(name: str, neighbours: int = NEIGHBOURS) -> dict[str, Any]:
        return {"name": name, "description": {"settings": {"neighbours": neighbours}}}

    runs = load_runs(paths(stored, "bench"))
    wanted = [system(n) for n in ("erukg-extract", "erukg-extract:paper", "erukg-generate", "erukg-generate:alpha=1")]
    wanted.append(system("erukg-generate:neighbours=10", 10))
    found = {s.system["name"]: s.ratio for s in speeds(runs.benchmarks, wanted) if s.system}
    assert found == {"erukg-extract": 1, "erukg-generate": pytest.approx(1 / 3)}
    assert speeds([], wanted) == []
    # Another run adds what only it timed, by the ratio to extraction in that run.
    more = {"erukg, extract": 45.0, "erukg, generate N=10": 30.0, f"erukg, generate N={NEIGHBOURS}": 1.0}
    other = Run("other", "", {"single": {"one core": {n: {"documents_per_second": r} for n, r in more.items()}}})
    found = {s.system["name"]: s.ratio for s in speeds([*runs.benchmarks, other], wanted) if s.system}
    assert found["erukg-generate"] == pytest.approx(1 / 3)
    assert found["erukg-generate:neighbours=10"] == pytest.approx(2 / 3)
    # A benchmark of another model says nothing about this one, nor does one without extraction.
    wanted[0]["description"]["model"] = {"weights": "a"}
    assert speeds([Run("x", "", {**other.report, "settings": {"model_fingerprint": "b"}})], wanted) == []
    assert speeds([Run("x", "", {"against": {"systems": {"yake": {"documents_per_second": 1}}}})], wanted) == []


def test_plots_of_extreme_figures_are_well_formed() -> None:
    for plot in (
        charts.bar_table("a & <b>", "", ["x"], [charts.Row("none", [None]), charts.Row("zero", [0.0])]),
        charts.bar_table(
            "many", "", ["x", "y"], [charts.Row("a long name " * 5, [i, None], "ours") for i in range(20)]
        ),
        charts.curves("one", "", "x", [charts.Panel("p", [charts.Curve("a", [(5, 0.0)])])], [5]),
        charts.curves(
            "log",
            "",
            "x",
            [charts.Panel("p", [charts.Curve("a", [(1, 0.001), (1e6, 0.002)], True)])],
            [1, 1e6],
            log=True,
        ),
        charts.scatter("s", "", "%", "x", [charts.Point(c * 60, 1.0, 3.0) for c in "ab"] + [charts.Point("c", 250, 3)]),
        charts.scatter("one", "", "%", "x", [charts.Point("a", 1.0, 0.0)]),
    ):
        root = ET.fromstring(plot)
        assert words(root)
        assert "nan" not in "".join(words(root))
        assert "nan" not in plot.replace("nance", "")


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
