"""`ranker.safetensors`: what is written is read again, and nothing else is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.backends.folder import ModelFolder
from erukg.backends.ranker_file import read_ranker
from erukg.core.absent_features import FEATURES, GROUPS
from erukg.core.ranker import Ranker
from erukg.core.trees import Trees
from erukg.errors import ModelError
from erukg.training.ranking.folder import write_with_ranker
from tiny_ranker import FACTS, random_trees

Arrays = dict[str, Any]


@pytest.fixture
def model(ranked_model: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    shutil.copytree(ranked_model, tmp_path / "model")
    return tmp_path / "model"


def change_config(model: Path, **values: object) -> None:
    path = model / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def replace_ranker(model: Path, data: bytes) -> None:
    """Put these bytes in the place of the file, and say so in config.json."""
    (model / "ranker.safetensors").write_bytes(data)
    files = json.loads((model / "config.json").read_text())["files"]
    files["ranker.safetensors"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    change_config(model, files=files)


def refused(model: Path) -> str:
    """The one sentence with which the model is refused."""
    with pytest.raises(ModelError) as error:
        KeyphraseGenerator.from_pretrained(model, collection=None)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_round_trip(ranked_model: Path, tiny_model: Path) -> None:
    ranker = OnnxBackend.load(ranked_model).ranker
    assert ranker is not None
    expected = random_trees()
    for field in dataclasses.fields(Trees):
        one, other = getattr(ranker.trees, field.name), getattr(expected, field.name)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    ModelFolder.open(ranked_model).verify()
    assert OnnxBackend.load(tiny_model).ranker is None
    assert OnnxBackend.load(tiny_model).fingerprint == OnnxBackend.load(ranked_model).fingerprint


def test_a_missing_or_cut_file(model: Path) -> None:
    file = model / "ranker.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-8])
    assert "ranker.safetensors has" in refused(model)
    file.unlink()
    assert "has no ranker.safetensors" in refused(model)
    # A file that config.json says nothing about is nobody's ranking.
    file.write_bytes(b"anything")
    change_config(model, ranker=None)
    assert OnnxBackend.load(model).ranker is None


def test_a_changed_byte_is_found_by_its_checksum(model: Path) -> None:
    data = bytearray((model / "ranker.safetensors").read_bytes())
    data[-1] ^= 1
    (model / "ranker.safetensors").write_bytes(data)
    with pytest.raises(ModelError, match=r"ranker\.safetensors does not match its checksum"):
        ModelFolder.open(model).verify()
    assert "ranker.safetensors does not match its checksum" in refused(model)


@pytest.mark.parametrize("data", [b"", b"not a ranking", bytes(64), b"\xff" * 64], ids=["empty", "text", "zeros", "ff"])
def test_files_of_another_kind(model: Path, data: bytes) -> None:
    replace_ranker(model, data)
    assert "ranker.safetensors cannot be read" in refused(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.pop("left"), "cannot be read"),
        (lambda arrays: arrays.update(left=arrays["left"].astype(np.int64)), "other types"),
        (lambda arrays: arrays.update(value=arrays["value"].astype(np.float64)), "other types"),
        (lambda arrays: arrays.update(feature=arrays["feature"].reshape(-1, 1)), "other types"),
        (lambda arrays: arrays.update(roots=np.array(0, np.int32)), "other types"),
        (lambda arrays: arrays.update(left=np.zeros_like(arrays["left"])), "is damaged"),
        (lambda arrays: arrays.update(roots=arrays["roots"] + 10_000), "is damaged"),
    ],
)
def test_arrays_that_are_no_ranking(
    model: Path, tmp_path: Path, change: Callable[[Arrays], object], message: str
) -> None:
    arrays = load_file(model / "ranker.safetensors")
    change(arrays)
    save_file(arrays, tmp_path / "changed")
    replace_ranker(model, (tmp_path / "changed").read_bytes())
    assert message in refused(model)


@pytest.mark.parametrize("features", [[*FEATURES, "more"], [*list(FEATURES)[:-1], "newer"], [], "few"])
def test_other_features_are_refused(model: Path, features: object) -> None:
    change_config(model, ranker={"features": features})
    assert "other features" in refused(model)
    assert "erukg train ranker" in refused(model)


@pytest.mark.parametrize("described", [{}, [], "few", 3, True, {"features": 3}, {"features": None}])
def test_a_description_that_is_none(model: Path, described: object) -> None:
    change_config(model, ranker=described)
    assert "damaged" in refused(model)


def test_a_ranking_of_fewer_features_goes_on_working(model: Path) -> None:
    """Rankings that were learned before a feature was added ask for theirs, and compose no phrases."""
    names = list(FEATURES)[:-2]
    older = Ranker.checked(random_trees(features=len(names)), names)
    folder = ModelFolder.open(model)
    write_with_ranker(folder, model.with_name("older"), older, FACTS, overwrite=False)
    read = read_ranker(ModelFolder.open(model.with_name("older")))
    assert read is not None
    assert read.names == names
    assert not read.composes
    features = np.random.default_rng(0).normal(size=(9, len(FEATURES))).astype(np.float32)
    groups = np.array([GROUPS.index(FEATURES[name]) for name in names], np.int32)
    expected = older.trees.contributions(features[:, : len(names)], groups, len(GROUPS))
    assert np.array_equal(read.contributions(features), expected)
