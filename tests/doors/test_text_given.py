"""A text where a file is expected, `--text`, `erukg text`, and names of fields on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doors import document_samples as samples
from erukg.cli import app

SENTENCE = "A search protocol with Bloom filters finds rare files in peer-to-peer networks."
HINT = 'There is no such file or folder; a text itself is given as --text "…", or through a pipe.'


def run(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("given", [SENTENCE, "keyphrases", SENTENCE * 40, f"{SENTENCE}\n{SENTENCE}"])
def test_a_text_in_place_of_a_file_gets_a_hint(given: str) -> None:
    code, out, err = run("extract", given)
    assert (code, out) == (1, "")
    assert HINT in err
    assert all(len(line) < 200 for line in err.splitlines())


@pytest.mark.parametrize("missing", ["my paper.pdf", "papers/", "paper.txt", "./paper"])
def test_a_path_gets_none(missing: str) -> None:
    _, _, err = run("extract", missing)
    assert f"{missing}: There is no such file or folder." in err


def test_texts_given() -> None:
    code, out, _ = run("extract", "--text", SENTENCE, "--text", "Sea ice in radar images.", "--model", "tiny")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [row["id"] for row in rows] == ["text:1", "text:2"]
    start, end = rows[0]["present"][0]["spans"][0]
    assert SENTENCE[start:end] == rows[0]["present"][0]["phrase"]


def test_ray_takes_no_texts(tmp_path: Path) -> None:
    code, _, err = run("generate", "--text", SENTENCE, "--engine", "ray", "-o", tmp_path / "out")
    assert code == 2
    assert "--text" in err


def test_what_positions_are_in(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(samples.docx(SENTENCE))
    _, text, _ = run("text", path)
    _, out, _ = run("extract", path, "--model", "tiny", "--format", "json")
    row = json.loads(out)
    assert [notice["code"] for notice in row["notices"]] == ["extracted-text"]
    for phrase in row["present"]:
        for start, end in phrase["spans"]:
            assert text[start:end].casefold() in {
                word.casefold() for word in [phrase["phrase"], *phrase.get("variants", ())]
            }


def test_text_as_json(tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps([{"key": 1, "headline": "Sea ice", "body": "Radar images"}]))
    named = ("--text-field", "body", "--title-field", "headline", "--id-field", "key")
    code, out, _ = run("text", rows, "--format", "json", *named)
    assert (code, json.loads(out)) == (0, {"id": "1", "title": "Sea ice", "text": "Sea ice\nRadar images"})
    code, out, err = run("text", rows, "--output", tmp_path / "out.txt")
    assert (code, out) == (1, "")
    assert "(its fields: 'key', 'headline', 'body')" in err
    assert not (tmp_path / "out.txt").exists()


def test_every_command_that_reads_documents_knows_the_names() -> None:
    for command in ("generate", "extract", "rank", "suggest", "expand", "encode", "text", "report"):
        _, out, _ = run(command, "--help")
        assert all(option in out for option in ("--text-field", "--title-field", "--id-field")), command
    for pair in (("collection", "build"), ("collection", "add"), ("train", "ranker"), ("train", "suggest")):
        _, out, _ = run(*pair, "--help")
        assert "--text-field" in out, pair


def test_a_collection_of_other_names(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"key": n, "body": f"{SENTENCE} Number {n}."}) + "\n" for n in range(3)))
    named = ("--text-field", "body", "--id-field", "key")
    code, out, err = run("collection", "build", tmp_path / "c", rows, "--model", "tiny", "--device", "cpu", *named)
    assert code == 0, err
    assert out.startswith("3 documents")
    code, _, err = run("collection", "add", tmp_path / "c", rows, "--model", "tiny", "--device", "cpu")
    assert code == 3
    assert "none of the fields" in err
