"""What is loaded is what was exported: damage, collapse and mistyped names are told; nothing is fetched unasked."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from erukg import KeyphraseGenerator
from erukg.backends import ModelFolder, OnnxBackend, find_model
from erukg.cli import app
from erukg.errors import ErukgWarning, ModelError
from tiny import listed

TEXT = "We propose a neural network for keyphrase retrieval in a large document collection."


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    shutil.copytree(tiny_model, tmp_path / "model")
    return tmp_path / "model"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def collapse(model: Path) -> None:
    """What too much regularisation comes to: one term is left whatever the text."""
    head = load_file(model / "head.safetensors")
    head["bias"][:] = -1000
    head["bias"][7] = 1000
    save_file(head, model / "head.safetensors")
    config = json.loads((model / "config.json").read_text())
    config["files"]["head.safetensors"] = listed(model / "head.safetensors")
    (model / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("name", ["tokenizer.json", "head.safetensors", "encoder.onnx"])
def test_a_damaged_model_is_not_loaded(model: Path, name: str) -> None:
    flip(model / name)
    with pytest.raises(ModelError, match=f"{name} does not match its checksum"):
        KeyphraseGenerator.from_pretrained(model, collection=False)


def test_checking_the_bundled_model_takes_no_time() -> None:
    folder = ModelFolder.open(find_model("small"))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        folder.verify_parts()
        times.append(time.perf_counter() - start)
    # 20 ms where processors have instructions for SHA-256; several times that where they have none.
    assert min(times) < 0.2


def test_the_command_names_every_file_that_differs(model: Path) -> None:
    done = CliRunner().invoke(app, ["model", "verify", str(model)])
    assert (done.exit_code, done.stdout) == (0, f"{model} is in order: 3 files.\n")
    flip(model / "tokenizer.json")
    flip(model / "encoder.onnx")
    done = CliRunner().invoke(app, ["model", "verify", str(model)])
    assert done.exit_code == 1
    named = [line.split()[1] for line in done.stderr.splitlines()]
    assert sorted(named) == [str(model / "encoder.onnx"), str(model / "tokenizer.json")]


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_pipe_in_place_of_a_file_does_not_block(model: Path, name: str) -> None:
    (model / name).unlink()
    os.mkfifo(model / name)
    with pytest.raises(ModelError, match=f"it has no {name}|has no {name}"):
        OnnxBackend.load(model)


def test_a_collapsed_model_is_told_of_once(model: Path) -> None:
    collapse(model)
    generator = KeyphraseGenerator.from_pretrained(model, collection=False)
    with pytest.warns(ErukgWarning, match=r"gives a weight to [01] of \d+ terms of a text, so it has collapsed"):
        generator.generate(TEXT)
    generator.generate(TEXT)  # a second warning would be an error
    done = CliRunner().invoke(app, ["model", "verify", str(model)])
    assert done.exit_code == 1
    assert "has collapsed" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_other_models_are_not_told_of(tiny_model: Path) -> None:
    for model in (tiny_model, None, "tiny"):
        backend = OnnxBackend.load(find_model(model))
        pieces = backend.pieces(["graph"])
        assert np.isfinite(backend.encode(pieces, pieces.ids).weights).all()  # a warning is an error here


def test_a_mistyped_folder_is_not_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[tuple[str, str]] = []

    def download(name: str, *, revision: str, allow_patterns: list[str]) -> str:
        fetched.append((name, revision))
        return "/fetched"

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    for name in ("models/x", "models/xs/", "./models/x", "smal", "x@y", "http://a/b", "hub:x", "", "x" * 5_000):
        with pytest.raises(ModelError, match="no model folder or bundled model"):
            find_model(name)
    with pytest.raises(ModelError, match="Say which version of 'a/b' to download, as hub:a/b@REVISION"):
        find_model("hub:a/b")
    assert not fetched
    assert find_model("hub:a/b@v1.0") == Path("/fetched")
    assert fetched == [("a/b", "v1.0")]


def test_an_installation_without_models_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("erukg.backends.folder.bundled", lambda name: tmp_path / "nothing" / name)
    with pytest.raises(ModelError, match="no bundled model"):
        find_model()
    with pytest.raises(ModelError, match="bundled are none"):
        find_model("smal")
