"""CSV, TSV and Parquet in and out of every command that reads documents, without a cluster."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from cli.conftest import Run
from erukg.cli import app

ROWS = [
    {"id": "a", "title": "Radar", "text": 'A "search engine";\nfor\tradar, images.', "year": 2001},
    {"id": "b", "title": "Ice", "text": "A neural network sees sea ice.", "year": 2002},
]
FORMS = ["jsonl", "csv", "tsv", "parquet"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in every form."""
    folder = tmp_path_factory.mktemp("tables")
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    pq.write_table(pa.Table.from_pylist(ROWS), folder / "in.parquet")
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        with (folder / f"in.{name}").open("w", newline="") as file:
            writer = csv.DictWriter(file, ROWS[0], delimiter=delimiter)
            writer.writeheader()
            writer.writerows(ROWS)
    return folder


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def phrases(rows: list[dict[str, Any]], kinds: tuple[str, ...]) -> list[tuple[str, str]]:
    """Ids and phrases of results, whether in lists or one to a row."""
    if rows and "phrase" in rows[0]:
        return [(row["id"], row["phrase"]) for row in rows]
    return [(row["id"], each["phrase"]) for row in rows for kind in kinds for each in row[kind]]


@pytest.mark.parametrize("command", ["extract", "rank"])
@pytest.mark.parametrize("form", FORMS)
def test_results(run: Run, files: Path, tmp_path: Path, command: str, form: str) -> None:
    more = ("--phrase", "sea ice", "--phrase", "search engine") if command == "rank" else ("-k", "3")
    kinds = ("phrases",) if command == "rank" else ("present", "absent")
    found = []
    for name in FORMS:
        out = tmp_path / f"{name}.{form}"
        result = run(command, files / f"in.{name}", "-o", out, *more)
        assert result.exit_code == 0, result.output
        found.append(phrases(read(out), kinds))
    assert {id for id, _ in found[0]} == {"a", "b"}
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("form", FORMS)
def test_expanded_rows_keep_their_columns(run: Run, files: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"out.{form}"
    assert run("expand", files / f"in.{form}", "-o", out).exit_code == 0
    rows = read(out)
    assert [row["text"] for row in rows] == [row["text"] for row in ROWS]
    years = [row["year"] if "year" in row else json.loads(row["metadata"])["year"] for row in rows]
    assert list(map(int, years)) == [2001, 2002]
    first = rows[0]["present"]
    assert "search engine" in (first.split("; ") if isinstance(first, str) else first)


def test_expanded_queries(run: Run, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "q.csv"
    assert run("expand", files / "in.parquet", "--queries", "-o", out).exit_code == 0
    found = read(out)[0]["expansion"].split("; ")
    assert "search engine" in {each.split("^")[0] for each in found}
    assert all(float(each.split("^")[1]) > 0 for each in found)


def test_own_phrases_of_a_table(tiny_model: Path, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "own.tsv"
    line = ["expand", "--model", tiny_model, files / "in.parquet", "--own", "-o", out]
    result = CliRunner().invoke(app, list(map(str, line)))
    assert result.exit_code == 0, result.output
    assert [row["_id"] for row in read(out)] == ["a", "b"]
    assert (tmp_path / "own.tsv.collection").is_dir()


def test_columns_that_json_does_not_have(run: Run, tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "A search engine.", "day": datetime.date(2020, 1, 2), "raw": b"x"}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    for form in FORMS:
        out = tmp_path / f"out.{form}"
        assert run("expand", tmp_path / "in.parquet", "-o", out).exit_code == 0
        (row,) = read(out)
        assert (row if "day" in row else json.loads(row["metadata"]))["day"] == "2020-01-02"


@pytest.mark.parametrize("form", FORMS)
def test_vectors(run: Run, files: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"v.{form}"
    assert run("encode", files / f"in.{form}", "-o", out, "--terms", "3").exit_code == 0
    rows = read(out)
    assert [row["id"] for row in rows] == ["a", "b"]
    numbers = rows[0]["indices"].split("; ") if isinstance(rows[0]["indices"], str) else rows[0]["indices"]
    assert len(list(map(int, numbers))) == 3


@pytest.mark.parametrize("form", FORMS)
def test_concepts(tiny_model: Path, files: Path, tmp_path: Path, form: str) -> None:
    vocabulary, out = tmp_path / "v.txt", tmp_path / f"out.{form}"
    vocabulary.write_text("sea ice\nsearch engines\n")
    line = ["suggest", "--model", tiny_model, files / f"in.{form}", "-v", vocabulary, "--new-terms", 2, "-o", out]
    result = CliRunner().invoke(app, list(map(str, line)))
    assert result.exit_code == 0, result.output
    if form != "tsv":  # Annif's, which has no header
        found = read(out)[0]
        found = found["suggestions"][0] if "suggestions" in found else found
        assert found["label"] == "search engines"
    if form == "parquet":
        first = read(out)[0]
        assert first["suggestions"][0]["matches"][0].keys() == {"label", "start", "end"}
        assert len(first["new_terms"]) == 2
        assert json.loads(first["suggestions"][0]["why"])


@pytest.mark.parametrize("form", [*FORMS, "txt"])
def test_phrases_to_rank(run: Run, files: Path, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"phrases.{form}"
    table = [{"phrase": "sea ice"}, {"phrase": "search engine"}]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist([*table, {"phrase": None}]), path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table))
    else:
        path.write_text(("" if form == "txt" else "phrase\n") + "sea ice\nsearch engine\n")
    result = run("rank", files / "in.jsonl", "--phrases", path)
    assert result.exit_code == 0, result.output
    assert all(len(json.loads(line)["phrases"]) == 2 for line in result.stdout.splitlines())


def test_a_table_without_phrases(run: Run, files: Path, tmp_path: Path) -> None:
    result = run("rank", files / "in.jsonl", "--phrases", files / "in.parquet")
    assert result.exit_code == 1
    assert "has no column 'phrase'." in result.stderr
    pq.write_table(pa.Table.from_pylist([{"phrase": 1}]), tmp_path / "p.parquet")
    result = run("rank", files / "in.jsonl", "--phrases", tmp_path / "p.parquet")
    assert "p.parquet, row 1: It is no string." in result.stderr


@pytest.mark.parametrize("command", ["expand", "encode", "extract"])
def test_tables_cannot_be_resumed(run: Run, files: Path, tmp_path: Path, command: str) -> None:
    for form in ("csv", "tsv", "parquet"):
        result = run(command, files / "in.jsonl", "-o", tmp_path / f"out.{form}", "--resume")
        assert result.exit_code == 2
