"""What the command says of texts that it cannot answer well for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from erukg.cli import app
from erukg.core.notices import HEADINGS

Run = Callable[..., Result]
GERMAN = "Die Suche nach neural network Daten beginnt am Bahnhof und endet nach zwei Stunden in der Stadt."
SENTENCE = "The text seems to be German; erukg is made for English"


@pytest.fixture
def texts(tmp_path: Path) -> Callable[..., list[Path]]:
    def write(*contents: str) -> list[Path]:
        paths = [tmp_path / f"{number}.txt" for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_text(content)
        return paths

    return write


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_of_one_text_it_is_said_in_a_line(run: Run, texts: Callable[..., list[Path]], form: str) -> None:
    result = run("generate", *texts(GERMAN), "--format", form)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"erukg: {SENTENCE}")
    assert ("notices" in result.stdout) == (form == "json")
    if form == "json":
        (notice,) = json.loads(result.stdout)["notices"]
        assert line == f"erukg: {notice['message']}"


def test_of_a_few_texts_each_is_named(run: Run, texts: Callable[..., list[Path]]) -> None:
    paths = texts(GERMAN, "sparse graph search", "graph", GERMAN)
    lines = run("extract", *paths, "--format", "table").stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == [str(paths[0]), str(paths[3]), str(paths[2])]
    assert SENTENCE in lines[0]
    assert "single word" in lines[2]


def test_many_texts_are_counted(run: Run, texts: Callable[..., list[Path]]) -> None:
    paths = texts("sparse graph", *[GERMAN] * 12, "graph")
    lines = run("rank", *paths, "--phrase", "graph").stderr.splitlines()
    assert lines[0] == f"erukg: {HEADINGS['not-english']}: 12 of 14 documents, the first is {paths[1]}."
    assert lines[1:] == [f"erukg: {paths[13]}: The text is a single word, so there is nothing in it to choose from."]


def test_who_knows_that_texts_are_english_hears_nothing(run: Run, texts: Callable[..., list[Path]]) -> None:
    result = run("generate", *texts(GERMAN), "--language", "en")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "notices" not in json.loads(result.stdout)
    result = run("generate", *texts(GERMAN), "--language", "de")
    assert result.exit_code == 2
    assert "'auto', 'en'" in result.output


def test_absent_phrases_are_withheld(
    tiny_model: Path, tiny_collection: Path, texts: Callable[..., list[Path]], tmp_path: Path
) -> None:
    parts = ["--model", str(tiny_model), "--collection", str(tiny_collection)]
    output = tmp_path / "out.parquet"
    names = [str(path) for path in texts(GERMAN, "sparse neural network search")]
    assert CliRunner().invoke(app, ["generate", *parts, *names, "--output", str(output)]).exit_code == 0
    german, english = pq.read_table(output).to_pylist()
    assert german["absent"] == []
    assert [notice["code"] for notice in german["notices"]] == ["not-english"]
    assert english["absent"]
    assert english["notices"] == []
