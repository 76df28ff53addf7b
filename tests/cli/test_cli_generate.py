"""generate, extract and rank on real files with a tiny model."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from typer.testing import Result

from erukg import KeyphraseGenerator, Keyphrases, Settings

Run = Callable[..., Result]
TEXT = (
    "Deep neural network search\nWe show a fast exact algorithm for sparse graph search in large distributed "
    "networks. The semantic index of documents is small; a graph search is fast."
)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    return path


def results(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_generate_writes_what_the_library_returns(run: Run, document: Path, tiny_generator: KeyphraseGenerator) -> None:
    result = run("generate", document, "--top-k", 3)
    assert result.exit_code == 0
    assert result.stderr == ""
    (line,) = result.stdout.splitlines()
    assert Keyphrases.from_json(line) == tiny_generator.generate(TEXT, 3, id=str(document))
    data = json.loads(line)
    assert list(data) == ["id", "present", "absent"]
    assert list(data["present"][0]) == ["phrase", "score", "confidence", "variants", "spans"]
    assert TEXT[slice(*data["present"][0]["spans"][0])] == data["present"][0]["phrase"]


def test_settings_reach_the_generator(run: Run, document: Path, tiny_generator: KeyphraseGenerator) -> None:
    result = run("generate", document, "--length-penalty", "-3", "--frequency", "--max-words", 2, "--diversity", 0.5)
    settings = Settings(length_penalty=-3, frequency=True, max_words=2, diversity=0.5)
    assert Keyphrases.from_json(result.stdout) == tiny_generator.generate(TEXT, 10, settings, id=str(document))
    result = run("generate", document, "--paper", "--no-frequency", "--position", 0)
    settings = Settings.paper(position=0)
    assert Keyphrases.from_json(result.stdout) == tiny_generator.generate(TEXT, 10, settings, id=str(document))


def test_every_setting_is_an_option(run: Run) -> None:
    text = run("generate", "--help").stdout
    for name in Settings().to_dict():
        assert "--" + name.replace("_", "-") in text


@pytest.mark.parametrize(("option", "value"), [("alpha", 2), ("alpha", "nan"), ("max-words", 0), ("length-penalty", 1)])
def test_settings_out_of_range(run: Run, document: Path, option: str, value: object) -> None:
    result = run("generate", document, f"--{option}", value)
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert f"'{option.replace('-', '_')}'" in line
    assert " from " in line


def test_extract_is_extract(run: Run, document: Path, tiny_generator: KeyphraseGenerator) -> None:
    result = run("extract", document)
    assert Keyphrases.from_json(result.stdout) == tiny_generator.extract(TEXT, id=str(document))
    assert run("extract", document, "--alpha", 0.5).exit_code == 2


def test_rank(run: Run, document: Path, tmp_path: Path, tiny_generator: KeyphraseGenerator) -> None:
    phrases = tmp_path / "phrases.txt"
    phrases.write_text("graph search\ncache memory\n")
    (data,) = results(run("rank", document, "--phrases", phrases, "--phrase", "ice"))
    expected = tiny_generator.rank(TEXT, ["ice", "graph search", "cache memory"])
    assert data == {"id": str(document), "phrases": [k.to_dict() for k in expected]}
    (data,) = results(run("rank", document, "--phrases", phrases, "--top-k", 1))
    assert len(data["phrases"]) == 1  # type: ignore[arg-type]
    assert run("rank", document).exit_code == 2
    assert "in the text" in run("rank", document, "--phrases", phrases, "--format", "table").stdout
    missing = run("rank", document, "--phrases", tmp_path / "none.txt")
    assert (missing.exit_code, len(missing.stderr.splitlines())) == (1, 1)


def test_explain_makes_the_product(run: Run, document: Path) -> None:
    (data,) = results(run("generate", document, "--explain"))
    for phrase in data["present"]:  # type: ignore[attr-defined]
        assert math.prod(phrase["explanation"]["factors"].values()) == pytest.approx(phrase["score"], rel=1e-5)
    table = run("generate", document, "--explain", "--format", "table").stdout
    assert "score = position × phraseness ×" in " ".join(table.split())
    assert "deep" in table


def test_csv(run: Run, document: Path) -> None:
    header, *rows = csv.reader(StringIO(run("generate", document, document, "--format", "csv", "-k", 2).stdout))
    names = ["id", "kind", "rank", "phrase", "score", "confidence", "variants", "spans", "sources", "titles"]
    assert header == names
    assert [row[1:3] for row in rows] == [["present", "1"], ["present", "2"]] * 2
    start, end = map(int, rows[0][7].split()[0].split("-"))
    assert TEXT[start:end] == rows[0][3]


def test_table(run: Run, document: Path, tmp_path: Path) -> None:
    empty = tmp_path / "b.txt"
    empty.touch()
    text = run("generate", document, empty, "--format", "table").stdout
    assert str(document) in text
    assert re.search(r"^graph search +[\d.]+ +(strong|fair|weak) *$", text, re.MULTILINE)
    assert "no phrases" in text


def test_all_forms_together(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("neural network")
    (tmp_path / "b.md").write_text("---\nx: cache\n---\n# sparse graph")
    (tmp_path / "c.jsonl").write_text('{"id": "c1", "title": "sea ice", "abstract": "radar images"}\n')
    (tmp_path / "d.csv").write_text("id,text\nd1,file search\n")
    (tmp_path / "x.png").write_bytes(b"\x89PNG")
    result = run("generate", tmp_path)
    assert result.exit_code == 0
    found = {str(r["id"]).split("/")[-1]: [k["phrase"] for k in r["present"]] for r in results(result)}  # type: ignore[attr-defined]
    assert found.keys() == {"a.txt", "b.md", "c1", "d1"}
    assert found["b.md"] == ["sparse graph"]
    assert set(found["c1"]) == {"sea ice", "radar images"}
    assert "1 of a form not read (.png)" in result.stderr


AWKWARD = {
    "empty": b"",
    "whitespace": b" \n\t \r\n",
    "one character": b"x",
    "punctuation": b"... --- !!! ??? ;;; ()",
    "stop words": b"the of and to in a is that",
    "emoji": "🚀🚀 👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 fast 🚀 network".encode(),
    "right to left": "شبكة عصبية عميقة للبحث في الملفات \u202e network".encode(),
    "chinese": "深度神经网络用于图像检索。".encode(),
    "null bytes": b"deep\0neural network search is fast and exact in large graphs",
    "utf-16": "deep neural network".encode("utf-16"),
    "one long word": b"x" * 100_000,
    "one line": b"sparse graph search, " * 2_000,
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_text_gets_a_plain_answer(run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(AWKWARD[name])
    result = run("generate", path)
    assert result.exit_code == 0, result.output
    (data,) = results(result)
    text = AWKWARD[name].decode("utf-16" if name == "utf-16" else "utf-8")
    for phrase in data["present"]:  # type: ignore[attr-defined]
        assert all(0 <= a < b <= len(text) for a, b in phrase["spans"])
    assert run("generate", path, "--format", "table", "--explain").exit_code == 0
    assert run("rank", path, "--phrase", "neural network").exit_code == 0


def test_lone_surrogates_survive_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "half \\ud83d pair", "text": "neural \\ud83d network search"}\n')
    result = run("generate", path)
    assert result.exit_code == 0
    assert results(result)[0]["id"] == "half \ud83d pair"
    for format in ("csv", "table"):
        assert run("generate", path, "--format", format).exit_code == 0


def test_standard_input(run: Run) -> None:
    (data,) = results(run("generate", input="sparse graph"))
    assert data["id"] == "stdin"
    assert [d["id"] for d in results(run("generate", "-", input="sparse graph"))] == ["stdin"]
    lines = '{"id": "x", "text": "sparse graph"}\n{"text": "sea ice"}\n'
    assert [d["id"] for d in results(run("generate", "-", "--input-format", "jsonl", input=lines))] == [
        "x",
        "stdin:2",
    ]


def test_wrong_command_lines(run: Run, document: Path, tmp_path: Path) -> None:
    for arguments in (
        ("--top-k", 0),
        ("--threads", 0),
        ("--format", "xml"),
        ("--nonsense",),
        ("--resume",),
        ("--resume", "--format", "csv", "--output", tmp_path / "o.csv"),
        ("--collection", tmp_path),
    ):
        result = run("generate", document, *arguments)
        assert result.exit_code == 2, (arguments, result.output)
        assert "Traceback" not in result.output


def test_damaged_or_missing_model(tmp_path: Path, document: Path) -> None:
    from typer.testing import CliRunner

    from erukg.cli import app

    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{")
    for folder in (tmp_path / "model", tmp_path / "none"):
        result = CliRunner().invoke(app, ["generate", str(document), "--model", str(folder), "--no-collection"])
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
        assert result.stdout == ""


def test_an_output_in_a_folder_to_read_is_passed_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("neural networks for sea ice")
    output = tmp_path / "out.jsonl"
    for _ in range(2):
        result = run("extract", tmp_path, "--output", output)
        assert result.exit_code == 0, result.output
        assert len(output.read_text().splitlines()) == 1
    assert "1 the output itself" in result.output
