"""`erukg expand --own`: a corpus expanded with phrases of its own other documents, in one command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.conftest import COMMAND
from erukg import Collection, KeyphraseGenerator, Settings
from erukg.cli import app
from erukg.collection import info, verify
from erukg.collection.manifest import read_manifest

Run = Callable[..., Result]


@pytest.fixture
def corpus(tiny_corpus: Path, tmp_path: Path) -> Path:
    """The tiny corpus, with a line that cannot be expanded and a text that is there twice."""
    rows = tiny_corpus.read_text().splitlines()
    again = json.dumps({**json.loads(rows[0]), "id": "again"})
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join([*rows, again, '{"text": "no id"}']) + "\n")
    return path


@pytest.fixture
def expand(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["expand", "--model", str(tiny_model), *map(str, arguments)])

    return call


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_documents_get_phrases_of_the_others(expand: Run, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    found = expand(corpus, "--own", "--output", output)
    assert found.exit_code == 3, found.output
    folder = tmp_path / "out.jsonl.collection"
    assert found.stderr.count("neither '_id' nor 'id'") == 1
    told = f"erukg expand QUERIES --queries --collection {folder} --model {tiny_model}"
    assert found.stderr.splitlines()[-1].endswith(told)
    assert verify(folder) == []
    assert info(folder).documents == 122
    generator = KeyphraseGenerator.from_pretrained(tiny_model, folder)
    rows = read(output)
    for row in rows[:20]:
        text = "\n".join(row[name] for name in ("title", "abstract") if row.get(name))
        expected = generator.generate(text, 20, Settings().for_own_corpus(), id=row["id"])
        assert row["present"] == [k.phrase for k in expected.present[:10] if k.score > 0]
        assert row["absent"] == [k.phrase for k in expected.absent if k.score > 0]
        sources = {source.id for phrase in expected.absent for source in phrase.sources}
        assert row["id"] not in sources
    assert sum(len(row["absent"]) for row in rows) > 3 * len(rows)


def test_settings_that_are_given_win(expand: Run, corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    few, many = (tmp_path / f"{name}.jsonl" for name in ("few", "many"))
    assert expand(corpus, "--own", "--collection", folder, "--output", few).exit_code == 3
    made = read_manifest(folder)
    # The same collection serves: what a document lends does not depend on how many neighbours are asked.
    assert expand(corpus, "--own", "--collection", folder, "--output", many, "--neighbours", 400).exit_code == 3
    assert read_manifest(folder) == made
    assert read(few) != read(many)
    default = tmp_path / "default.jsonl"
    assert expand(corpus, "--own", "--collection", folder, "--output", default, "--neighbours", 10).exit_code == 3
    assert read(few) == read(default)


def test_a_collection_of_something_else_is_refused(
    expand: Run, corpus: Path, tiny_collection: Path, tmp_path: Path
) -> None:
    output, folder = tmp_path / "out.jsonl", tmp_path / "mine"
    shutil.copytree(tiny_collection, folder)
    found = expand(corpus, "--own", "--collection", folder, "--output", output)
    assert found.exit_code == 1
    assert f"{folder} holds a collection of other or changed sources" in found.stderr
    assert not output.exists()
    assert expand(corpus, "--own", "--output", output).exit_code == 3
    corpus.write_text(corpus.read_text() + '{"id": "new", "text": "sea ice"}\n')
    found = expand(corpus, "--own", "--output", output, "--resume")
    assert found.exit_code == 1
    assert "remove that folder, or name another" in found.stderr
    assert expand("-", "--own", "--output", output).exit_code == 2
    assert expand(corpus, "--own").exit_code == 2


def test_killed_at_any_moment_it_goes_on(expand: Run, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    assert expand(corpus, "--own", "--output", whole).exit_code == 3
    output, folder = tmp_path / "out.jsonl", tmp_path / "out.jsonl.collection"
    line = [*COMMAND, "expand", "--model", str(tiny_model), str(corpus), "--own", "--output", str(output), "--resume"]
    part = tmp_path / "out.jsonl.part"

    def rows() -> int:
        return part.read_bytes().count(b"\n") if part.exists() else 0

    moments: list[Callable[[], bool]] = [
        lambda: (folder / "manifest.json").exists(),
        lambda: rows() >= 1,
        lambda: rows() >= 40,
    ]
    for reached in moments:
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ})
        begun = time.monotonic()
        while process.poll() is None and not reached() and time.monotonic() - begun < 60:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert expand(corpus, "--own", "--output", output, "--resume").exit_code == 3
    assert read(output) == read(whole)
    assert len(Collection.open(folder)) == 122
