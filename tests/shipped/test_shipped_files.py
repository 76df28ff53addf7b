"""The files that come with the package and the repository are the ones that were made: whole, and fit together."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from erukg.backends.folder import DEFAULT_MODEL, ModelFolder
from erukg.cli.collection import app
from erukg.collection.manifest import read_manifest
from shipped.gate import ASSETS, MODELS, ROOT

FOLDERS = {path.name: path for path in sorted((ASSETS / "models").iterdir())}
BASE, COLLECTION = ROOT / "models" / "base", ASSETS / "collection"


def test_the_package_holds_the_models_it_names() -> None:
    assert FOLDERS.keys() | {"models/base"} == MODELS.keys()
    assert DEFAULT_MODEL in FOLDERS


@pytest.mark.parametrize("folder", [*FOLDERS.values(), BASE], ids=lambda path: str(path.name))
def test_every_file_of_a_model_matches_its_checksum(folder: Path) -> None:
    if folder == BASE and not folder.is_dir():
        pytest.skip("models/base comes with the repository")
    model = ModelFolder.open(folder)
    model.verify()
    assert {path.name for path in folder.iterdir()} == {"config.json", *model.config["files"]}
    assert model.term_space == read_manifest(COLLECTION).fingerprint


def test_the_collection_verifies() -> None:
    result = CliRunner().invoke(app, ["verify", str(COLLECTION)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    manifest = read_manifest(COLLECTION)
    files = {path.name for path in COLLECTION.iterdir()}
    assert files == {"manifest.json", *(entry.name for entry in manifest.files)}
