"""`affinity.safetensors`: what is written is read again, and nothing else is."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.backends.affinity_file import read_affinity
from erukg.backends.folder import ModelFolder
from erukg.core.affinity import AffinityArrays
from erukg.errors import ModelError
from tiny_affinity import random_affinity


@pytest.fixture
def model(near_model: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(near_model, tmp_path / "model")
    return tmp_path / "model"


def replace_file(model: Path, data: bytes) -> None:
    """Put these bytes in the place of the file, and say so in config.json."""
    (model / "affinity.safetensors").write_bytes(data)
    config = json.loads((model / "config.json").read_text())
    config["files"]["affinity.safetensors"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (model / "config.json").write_text(json.dumps(config))


def refused(model: Path) -> str:
    with pytest.raises(ModelError) as error:
        KeyphraseGenerator.from_pretrained(model, collection=None)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_round_trip(near_model: Path, tiny_model: Path) -> None:
    folder = ModelFolder.open(near_model)
    folder.verify()
    found, expected = read_affinity(folder), random_affinity(folder.hidden_size, folder.vocab_size)
    assert found is not None
    for field in fields(AffinityArrays):
        assert np.allclose(getattr(found, field.name), getattr(expected, field.name), atol=1e-2)
    assert OnnxBackend.load(tiny_model).affinity is None
    assert OnnxBackend.load(near_model).affinity is not None


def test_a_missing_cut_or_foreign_file(model: Path) -> None:
    file = model / "affinity.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert "bytes where config.json says" in refused(model)
    file.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    assert "checksum" in refused(model)
    replace_file(model, whole[: len(whole) // 2])
    assert "affinity.safetensors cannot be read" in refused(model)
    replace_file(model, save({"inner": np.zeros((2, 2), np.float16)}))
    assert "affinity.safetensors cannot be read" in refused(model)
    file.unlink()
    assert "has no affinity.safetensors" in refused(model)
