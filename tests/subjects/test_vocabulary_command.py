"""`erukg vocabulary`: build and info, from files and folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from erukg.cli import app
from erukg.subjects import vocabulary as reading
from erukg.subjects.vocabulary import Vocabulary
from subjects import vocabulary_files as files
from subjects.vocabulary_files import BASE, write


def vocabulary(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["vocabulary", *map(str, arguments)])


def test_build_and_info(tmp_path: Path) -> None:
    path, folder = write(tmp_path, "trees.ttl", files.TURTLE), tmp_path / "trees"
    built = vocabulary("build", path, "-o", folder, "--translation", "de", "--name", "park")
    assert built.exit_code == 0, built.output
    assert f"3 concepts with 6 labels in {folder}." in built.stdout
    assert "Concepts left out: 3 deprecated, 1 without a label in the language." in built.stderr
    opened = Vocabulary.open(folder)
    assert (opened.name, opened.label(0, "de")) == ("park", "Bäume")
    shown = vocabulary("info", folder)
    assert shown.exit_code == 0, shown.output
    for line in (
        "park",
        "en, de",
        f"<{BASE}oak> Oaks, English (Quercus robur; englisch oak; pedunculate oak)",
        opened.fingerprint,
    ):
        assert line in shown.stdout
    told = json.loads(vocabulary("info", folder, "--json").stdout)
    assert (told["concepts"], told["labels"], told["broader_links"], told["left_out_deprecated"]) == (3, 6, 2, 3)
    assert json.loads(vocabulary("info", path, "--json").stdout)["concepts"] == 3
    assert json.loads(vocabulary("info", path, "--json", "--language", "de").stdout)["concepts"] == 4


def test_build_from_columns(tmp_path: Path) -> None:
    path = write(tmp_path, "own.data", "Key,Words,Also\nk1,Trees,wood/grove\n")
    columns = ("--uri-column", "Key", "--label-column", "Words", "--alternatives-column", "3", "--separator", "/")
    assert vocabulary("build", path, "-o", tmp_path / "own", "--form", "csv", *columns).exit_code == 0
    assert Vocabulary.open(tmp_path / "own")[0].alternatives == ("wood", "grove")
    assert vocabulary("build", path, "-o", tmp_path / "own", "--separator", "").exit_code == 2


def test_errors_are_one_line(tmp_path: Path) -> None:
    for name, content in (("broken.ttl", "<a> <b>"), ("none.tsv", "Trees\n"), ("unknown.doc", "x")):
        for result in (
            vocabulary("build", write(tmp_path, name, content), "-o", tmp_path / "out"),
            vocabulary("info", tmp_path / name),
        ):
            assert result.exit_code == 1
            assert result.stderr.count("\n") == 1
            assert name in result.stderr
    assert not (tmp_path / "out").exists()
    missing = vocabulary("info", tmp_path / "nothing.ttl")
    assert (missing.exit_code, missing.stderr.count("\n")) == (1, 1)
    assert "no such file" in missing.stderr
    (tmp_path / "damaged").mkdir()
    assert "holds no vocabulary" in vocabulary("info", tmp_path / "damaged").stderr


def test_info_checks_every_byte(tmp_path: Path) -> None:
    Vocabulary.of(["oak", "elm"]).save(tmp_path / "trees")
    (file,) = (tmp_path / "trees").glob("*.bin")
    file.write_bytes(file.read_bytes().replace(b"oak", b"oat"))
    result = vocabulary("info", tmp_path / "trees")
    assert result.exit_code == 1
    assert "is damaged" in result.stderr


@pytest.mark.filterwarnings("default::erukg.errors.ErukgWarning")
def test_a_file_that_takes_long_gets_a_hint(tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "tags.txt", files.TAGS)
    assert "vocabulary build" not in vocabulary("info", path).stderr
    monkeypatch.setattr(reading, "_LONG", 0.0)
    hint = f"erukg: Reading {path} took 0 s; build it once with 'erukg vocabulary build {path} -o FOLDER' and give"
    assert vocabulary("info", path).stderr.startswith(hint)
    suggest = ["suggest", "--text", "an oak", "--vocabulary", str(path), "--model", str(tiny_model)]
    suggested = CliRunner().invoke(app, suggest)
    assert (suggested.exit_code, suggested.stderr.count("\n")) == (0, 1)
    assert suggested.stderr.startswith(hint)
    Vocabulary.of(["oak"]).save(tmp_path / "trees")
    assert vocabulary("info", tmp_path / "trees").stderr == ""
