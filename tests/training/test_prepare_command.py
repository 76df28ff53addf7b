"""`erukg train prepare`: a thin command over the functions tested elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from erukg.cli import app
from training.texts import PAPERS, write_rows, write_tokenizer


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["train", "prepare", *map(str, arguments)])
    return result.exit_code, result.output


def test_references_and_tagged_text_make_one_folder(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "corpus.jsonl.xz", PAPERS)
    own = write_rows(tmp_path / "own.jsonl", [{"reference": "tides", "document": "The tide.", "type": "post"}])
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    tagged = tmp_path / "tagged.tsv"
    tagged.write_text("Tide\tNN\n\ntables\tNNS\n")
    out = tmp_path / "out"
    code, output = run(
        *("-o", out, "--tokenizer", tokenizer, "--corpus", corpus, "--plain", own, "--jobs", 1),
        *("--tagged", tagged, "--tag-held-out", 1, "--seed", 5),
    )
    assert code == 0, output
    assert "title: 4 (4 with a negative)" in output
    assert "post: 1 (0 with a negative)" in output
    assert "2 documents (1 held out)" in output
    assert json.loads((out / "meta.json").read_text())["seed"] == 5
    assert np.load(out / "tagged" / "split.npy").sum() == 1
    code, output = run("-o", out, "--tokenizer", tokenizer, "--corpus", corpus, "--plain", own, "--no-titles")
    assert code == 0, output
    assert "title:" not in output
    assert (out / "tagged" / "ids.npy").exists()


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    code, output = run("-o", tmp_path / "out", "--tokenizer", tokenizer)
    assert code == 1
    assert "There is nothing to prepare" in output
    code, output = run("-o", tmp_path / "out", "--tokenizer", tokenizer, "--corpus", tmp_path / "no.jsonl")
    assert code == 1
    assert "no.jsonl cannot be read" in output
    assert output.count("\n") <= 2
