"""`erukg encode`: documents and queries in, sparse vectors out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from erukg import KeyphraseGenerator
from erukg.cli import app
from erukg.core.sparse import TermCounts

Run = Callable[..., Result]
ROWS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Sparse retrieval", "text": "A fast search engine."},
    {"_id": "d2", "text": "Passive radar images of sea ice"},
    {"_id": 3, "text": ""},
    {"id": "d4", "abstract": "Random graphs"},
]
TEXTS = ["Sparse retrieval\nA fast search engine.", "Passive radar images of sea ice", "", "Random graphs"]


@pytest.fixture
def run(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("encode", "a.jsonl")` with the tiny model."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(command: str, *arguments: object, input: str | None = None) -> Result:
        line = [command, "--model", str(tiny_model), *map(str, arguments)]
        return CliRunner().invoke(app, line, input=input)

    return call


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_three_formats_of_the_same_vectors(
    run: Run, corpus: Path, tmp_path: Path, tiny_generator: KeyphraseGenerator
) -> None:
    vectors = [tiny_generator.encode(text, 9) for text in TEXTS]
    ids = ["d1", "d2", "3", "d4"]
    output = tmp_path / "v.jsonl"
    result = run("encode", corpus, "-o", output, "--terms", 9)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "erukg: 3: The text has no words that say anything, so its vector is empty.\n"
    rows = zip(ids, vectors, strict=True)
    assert read(output) == [{"id": id, "indices": list(v.indices), "values": list(v.values)} for id, v in rows]
    named = run("encode", corpus, "--terms", 9, "--format", "tokens")
    lines = [json.loads(line) for line in named.stdout.splitlines()]
    assert lines == [{"id": id, "tokens": v.weights()} for id, v in zip(ids, vectors, strict=True)]
    assert run("encode", corpus, "--terms", 9, "-o", tmp_path / "v.parquet").exit_code == 0
    table = pq.read_table(tmp_path / "v.parquet").to_pylist()
    assert [row["tokens"] for row in table] == [list(v.tokens) for v in vectors]
    assert [row["indices"] for row in table] == [list(v.indices) for v in vectors]
    assert table[0]["values"] == pytest.approx(vectors[0].values)
    assert [row["id"] for row in table] == ids


def test_idf_from_documents_to_queries(
    run: Run, corpus: Path, tmp_path: Path, tiny_generator: KeyphraseGenerator
) -> None:
    counts, output = tmp_path / "idf.json", tmp_path / "v.jsonl"
    assert run("encode", corpus, "-o", output, "--save-idf", counts, "--terms", 9).exit_code == 0
    saved = json.loads(counts.read_text())
    expected: dict[str, int] = {}
    for row in read(output):
        for index in row["indices"]:
            expected[str(index)] = expected.get(str(index), 0) + 1
    assert saved["counts"] == expected
    assert (saved["documents"], saved["term_space"]) == (3, tiny_generator.backend.term_space)
    result = run("encode", "--idf", counts, "--input-format", "text", "--terms", 9, input="sea ice search")
    row = json.loads(result.stdout)
    plain = tiny_generator.encode("sea ice search", 9)
    products = {
        index: value * math.log(1 + (3 - max(n, 1) + 0.5) / (max(n, 1) + 0.5))
        for index, value in zip(plain.indices, plain.values, strict=True)
        for n in [expected.get(str(index), 0)]
    }
    assert dict(zip(row["indices"], row["values"], strict=True)) == pytest.approx(products, rel=2e-3)


@pytest.mark.parametrize("form", ["indices", "tokens"])
def test_resumed_it_does_and_counts_only_the_rest(run: Run, corpus: Path, tmp_path: Path, form: str) -> None:
    output, counts = tmp_path / "v.jsonl", tmp_path / "idf.json"
    call = ("encode", corpus, "-o", output, "--format", form, "--save-idf", counts)
    assert run(*call).exit_code == 0
    whole, saved = output.read_text(), counts.read_text()
    counts.unlink()
    lines = whole.splitlines(keepends=True)
    output.unlink()
    part = tmp_path / "v.jsonl.part"
    part.write_text("".join(lines[:2]) + lines[2][:9])
    assert run(*call, "--resume").exit_code == 0
    assert (output.read_text(), counts.read_text()) == (whole, saved)
    output.write_text('{"id": "d1", "indices": [99999999], "values": [1]}\n')
    result = run(*call, "--resume")
    assert result.exit_code == 1
    assert "is no vector of this model" in result.stderr


def test_bad_rows_are_named_and_skipped(run: Run, tmp_path: Path) -> None:
    path, counts = tmp_path / "c.jsonl", tmp_path / "idf.json"
    path.write_text('{"_id": "x", "tex\n{"_id": "x", "text": 4}\n{"_id": "good", "text": "sea ice"}\n')
    result = run("encode", path, "--save-idf", counts)
    assert result.exit_code == 3
    assert json.loads(result.stdout)["id"] == "good"
    assert [line.split(": ")[1] for line in result.stderr.splitlines()[:2]] == [f"{path}:1", f"{path}:2"]
    assert json.loads(counts.read_text())["documents"] == 1
    path.write_text('{"_id": "x"}\n')
    counts.unlink()
    assert run("encode", path, "--save-idf", counts).exit_code == 1
    assert not counts.exists()


def test_many_empty_vectors_are_counted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps({"id": str(i), "text": "the of"}) + "\n" for i in range(5)))
    result = run("encode", path)
    assert result.stderr == "erukg: Too short to choose from: 5 of 5 documents, the first is 0.\n"


def test_wrong_command_lines(run: Run, corpus: Path, tmp_path: Path) -> None:
    for arguments, code, message in (
        (("--resume",), 2, "--output FILE"),
        (("--format", "parquet"), 2, "name it with --output"),
        (("--format", "parquet", "-o", tmp_path / "x", "--resume"), 2, "indices or tokens"),
        (("--idf", "a", "--save-idf", "b"), 2, "give one"),
        (("--terms", "0"), 2, "--terms"),
        (("--output", corpus), 1, "is also an input"),
        (("--save-idf", corpus), 1, "is also an input"),
        (("--save-idf", tmp_path), 1, "no place for a file"),
        (("--save-idf", tmp_path / "none" / "x"), 1, "no place for a file"),
        (("--save-idf", tmp_path / "x", "-o", tmp_path / "x"), 1, "name two files"),
        (("--idf", tmp_path / "none"), 1, "no such file"),
        (("--idf", corpus), 1, "is no file for --idf"),
    ):
        result = run("encode", corpus, *arguments)
        assert (result.exit_code, message in result.output) == (code, True), (arguments, result.output)


def test_counts_of_another_model_are_refused(run: Run, corpus: Path, tmp_path: Path, tiny_model: Path) -> None:
    other = TermCounts("another", json.loads((tiny_model / "config.json").read_text())["vocab_size"])
    path = tmp_path / "idf.json"
    path.write_text(json.dumps(other.to_dict()))
    result = run("encode", corpus, "--idf", path)
    assert result.exit_code == 1
    assert "another model" in result.stderr
