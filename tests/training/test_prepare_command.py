"""`erukg train prepare`: a thin command over the functions tested elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
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


class Nouns:
    """Takes every word for a noun."""

    def tag(self, words: Sequence[str]) -> list[str]:
        return ["NN"] * len(words)


@pytest.mark.parametrize(
    ("given", "name"), [((), "spacy:en_core_web_sm"), (("--tagger", "nltk"), "nltk"), (("--tagger", "x"), "spacy:x")]
)
def test_taggers_go_by_the_names_of_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], name: str
) -> None:
    asked: list[str | None] = []

    def load_tagger(name: str | None) -> Nouns:
        asked.append(name)
        return Nouns()

    monkeypatch.setattr("erukg.taggers.load_tagger", load_tagger)
    (tmp_path / "sets").mkdir()
    row = {"id": "1", "title": "Tides", "abstract": "Tide tables.", "keyphrases": ["tide tables", "moon"]}
    write_rows(tmp_path / "sets" / "harbour.jsonl.gz", [row])
    corpus = write_rows(tmp_path / "corpus.jsonl", PAPERS)
    tokenizer, out = write_tokenizer(tmp_path / "tokenizer.json"), tmp_path / "out"
    code, output = run(
        *("-o", out, "--tokenizer", tokenizer, "--dev", tmp_path / "sets", *given),
        *("--tag-corpus", corpus, "--tag-count", 3, "--tag-held-out", 1),
    )
    assert code == 0, output
    assert set(asked) == {name}
    assert "1 documents (0 without present gold)" in output
    assert (out / "dev" / "harbour.jsonl").is_file()
    assert json.loads((out / "tagged" / "meta.json").read_text())["tagger"] == "Nouns"


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "tokenizer.json")
    code, output = run("-o", tmp_path / "out", "--tokenizer", tokenizer)
    assert code == 1
    assert "There is nothing to prepare" in output
    code, output = run("-o", tmp_path / "out", "--tokenizer", tokenizer, "--corpus", tmp_path / "no.jsonl")
    assert code == 1
    assert "no.jsonl cannot be read" in output
    assert output.count("\n") <= 2
