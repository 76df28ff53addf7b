"""The figures on the front page are those of the stored runs, and nothing is said that they do not show."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from erukg.errors import InputError
from erukg.research.evaluation.results.front_page import BEGIN, END, render_front_page, write_front_page
from erukg.research.evaluation.results.runs import load_runs
from erukg.research.reproduce import Results

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
NEEDED = ("ours", "baselines", "vectors", "retrieval", "readers")


def test_front_page_shows_the_stored_runs(tmp_path: Path) -> None:
    """After a change of the runs: erukg reproduce --pages -o docs/results --readme README.md."""
    runs = load_runs(Results(RESULTS, RESULTS / "store").runs_on_page())
    files = {path.name: f"docs/results/{path.name}" for path in RESULTS.iterdir() if path.is_file()}
    readme = (ROOT / "README.md").read_text("utf-8")
    assert readme.partition(BEGIN)[2].partition(END)[0] == render_front_page(runs, files)


@pytest.fixture
def rendered(tmp_path: Path) -> Callable[..., str]:
    """The front page of the stored runs after changes to them, or without some."""

    def render(*without: str, **changes: Callable[[dict[str, Any]], None]) -> str:
        paths = []
        for name in NEEDED:
            if name in without:
                continue
            paths.append(RESULTS / "runs" / f"{name}.json")
            if name in changes:
                report = json.loads(paths[-1].read_text())
                changes[name](report)
                paths[-1] = tmp_path / f"{name}.json"
                paths[-1].write_text(json.dumps(report))
        return render_front_page(load_runs(paths), {"README.md": "there/README.md"})

    return render


def named(report: dict[str, Any], name: str, part: str = "systems") -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in report[part] if one["name"] == name)
    return found


def test_another_figure_makes_another_page(rendered: Callable[..., str]) -> None:
    def change(report: dict[str, Any]) -> None:
        named(report, "erukg-generate")["scores"]["paper"]["average"]["present"]["F@10"] = 0.1234

    assert " / 12.3** |" not in rendered()
    assert " / 12.3** |" in rendered(ours=change)


def test_rows_without_a_run_are_left_out(rendered: Callable[..., str]) -> None:
    whole, part = rendered(), rendered("vectors", "retrieval")
    assert "| EmbedRank (all-MiniLM-L6-v2) |" in whole
    assert "EmbedRank" not in part
    assert "In search" in whole
    assert "In search" not in part
    assert "nDCG@10" not in part
    assert "RM3" not in part
    assert "| YAKE |" in part
    for text in (whole, part, rendered(*NEEDED[1:])):
        assert "{{" not in text
        assert "}}" not in text
        assert "CopyRNN" not in text
        assert "![" not in text, "there are no plots in this folder"


def test_a_trained_baseline_gets_its_row(rendered: Callable[..., str]) -> None:
    def add(report: dict[str, Any]) -> None:
        system = copy.deepcopy(named(report, "yake"))
        system["name"] = "copyrnn:copyrnn"
        system["scores"]["paper"]["average"]["absent"] |= {"R@5": 0.0531, "R@10": 0.0712}
        report["systems"].append(system)

    yake = next(line for line in rendered().splitlines() if line.startswith("| YAKE |"))
    figures = yake.removeprefix("| YAKE | ").removesuffix(" | – |")
    assert f"| *supervised:* CopyRNN, trained here | {figures} | 5.3 / 7.1 |" in rendered(baselines=add).splitlines()


def test_sentences_hold_of_the_figures_beside_them(rendered: Callable[..., str]) -> None:
    def better(report: dict[str, Any]) -> None:
        named(report, "query", "methods")["scores"]["average"]["nDCG@10"] = 0.99

    def repeating(report: dict[str, Any]) -> None:
        named(report, "erukg-generate")["scores"]["total"]["repetition"] = 0.05

    before, after = rendered(), rendered(retrieval=better, readers=repeating)
    assert "do no better than RM3" in before
    assert "do no better than RM3" not in after
    assert "lists repeat nothing" in before
    assert "5.0 % of its phrases repeat another" in after


def test_only_what_is_between_the_marks_is_written(tmp_path: Path) -> None:
    results = tmp_path / "docs" / "results"
    results.mkdir(parents=True)
    (results / "README.md").write_text("")
    readme = tmp_path / "README.md"
    runs = [RESULTS / "runs" / "ours.json"]
    readme.write_text(f"before\n{BEGIN}of before\n{END}\nafter\n")
    write_front_page(runs, results, readme)
    text = readme.read_text()
    assert text.startswith(f"before\n{BEGIN}F@5 / F@10")
    assert text.endswith(f"(docs/results/README.md).\n{END}\nafter\n")
    assert "of before" not in text
    write_front_page(runs, results, readme)
    assert readme.read_text() == text
    readme.write_text("no marks")
    with pytest.raises(InputError, match="figures:begin"):
        write_front_page(runs, results, readme)
    with pytest.raises(InputError, match="cannot be read"):
        write_front_page(runs, results, tmp_path / "none.md")


def test_quick_and_whole_runs_are_not_mixed(tmp_path: Path) -> None:
    report = json.loads((RESULTS / "runs" / "readers.json").read_text())
    (tmp_path / "quick.json").write_text(json.dumps({**report, "reproduce": {"quick": True}}))
    with pytest.raises(InputError, match=r"quick\.json is a quick run and ours\.json is a whole one"):
        load_runs([RESULTS / "runs" / "ours.json", tmp_path / "quick.json"])
    with pytest.raises(InputError, match="whole runs alone"):
        render_front_page(load_runs([tmp_path / "quick.json"]), {})
