"""Predictions in KPEval's form, read and written, and the options of the command that print more."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from erukg.cli.evaluate import app
from erukg.errors import InputError
from erukg.research.evaluation import Dataset, load_set, load_sets
from erukg.research.evaluation.keyphrases import Scoring, evaluate
from erukg.research.evaluation.kpeval import FileSystem, write_predictions
from erukg.research.evaluation.metrics import STORED
from erukg.research.evaluation.results import write_results
from erukg.research.evaluation.systems import make_system
from evaluation.eval_samples import TEXTS, write_sets

ROOT = Path(__file__).parents[2]
PHRASES = ["search engine; index ;document collection", "sea ice", "", "language models;deep learning;"]


@pytest.fixture
def inspec(tmp_path: Path) -> Dataset:
    return load_set(write_sets(tmp_path / "sets") / "inspec.jsonl")


def rows(**changes: object) -> list[dict[str, Any]]:
    """KPEval's own three fields, text prepared as its authors prepare it."""
    return [
        {
            "source": f"{title.lower()} [sep] {text.lower()[:-1]} .",
            "target": ";".join(gold),
            "predictions": p,
            **changes,
        }
        for (title, text, gold), p in zip(TEXTS, PHRASES, strict=True)
    ]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_of_another_system_is_read(tmp_path: Path, inspec: Dataset) -> None:
    given = FileSystem("file:x", str(write(tmp_path / "x.json", rows()))).for_set(inspec)
    assert list(given.lists) == [
        ["search engine", "index", "document collection"],
        ["sea ice"],
        [],
        ["language models", "deep learning"],
    ]
    assert list(given.predictions[0]) == [["search engine", "document collection"], ["index"]]  # by stems
    (result,) = evaluate([make_system(f"file:{tmp_path / 'x.json'}")], [inspec], scoring=Scoring(STORED, wider=True))
    assert result.scores["stemmed"][0].present["P@M"] == pytest.approx((1 / 2 + 1 + 0 + 1) / 4)
    assert result.scores["stemmed"][0].absent["R@M"] == pytest.approx((1 + 0 + 0) / 3)
    # One list: the file's own order, 2 of 3, 1 of 1, none, 2 of 2 right.
    assert result.all_gold["samrank"][0].kinds["all"]["P@5u"] == pytest.approx((2 / 3 + 1 + 0 + 1) / 4)
    assert result.predictions["inspec"] == given.sha256


def test_lists_ids_word_pieces_and_compression(tmp_path: Path, inspec: Dataset) -> None:
    lines = [{"id": f"d{i}", "prediction": [f"phrase {i}", " lear ##ning "]} for i in (3, 1, 0, 2)]
    with gzip.open(tmp_path / "inspec.jsonl.gz", "wt") as stream:
        stream.write("\n".join(map(json.dumps, lines)))
    given = FileSystem("f", f"{tmp_path}/{{set}}.jsonl.gz").for_set(inspec)
    assert [phrases[0] for phrases in given.lists] == [f"phrase {i}" for i in range(4)]
    assert given.lists[0][1] == "learning"
    assert next(iter(FileSystem("f", f"{tmp_path}/inspec.jsonl.gz").predict(inspec.records[3:])))[1][0] == "phrase 3"
    # Ids that the set does not know are KPEval's running numbers: order counts.
    numbered = write(tmp_path / "n.json", [{**row, "id": i} for i, row in enumerate(rows())])
    assert FileSystem("f", str(numbered)).for_set(inspec).lists[1] == ["sea ice"]
    assert len(FileSystem("f", str(numbered)).for_set(inspec.first(2)).lists) == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "has 0 lines for the 4 documents of 'inspec'"),
        (rows()[:3], "has 3 lines for the 4 documents of 'inspec'"),
        ([{"predictions": "a"}] * 5, "has 5 lines for the 4 documents"),
        (rows()[::-1], "line 1: its 'source' is another text than the document 'd0' of 'inspec'"),
        (rows(predictions=3), "line 1: The field 'predictions' must hold phrases"),
        (rows(predictions=["a", None]), "line 1: The field 'predictions' must hold phrases"),
        ([{"source": "x"}], "line 1: The field 'predictions' must hold phrases"),
        (rows(present=["a"], absent={}), "line 1: The field 'absent' must hold phrases"),
        (rows(predictions=";".join("a" * 10_001)), "line 1: The field 'predictions' holds 10,001 phrases"),
        (rows(predictions="a" * 1001), "line 1: A phrase has 1,001 characters"),
        (rows(id="same"), "line 2: the id 'same' stands in line 1"),
        ([{"id": "d0", "predictions": "a"}], "has no predictions for the document 'd1' of the set 'inspec'"),
    ],
)
def test_files_that_cannot_be_right_are_refused(
    tmp_path: Path, inspec: Dataset, lines: list[dict[str, Any]], message: str
) -> None:
    path = write(tmp_path / "x.json", [dict(line) for line in lines])
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        FileSystem("file:x", str(path)).for_set(inspec)
    assert "\n" not in str(caught.value)


def test_paths_that_lead_nowhere(tmp_path: Path, inspec: Dataset) -> None:
    (tmp_path / "x.json").write_text("[1]\n")
    for spec, message in (
        ("file", "needs the path of a file"),
        ("file:", "needs the path of a file"),
        (f"file:{tmp_path}/none.json", "There is no file .*none.json"),
        (f"file:{tmp_path}", "There is no file"),
    ):
        with pytest.raises(InputError, match=message):
            make_system(spec)
    with pytest.raises(InputError, match=r"There is no file .*inspec\.txt with predictions for the set 'inspec'"):
        evaluate([make_system(f"file:{tmp_path}/{{set}}.txt")], [inspec])
    with pytest.raises(InputError, match="line 1: It is JSON, but not an object"):
        evaluate([make_system(f"file:{tmp_path}/x.json")], [inspec])
    with pytest.raises(InputError, match="give a path without"):
        next(iter(FileSystem("f", "{set}.json").predict(inspec.records)))
    one = write(tmp_path / "one.json", [{"id": "d0", "predictions": "a"}])
    with pytest.raises(InputError, match="no predictions for the document 'd1'"):
        list(FileSystem("f", str(one)).predict(inspec.records))


def test_what_is_written_is_kpevals_form_and_reads_back(tmp_path: Path, inspec: Dataset) -> None:
    predictions = [(["Search-engine", "a;b"], ["out of-text"]), ([], []), (["random graphs"], []), ([], ["sampling"])]
    path = write_predictions(tmp_path, "erukg-extract:alpha=1", inspec, predictions)
    assert path.relative_to(tmp_path) == Path("inspec/erukg-extract_alpha_1/inspec_hypotheses_linked.json")
    first, *_ = (json.loads(line) for line in path.read_text().splitlines())
    assert first["source"] == (
        "Sparse retrieval [sep] We propose a fast search engine for large document collections ."
    )
    assert (first["target"], first["predictions"]) == ("search engine;index", "Search engine;a , b;out of text")
    back = FileSystem("file:x", str(path)).for_set(inspec)
    assert [tuple(map(list, kinds)) for kinds in back.predictions] == predictions
    with pytest.raises(InputError, match="Predictions cannot be written"):
        write_predictions(path, "x", inspec, predictions)
    systems = [FileSystem(name, str(path)) for name in ("file:a", "file_a")]
    with pytest.raises(InputError, match="'file:a' and 'file_a' would be one file"):
        evaluate(systems, [inspec], written=tmp_path)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_command_stores_and_prints_what_is_asked_for(tmp_path: Path) -> None:
    sets, out = write_sets(tmp_path / "sets"), tmp_path / "r.json"
    common = ("keyphrases", sets, "--store", tmp_path / "store", "-s", "yake")
    plain = run(*common, "--predictions", tmp_path / "written", "-o", out)
    for word in ("category", "all gold", "F@M"):
        assert word not in plain
    report = json.loads(out.read_text())
    assert report["top_k"] == 50
    assert sum(report["sets"][0]["prmu"].values()) == 10
    (yake,) = report["systems"]
    cell = yake["scores"]["paper"]["sets"]["inspec"]["present"]
    assert set(cell) == {"documents", *STORED}
    assert set(yake["prmu"]["sets"]["inspec"]) == set("PRMU")
    assert set(yake["all_gold"]) == {"samrank", "promptrank"}
    # A stored run becomes a page as before, and a file scores as the system that wrote it.
    assert write_results([out], tmp_path / "page")
    file = f"file:{tmp_path}/written/{{set}}/yake/{{set}}_hypotheses_linked.json"
    text = run(
        *common, "-s", file, "--measures", "F@M,micro-F@3", "--prmu", "--all-gold", "--compare", "yake", file,
        "--samples", 10, "-o", out,
    )  # fmt: skip
    for word in ("gold phrases by category", "recall by category", "convention 'promptrank'", "F@M", "micro-F@3"):
        assert word in text
    assert "P@10" not in text
    report = json.loads(out.read_text())
    ours, theirs = report["systems"]
    for part in ("scores", "prmu", "all_gold"):
        assert ours[part] == theirs[part]
    assert "micro-F@3" in ours["scores"]["paper"]["average"]["present"]
    assert {(c["metric"], c["result"]["difference"]) for c in report["comparisons"]} == {("F@M", 0.0)}


def test_list_length_is_what_systems_are_asked_for(tmp_path: Path, tiny_model: Path) -> None:
    sets, out = write_sets(tmp_path / "sets"), tmp_path / "r.json"
    run(
        "keyphrases", sets / "nus.jsonl", "--model", tiny_model, "-s", "erukg-extract", "-s", "yake", "-k", 1,
        "--store", tmp_path / "store", "-o", out,
    )  # fmt: skip
    report = json.loads(out.read_text())
    assert report["top_k"] == report["systems"][0]["description"]["top_k"] == 1
    for system in report["systems"]:
        cell = system["scores"]["stemmed"]["sets"]["nus"]["present"]
        assert cell["P@M"] == pytest.approx(5 * cell["P@5"])  # one phrase each, of five places
        assert cell["R@10"] == cell["R@M"]


def test_commands_of_the_page_run(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "measures.md").read_text()
    commands = re.findall(r"^    erukg (evaluate keyphrases .*)$", page, re.MULTILINE)
    assert len(commands) > 5
    write_sets(tmp_path / "sets")
    monkeypatch.chdir(tmp_path)
    for name, kept in (("inspec", TEXTS), ("nus", TEXTS[1:])):
        write(tmp_path / f"{name}.predictions.jsonl", [{"predictions": "sea ice;index"}] * len(kept))
    for command in commands:
        run(*shlex.split(command)[1:], "--model", tiny_model)
    assert len(load_sets(["sets"])) == 2
