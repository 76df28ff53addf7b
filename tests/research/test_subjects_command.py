"""`erukg evaluate subjects` from the command line to the stored run and the page."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from erukg.cli import app
from erukg.errors import InputError
from erukg.research.evaluation.results import write_results
from erukg.research.reproduce import Given, Parts, Results, choose_steps, run_steps
from tiny_archive import TEXTS, VOCABULARY, write_archive

GOLD = {"ice": ["http://example.org/ice", "to read"], "engine": ["http://example.org/engine"]}


@pytest.fixture(scope="module")
def inputs(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("subjects")
    archive = write_archive(folder, tiny_model)
    documents = [{"id": id, "text": text, "subjects": GOLD[id]} for id, text in TEXTS.items()]
    files = {
        "dev.jsonl": "".join(json.dumps(row) + "\n" for row in documents),
        "v.tsv": VOCABULARY,
        "other.jsonl": "".join(json.dumps({"id": id, "uris": uris}) + "\n" for id, uris in GOLD.items()),
        "left.txt": "to read\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return {"model": tiny_model, "archive": archive, "folder": folder}


def evaluate(inputs: dict[str, Path], tmp_path: Path, *arguments: object) -> Result:
    folder = inputs["folder"]
    line = ["evaluate", "subjects", folder / "dev.jsonl", "--vocabulary", folder / "v.tsv", "--threads", 1]
    line += ["--collection", inputs["archive"], "--model", inputs["model"], "--store", tmp_path / "store"]
    return CliRunner().invoke(app, [*map(str, line), "--samples", "100", *map(str, arguments)])


@pytest.fixture
def run(inputs: dict[str, Path], tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    output, folder = tmp_path / "run.json", inputs["folder"]
    given = ("--predictions", f"other={folder / 'other.jsonl'}", "--without", folder / "left.txt")
    result = evaluate(inputs, tmp_path, *given, "--compare", "both,label match", "-o", output)
    assert result.exit_code == 0, result.output
    return output, json.loads(output.read_text())


def test_the_stored_run(run: tuple[Path, dict[str, Any]], inputs: dict[str, Path]) -> None:
    path, report = run
    assert (report["task"], report["archive"]) == ("subjects", {"documents": 12, "tags": 4})
    rows = {row["name"]: row for row in report["rows"]}
    assert list(rows) == ["label match", "rank", "labels", "neighbours", "fused", "both", "other"]
    perfect = rows["other"]["scores"]
    assert perfect["all"]["measures"] == dict.fromkeys(("F1@5", "F1@10", "nDCG@10"), 1.0)
    assert perfect["all"]["bands"]["5–49"] == {"gold": 3, "found": 3, "recall": 1.0}
    assert perfect["without"]["bands"]["5–49"]["gold"] == 2
    # Found by its label alone, a person's own tag cannot be; by neighbours it can.
    assert rows["labels"]["scores"]["all"]["measures"]["nDCG@10"] < 1
    assert rows["neighbours"]["scores"]["all"]["bands"]["5–49"]["found"] == 2
    assert {c["measure"] for c in report["comparisons"]} == {"F1@5", "F1@10", "nDCG@10"}
    assert str(inputs["folder"]) not in path.read_text()


def test_the_page_is_made_from_it(run: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    page = write_results([run[0]], tmp_path / "page")[0].read_text()
    assert "## Subjects" in page
    assert "| other | **100.0** (100.0–100.0) | **100.0** (100.0–100.0) | **100.0** (100.0–100.0) |" in page
    assert "| erukg suggest, labels |" in page
    assert "Left out: `to read`." in page
    assert re.search(r"- erukg suggest, labels and votes: learned from [\d,]+ lessons, each a text with .*: \w", page)
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({**run[1], "rows": [{"name": "x"}]}))
    with pytest.raises(InputError, match="is not a whole run"):
        write_results([broken], tmp_path / "page")


def test_a_second_run_uses_what_is_stored(
    run: tuple[Path, dict[str, Any]], inputs: dict[str, Path], tmp_path: Path
) -> None:
    stored = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*.jsonl")}
    assert len(stored) == 6
    assert evaluate(inputs, tmp_path, "--without", inputs["folder"] / "left.txt").exit_code == 0
    assert {path: path.read_bytes() for path in (tmp_path / "store").rglob("*.jsonl")} == stored


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--row", "learned"), "The row 'learned' needs a ranking"),
        (("--row", "best"), "There is no row 'best'"),
        (("--row", "rank", "--compare", "rank,both"), "There is no row 'both' to compare; those run: rank."),
        (("--predictions", "x=none.jsonl"), "There is no file none.jsonl"),
        (("--without", "none.txt"), "none.txt"),
        (("--tags", "keywords"), "field 'keywords' names no concept"),
    ],
)
def test_mistakes_get_one_sentence(
    inputs: dict[str, Path], tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    result = evaluate(inputs, tmp_path, *arguments)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert says in line


def test_annif_is_asked_for_by_its_path(inputs: dict[str, Path], tmp_path: Path) -> None:
    dev = inputs["folder"] / "dev.jsonl"
    line = ["evaluate", "annif", dev, "--vocabulary", inputs["folder"] / "v.tsv", "--train", dev]
    result = CliRunner().invoke(app, [*map(str, line), "--command", "no-such-annif", "-o", str(tmp_path / "o")])
    assert result.exit_code == 1
    assert "There is no command no-such-annif" in result.stderr


def test_subjects_are_a_step_of_reproduce(inputs: dict[str, Path], tmp_path: Path) -> None:
    folder, data, given = inputs["folder"], tmp_path / "data", tmp_path / "given"
    for path in (data / "subjects", data / "vocabularies", given / "annif"):
        path.mkdir(parents=True)
    for name, text in (
        ("subjects/pubmed_mesh_dev.jsonl.xz", (folder / "dev.jsonl").read_bytes()),
        ("vocabularies/mesh_id_label_synonyms.tsv.xz", VOCABULARY.encode()),
    ):
        (data / name).write_bytes(lzma.compress(text))
    (given / "tagged").symlink_to(inputs["archive"])
    (given / "annif" / "MLLM.jsonl").write_text((folder / "other.jsonl").read_text())
    results, steps = Results(tmp_path / "out", tmp_path / "store", quick=True), choose_steps(["subjects"])
    parts = Parts(Given(data, model=str(inputs["model"]), subjects=given))
    outcome = run_steps(steps, parts, results, threads=1)[0]
    assert outcome.status == "made", outcome
    assert list(outcome.lacking) == ["subject-ranking"]
    report = json.loads(results.run(steps[0]).read_text())
    assert [row["name"] for row in report["rows"]][-2:] == ["both", "Annif MLLM"]
    assert {(c["first"], c["second"]) for c in report["comparisons"]} >= {("labels", "Annif MLLM"), ("both", "fused")}
    assert run_steps(steps, parts, results, threads=1)[0].status == "stored"
    assert results.runs_on_page() == [results.run(steps[0])]
