"""`erukg train affinity`: lessons from a sentence encoder, the networks, the model folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.backends.folder import ModelFolder
from erukg.cli import app
from erukg.core.affinity import Affinity
from erukg.core.neighbours import Terms
from erukg.errors import TrainingError
from erukg.training.affinity.learning import AffinityFit, agreement, fit_affinity
from erukg.training.affinity.lessons import PIECES, Lessons, gather_lessons
from tiny_sentences import write_sentence_encoder


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sentence_encoder(tmp_path_factory.mktemp("teacher"))


def made_up(texts: int, phrases: int, hidden: int = 8, vocabulary: int = 30) -> tuple[Lessons, NDArray[np.float32]]:
    """Lessons of a teacher who compares a text's vector with the mean of a phrase's embeddings."""
    rng = np.random.default_rng(0)
    embeddings = rng.normal(0, 1, (vocabulary, hidden)).astype(np.float32)
    vectors = rng.normal(0, 1, (texts, hidden)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    owners = np.repeat(np.arange(texts), phrases)
    pieces = np.full((len(owners), PIECES), -1, np.int32)
    for row in pieces:
        count = rng.integers(1, 4)
        row[:count] = rng.integers(0, vocabulary, count)
    sums = np.array([embeddings[row[row >= 0]].sum(axis=0) for row in pieces])
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    near = (sums * vectors[owners]).sum(axis=1).astype(np.float32)
    return Lessons(vectors, owners, pieces, near), embeddings


def test_it_learns_what_the_teacher_says() -> None:
    lessons, embeddings = made_up(300, 12)
    fit = AffinityFit(size=8, width=64, steps=300, texts_a_step=32, rate=1e-2)
    arrays = fit_affinity(lessons, embeddings, fit)
    untaught = fit_affinity(lessons, embeddings, AffinityFit(size=8, width=64, steps=1, texts_a_step=1))
    assert agreement(arrays, embeddings, lessons) > 0.9
    assert agreement(untaught, embeddings, lessons) < 0.5
    again = fit_affinity(lessons, embeddings, fit)
    assert np.array_equal(arrays.pieces, again.pieces)
    # What was learned is what the program computes.
    ids = lessons.pieces[:12]
    said = Affinity(arrays, lambda: embeddings).to(
        lessons.vectors[0], Terms(np.append(0, np.cumsum((ids >= 0).sum(axis=1))), ids[ids >= 0])
    )
    assert np.corrcoef(said, lessons.near[:12])[0, 1] > 0.8


def test_lessons_are_what_the_encoder_says(ranked_model: Path, tiny_collection: Path, tmp_path: Path) -> None:
    generator = KeyphraseGenerator.from_pretrained(ranked_model, tiny_collection, language="en")
    asked: list[list[str]] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        asked.append(list(texts))
        rows = np.array([[len(text), 1.0, text.count("e")] for text in texts], np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    texts = [f"A neural network number {k} reads sparse documents of the archive." for k in range(5)] + ["the of"]
    lessons = gather_lessons(texts, generator, encode, tmp_path / "work", "key")
    assert len(lessons) == 5
    assert set(lessons.owners) == set(range(5))
    said = encode(asked[0])
    assert lessons.near[lessons.owners == 0] == pytest.approx(said[1:] @ said[0], abs=1e-6)
    assert "neural network number" in asked[0] or "neural network" in asked[0]
    known = len(asked)
    assert len(gather_lessons(texts, generator, encode, tmp_path / "work", "key")) == 5
    assert len(asked) == known
    with pytest.raises(TrainingError, match="other files or options"):
        gather_lessons(texts, generator, encode, tmp_path / "work", "another")


def test_the_command(tiny_model: Path, tiny_corpus: Path, tiny_collection: Path, teacher: Path, tmp_path: Path) -> None:
    def run(*more: object) -> tuple[int, str]:
        parts = ["train", "affinity", tiny_corpus, "--teacher", teacher, "--model", tiny_model]
        parts += ["--collection", tiny_collection, "--steps", 5, "--documents", 30, "-o", tmp_path / "out", *more]
        result = CliRunner().invoke(app, list(map(str, parts)))
        return result.exit_code, result.output

    code, said = run()
    assert code == 0, said
    assert "30 texts taught" in said
    folder = ModelFolder.open(tmp_path / "out")
    folder.verify()
    assert folder.config["affinity"]["texts"] == 30
    first = (tmp_path / "out" / "affinity.safetensors").read_bytes()
    assert OnnxBackend.load(tmp_path / "out").affinity is not None
    code, said = run()
    assert code != 0
    assert "exists already" in said
    assert run("--overwrite")[0] == 0
    assert (tmp_path / "out" / "affinity.safetensors").read_bytes() == first
    code, said = run("--overwrite", "--teacher", tmp_path)
    assert code != 0
    assert "modules.json" in said
    assert "Traceback" not in said
    empty = tmp_path / "empty.jsonl"
    empty.write_text(json.dumps({"text": "the of"}) + "\n")
    parts = ["train", "affinity", empty, "--teacher", teacher, "--model", tiny_model, "-o", tmp_path / "none"]
    result = CliRunner().invoke(app, [*map(str, parts), "--collection", str(tiny_collection)])
    assert result.exit_code != 0
    assert "No text with phrases" in result.output
