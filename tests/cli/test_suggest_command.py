"""suggest as a user runs it: a tiny model, a small vocabulary and a small archive with tags."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from erukg.cli import app
from tiny_archive import TEXTS, VOCABULARY, write_archive

Suggest = Callable[..., Result]
COMMAND = [sys.executable, "-m", "erukg.cli"]


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    path = tmp_path / "v.tsv"
    path.write_text(VOCABULARY)
    return path


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()))
    return path


@pytest.fixture(scope="module")
def archive(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archive(tmp_path_factory.mktemp("archive"), tiny_model)


@pytest.fixture
def suggest(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Suggest:
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object, input: str | None = None) -> Result:
        line = ["suggest", "--model", str(tiny_model), *map(str, arguments)]
        return CliRunner().invoke(app, line, input=input)

    return call


def found(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_concepts_in_the_text_come_with_their_places(suggest: Suggest, documents: Path, vocabulary: Path) -> None:
    ice, engine = found(suggest(documents, "--vocabulary", vocabulary))
    assert {one["uri"] for one in ice["suggestions"][:2]} == {"http://example.org/ice", "http://example.org/radar"}
    first = next(one for one in ice["suggestions"] if one["uri"] == "http://example.org/ice")
    assert {TEXTS["ice"][m["start"] : m["end"]].lower() for m in first["matches"]} == {"sea ice"}
    assert 0 <= first["confidence"] <= 1
    assert engine["suggestions"][0]["label"] == "Engines, Search"
    assert not engine["new_terms"]


def test_neighbours_vote(suggest: Suggest, documents: Path, vocabulary: Path, archive: Path) -> None:
    ice, _ = found(suggest(documents, "--vocabulary", vocabulary, "--collection", archive))
    first = ice["suggestions"][0]
    assert first["uri"] == "http://example.org/ice"
    assert {vote["title"] for vote in first["votes"]} == {"On ice"}


def test_an_archives_own_tags_need_no_vocabulary(suggest: Suggest, documents: Path, archive: Path) -> None:
    ice, engine = found(suggest(documents, "--collection", archive))
    assert {"to read", "http://example.org/ice"} >= {one["uri"] for one in ice["suggestions"][:1]}
    assert engine["suggestions"][0]["uri"] in ("work", "http://example.org/engine")


def test_how_many_and_how_sure(suggest: Suggest, documents: Path, vocabulary: Path) -> None:
    assert all(len(row["suggestions"]) == 1 for row in found(suggest(documents, "-v", vocabulary, "-k", 1)))
    for row in found(suggest(documents, "-v", vocabulary, "--min-confidence", 0.9)):
        assert all(one["confidence"] >= 0.9 for one in row["suggestions"])


def test_new_terms_are_not_in_the_vocabulary(suggest: Suggest, documents: Path, vocabulary: Path) -> None:
    for row in found(suggest(documents, "-v", vocabulary, "--new-terms", 3)):
        terms = [term["phrase"] for term in row["new_terms"]]
        assert 0 < len(terms) <= 3
        assert not {"sea ice", "radar", "search engine"} & set(terms)


def test_formats(suggest: Suggest, documents: Path, vocabulary: Path, tmp_path: Path) -> None:
    rows = found(suggest(documents, "-v", vocabulary))
    wanted = [(row["id"], one["uri"]) for row in rows for one in row["suggestions"]]
    out = {form: tmp_path / f"o.{form}" for form in ("tsv", "csv", "jsonld", "jsonl", "txt")}
    for path in out.values():
        assert suggest(documents, "-v", vocabulary, "-o", path).exit_code == 0
    lines = [line.split("\t") for line in out["tsv"].read_text().splitlines()]
    assert [(cells[3], cells[0].strip("<>")) for cells in lines] == wanted
    cells = csv.DictReader(io.StringIO(out["csv"].read_text()))
    assert [(row["id"], row["uri"]) for row in cells] == wanted
    graph = json.loads(out["jsonld"].read_text())["@graph"]
    named = [(node["dcterms:identifier"], one["@id"]) for node in graph for one in node["dcterms:subject"]]
    assert named == wanted
    assert [json.loads(line) for line in out["jsonl"].read_text().splitlines()] == rows
    assert "Engines, Search" in out["txt"].read_text()


def test_tsv_of_one_document_is_annifs(suggest: Suggest, vocabulary: Path) -> None:
    result = suggest("-", "-v", vocabulary, "--format", "tsv", input=TEXTS["engine"])
    first = result.stdout.splitlines()[0].split("\t")
    assert first[:2] == ["<http://example.org/engine>", "Engines, Search"]
    assert len(first) == 3
    assert 0 <= float(first[2]) <= 1


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "Give your concepts with --vocabulary FILE"),
        (("-v", "none.tsv"), 1, "none.tsv"),
        (("-v", "{v}", "--ranking", "r"), 2, "A ranking is learned from an archive"),
        (("-v", "{v}", "--resume"), 2, "It goes with --output FILE in the format jsonl"),
        (("-v", "{v}", "-o", "o.html"), 1, "what ends in .html is not written here"),
        (("-v", "{v}", "--min-confidence", "2"), 2, "'--min-confidence'"),
        (("-v", "{v}", "--collection", "none"), 1, "none"),
    ],
)
def test_mistakes_get_one_sentence(
    suggest: Suggest, documents: Path, vocabulary: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    result = suggest(documents, *(argument.format(v=vocabulary) for argument in arguments))
    assert result.exit_code == code
    assert says in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.stderr
    assert code == 2 or len(result.stderr.splitlines()) == 1


def test_bad_documents_are_skipped_and_counted(suggest: Suggest, documents: Path, vocabulary: Path) -> None:
    documents.write_text(documents.read_text() + "{broken\n")
    result = suggest(documents, "-v", vocabulary)
    assert result.exit_code == 3
    assert [json.loads(line)["id"] for line in result.stdout.splitlines()] == list(TEXTS)
    assert "1 of 3 documents skipped" in result.stderr


def test_an_interrupted_run_goes_on(tiny_model: Path, vocabulary: Path, tmp_path: Path, suggest: Suggest) -> None:
    output, part = tmp_path / "o.jsonl", tmp_path / "o.jsonl.part"
    line = [*COMMAND, "suggest", "--model", tiny_model, "-", "--input-format", "jsonl", "-v", vocabulary, "-o", output]
    process = subprocess.Popen([*map(str, line), "--threads", "1"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps({"id": "ice", "text": TEXTS["ice"]}).encode() + b"\n")
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not (part.exists() and part.read_bytes().count(b"\n") == 1):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert not output.exists()
    rest = "".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items())
    more = ("-", "--input-format", "jsonl", "-v", vocabulary, "-o", output, "--resume")
    other = suggest(*more, "-k", 3, input=rest)
    assert (other.exit_code, "was begun with other settings (top_k 10, now 3)" in other.stderr) == (1, True)
    assert suggest(*more, input=rest).exit_code == 0
    assert [json.loads(row)["id"] for row in output.read_text().splitlines()] == list(TEXTS)
