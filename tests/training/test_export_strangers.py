"""Exporting over a folder: models are replaced where that was allowed, and what belongs to others is not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from erukg.backends import find_model
from erukg.errors import ModelError
from erukg.training.folders import new_folder


def test_files_of_others_are_not_replaced(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("x")
    (home / "config.json").write_text("{}")
    for path in (home, home / "thesis.tex"):
        message = f"{path} is not replaced, as it holds what is no part of a model (thesis.tex)"
        with pytest.raises(ModelError, match=re.escape(message)), new_folder(path, overwrite=True):
            raise AssertionError
    assert (home / "thesis.tex").read_text() == "x"


def test_models_are(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(find_model("small"), model)
    with new_folder(model, overwrite=True) as part:
        (part / "config.json").write_text("{}")
    assert [path.name for path in model.iterdir()] == ["config.json"]
