"""`erukg train tagger` from texts to a model folder, stopped and gone on with, and what it says to mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from erukg.backends import OnnxBackend
from erukg.cli import app
from erukg.core.word_classes import CLASSES
from erukg.errors import InputError
from erukg.training.words.fitting import Fit
from erukg.training.words.run import TaggerOptions, TaggerReport, train_tagger
from tiny import ADJECTIVES, NOUNS, OTHERS, listed, write_model

SHORT = TaggerOptions(documents=400, fit=Fit(steps=12, words=200))


def write_texts(path: Path, count: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    words = [*NOUNS, *ADJECTIVES, *OTHERS[:20], "17"]
    texts = (" ".join(rng.choice(words, 12).tolist()) for _ in range(count))
    path.write_text("".join(json.dumps({"id": f"{seed}-{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts(tmp_path_factory.mktemp("texts") / "texts.jsonl", 400, 0)


class Stopped(BaseException):
    pass


def run(texts: Path, model: Path, out: Path, options: TaggerOptions = SHORT, stop: int | None = None) -> TaggerReport:
    def watch(kind: str, done: int, _: int) -> None:
        if kind == "steps" and done == stop:
            raise Stopped

    return train_tagger([texts], out, teacher=str(model), model=model, options=options, on_progress=watch)


def test_it_learns_what_the_teacher_says(texts: Path, model: Path, tmp_path: Path) -> None:
    options = TaggerOptions(documents=400, fit=Fit(steps=150, words=400))
    report = run(texts, model, tmp_path / "out", options)
    assert report.texts == 400
    assert report.agreement > 0.97
    tagged, teacher = OnnxBackend.load(tmp_path / "out"), OnnxBackend.load(model)
    words = "the neural network of a small graph and 17 large satellite images".split()
    nothing = np.empty(0, np.int32)
    told = tagged.encode(tagged.pieces(words), nothing).tags
    assert told.tolist() == teacher.encode(teacher.pieces(words), nothing).tags.tolist()
    assert tagged.term_space == teacher.term_space
    facts = json.loads((tmp_path / "out/config.json").read_text())["tagger"]
    assert (facts["texts"], facts["steps"], facts["teacher"]) == (400, 150, str(model))


def test_words_that_people_tagged_are_a_source_and_measured_apart(texts: Path, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "tagged.conllu"
    rows = ["1\tgulls\t_\t_\tNNS\t_\t_\t_\t_\t_\n2\tcircle\t_\t_\tVBP\t_\t_\t_\t_\t_\n\n"] * 60
    path.write_text("".join(f"# newdoc id = {n}\n{row}" for n, row in enumerate(rows)))
    options = TaggerOptions(documents=400, fit=Fit(steps=60, words=400))
    report = train_tagger([texts], tmp_path / "out", tagged=[path], teacher=str(model), model=model, options=options)
    assert (report.texts, report.right) == (460, 1.0)
    told = OnnxBackend.load(tmp_path / "out").pieces(["gulls", "circle"]).tags
    assert told is not None
    assert [CLASSES[number] for number in told] == ["NOUN", "VERB"]
    facts = json.loads((tmp_path / "out/config.json").read_text())["tagger"]
    assert (facts["texts"], facts["tagged"], facts["right"]) == (460, 60, 1.0)


def test_stopped_and_gone_on_with_it_is_the_same(
    texts: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(texts, model, tmp_path / "whole")
    monkeypatch.setattr("erukg.training.words.fitting._SAVE_EVERY", 0.0)
    with pytest.raises(Stopped):
        run(texts, model, tmp_path / "stopped", stop=7)
    assert not (tmp_path / "stopped").exists()
    run(texts, model, tmp_path / "stopped")
    assert (tmp_path / "stopped/tagger.onnx").read_bytes() == (tmp_path / "whole/tagger.onnx").read_bytes()


def test_another_seed_gives_another_tagger(texts: Path, model: Path, tmp_path: Path) -> None:
    for seed in (0, 1):
        options = TaggerOptions(documents=400, seed=seed, fit=Fit(steps=3, words=200, seed=seed))
        run(texts, model, tmp_path / str(seed), options)
    assert (tmp_path / "0/tagger.onnx").read_bytes() != (tmp_path / "1/tagger.onnx").read_bytes()


def test_a_tagger_is_replaced_and_its_section_too(texts: Path, model: Path, tmp_path: Path) -> None:
    run(texts, model, tmp_path / "first")
    (tmp_path / "first/README.md").write_text("# Model\n\n## Limits\n\nMany.\n")
    config = json.loads((tmp_path / "first/config.json").read_text())
    config["files"]["README.md"] = listed(tmp_path / "first/README.md")
    (tmp_path / "first/config.json").write_text(json.dumps(config))
    for source, out in (("first", "second"), ("second", "third")):
        train_tagger([texts], tmp_path / out, teacher=str(model), model=tmp_path / source, options=SHORT)
    card = (tmp_path / "third/README.md").read_text()
    assert card.count("## Tagger of words") == 1
    assert card.index("## Tagger of words") < card.index("## Limits")


def test_mistakes_get_a_sentence(texts: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="exists already; give another folder or allow overwriting it"):
        run(texts, model, tmp_path / "there")
    runner = CliRunner()
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    line = ["train", "tagger", str(empty), "--model", str(model), "--teacher", str(model), "-o", str(tmp_path / "out")]
    result = runner.invoke(app, line)
    assert result.exit_code != 0
    assert not (tmp_path / "out").exists()
    line[line.index("--teacher") + 1] = "nobody"
    result = runner.invoke(app, line)
    assert result.exit_code != 0
    assert "nobody" in str(result.exception) + result.output


def test_the_command_says_what_it_did(texts: Path, model: Path, tmp_path: Path) -> None:
    line = ["train", "tagger", str(texts), "--model", str(model), "--teacher", str(model), "--steps", "3"]
    result = CliRunner().invoke(app, [*line, "--documents", "50", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "600 words of 50 texts taught" in result.output
