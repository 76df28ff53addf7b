"""`erukg train ranker` from documents to a model folder, and what it says to mistakes."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from erukg import Collection, KeyphraseGenerator, Settings
from erukg.backends import OnnxBackend
from erukg.backends.folder import ModelFolder
from erukg.cli import app
from erukg.collection import Writer
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.core.absent_features import FEATURES
from erukg.errors import ErukgError, InputError, TrainingError
from erukg.io import InputDocument, read_documents
from erukg.training.ranking import samples as sampling
from erukg.training.ranking.fitting import FitOptions
from erukg.training.ranking.run import RankingOptions, RankingReport, train_ranker
from erukg.training.ranking.samples import hidden_titles
from tiny import ADJECTIVES, NOUNS, write_model

HIDDEN, KEPT = 260, 160
CARD = "# Tiny\n\nA model.\n\n## Limits\n\nMany.\n"
OPTIONS = RankingOptions(documents=240, negatives=40, fit=FitOptions(trees=10, least=5))


def make_rows(count: int, prefix: str, seed: int) -> list[dict[str, str]]:
    """Documents on six topics; what a title says, its abstract does not."""
    fixed, rng = np.random.default_rng(8), np.random.default_rng(seed)
    topics = [[f"{fixed.choice(ADJECTIVES)} {a} {b}" for a, b in fixed.choice(NOUNS, (10, 2))] for _ in range(6)]
    rows = []
    for number in range(count):
        a, b, *others = (str(phrase) for phrase in rng.choice(topics[number % 6], 8, replace=False))
        text = ", and we show that it is not ".join(others)
        abstract = f"We propose {text}. It is {number}, which is fast, and quickly than by that of this."
        rows.append({"id": f"{prefix}{number}", "title": f"{a} for the {b}", "abstract": abstract})
    return rows


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with a card."""
    path = write_model(tmp_path_factory.mktemp("models") / "carded")
    (path / "README.md").write_text(CARD)
    config = json.loads((path / "config.json").read_text())
    digest = hashlib.sha256(CARD.encode()).hexdigest()
    config["files"]["README.md"] = {"bytes": len(CARD), "sha256": digest}
    (path / "config.json").write_text(json.dumps(config))
    return path


@pytest.fixture(scope="module")
def collection(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collections")
    rows = write_rows(folder / "kept.jsonl", make_rows(KEPT, "kept", 1))
    build(folder / "c", [rows], ModelAnalyser(OnnxBackend.load(model)))
    return folder / "c"


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("documents") / "hidden.jsonl", make_rows(HIDDEN, "new", 2))


@pytest.fixture(scope="module")
def trained(model: Path, collection: Path, documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "model"
    report = train(documents, out, model, collection)
    assert report.drawn == OPTIONS.documents
    assert 100 <= report.samples <= report.drawn
    assert (report.inside, report.bad) == (0, 0)
    return out


def train(documents: Path, out: Path, model: Path, collection: Path, **options: Any) -> RankingReport:
    given = {"model": model, "collection": collection, "options": OPTIONS, "threads": 1, **options}
    return train_ranker([documents], out, **given)


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["train", "ranker", *map(str, arguments)])


def ranking(folder: Path) -> bytes:
    return (folder / "ranker.safetensors").read_bytes()


def test_the_model_verifies_and_ranks(trained: Path, model: Path, collection: Path) -> None:
    folder = ModelFolder.open(trained)
    folder.verify()
    assert set(folder.config["files"]) == {path.name for path in trained.iterdir()} - {"config.json"}
    assert folder.fingerprint == ModelFolder.open(model).fingerprint
    described = folder.config["ranker"]
    assert described["features"] == list(FEATURES)
    assert (described["documents"], described["trees"]) == (OPTIONS.documents, OPTIONS.fit.trees)
    card = (trained / "README.md").read_text()
    assert [line for line in card.splitlines() if line.startswith("#")] == [
        "# Tiny",
        "## Ranking of absent phrases",
        "## Limits",
    ]
    assert f"from {described['samples']:,} documents" in card
    assert f"a collection of {KEPT} documents" in card


def test_what_was_in_hidden_titles_comes_first(trained: Path, model: Path, collection: Path) -> None:
    """On documents that training has not seen, absent phrases of the title stand higher than without the ranking."""
    rows = make_rows(60, "unseen", 3)
    # What neighbours say by themselves is left out, so that the ranking has something to add.
    settings = Settings(
        abstain=False,
        min_confidence=0,
        absent_phraseness=0,
        absent_agreement=0,
        absent_commonness=0,
        absent_learned=2,
    )
    found = []
    for folder in (model, trained):
        generator = KeyphraseGenerator.from_pretrained(folder, collection)
        results = generator.generate_batch([(r["id"], r["abstract"]) for r in rows], 3, settings)
        found.append(
            sum(k.phrase in row["title"] for row, each in zip(rows, results, strict=True) for k in each.absent)
        )
    assert found[1] > found[0] > 0


def test_the_same_seed_gives_the_same_bytes(
    trained: Path, documents: Path, model: Path, collection: Path, tmp_path: Path
) -> None:
    train(documents, tmp_path / "same", model, collection, threads=2)
    assert ranking(tmp_path / "same") == ranking(trained)
    assert (tmp_path / "same" / "config.json").read_bytes() == (trained / "config.json").read_bytes()
    other = RankingOptions(documents=240, negatives=40, seed=1, fit=FitOptions(trees=10, least=5, seed=1))
    train(documents, tmp_path / "other", model, collection, options=other)
    assert ranking(tmp_path / "other") != ranking(trained)


def test_an_interrupted_run_goes_on(
    trained: Path, documents: Path, model: Path, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "_PART", 64)
    work, out = tmp_path / "work", tmp_path / "out"

    def stop(done: int, total: int) -> None:
        assert total == OPTIONS.documents
        if done == 128:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(documents, out, model, collection, work=work, on_progress=stop)
    assert not out.exists()
    parts = {path: path.stat().st_mtime_ns for path in work.glob("part-*.npy")}
    assert len(parts) == 2
    steps: list[int] = []
    train(documents, out, model, collection, work=work, on_progress=lambda done, _: steps.append(done))
    assert steps == [64, 128, 192, 240]
    assert {path: path.stat().st_mtime_ns for path in parts} == parts
    assert ranking(out) == ranking(trained)
    # A part that something else has cut short.
    next(iter(parts)).write_bytes(b"")
    with pytest.raises(TrainingError, match=r"cannot be read .* run the command again"):
        train(documents, tmp_path / "again", model, collection, work=work)


def test_training_again_replaces_the_ranking_and_its_section(
    trained: Path, documents: Path, collection: Path, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    shutil.copytree(trained, out)
    fit = RankingOptions(documents=240, negatives=40, fit=FitOptions(trees=20, least=5))
    train(documents, out, out, collection, options=fit, overwrite=True)
    ModelFolder.open(out).verify()
    card, before = (out / "README.md").read_text(), (trained / "README.md").read_text()
    assert card == before.replace("10 trees", "20 trees") != before
    # A ranking that the model had before is not asked for the samples: only the trees are others.
    train(documents, tmp_path / "back", out, collection)
    assert ranking(tmp_path / "back") == ranking(trained) != ranking(out)
    assert (tmp_path / "back" / "README.md").read_text() == before


def test_the_command(documents: Path, model: Path, collection: Path, tmp_path: Path) -> None:
    rows = [*make_rows(HIDDEN, "new", 2), *make_rows(5, "kept", 1)]
    mixed = write_rows(tmp_path / "mixed.jsonl", rows)
    out = tmp_path / "out"
    given = ("-o", out, "--model", model, "--collection", collection, "--trees", 5, "--threads", 1)
    result = command(mixed, *given)
    assert result.exit_code == 0, result.output
    assert f" of {HIDDEN} documents taught; the model is in {out}." in result.stdout
    assert result.stderr.splitlines() == ["erukg: 5 documents are in the collection itself and were left out."]
    ModelFolder.open(out).verify()
    assert (tmp_path / "out.samples" / "meta.json").is_file()
    # What cannot be read is named, and the rest is used.
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": \n')
    result = command(documents, broken, *given, "--overwrite", "--work", tmp_path / "more")
    assert result.exit_code == 3, result.output
    assert result.stderr.splitlines()[0].startswith(f"erukg: {broken}:1: ")
    assert result.stderr.splitlines()[1:] == ["erukg: 1 documents skipped."]


def test_mistakes_get_one_sentence(
    documents: Path, model: Path, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("--model", model, "--collection", collection, "--threads", 1)
    untitled = [{"id": row["id"], "text": row["abstract"]} for row in make_rows(200, "new", 2)]
    short = [{**row, "abstract": "Too short."} for row in make_rows(200, "new", 2)]
    (tmp_path / "exists").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter.txt").write_text("Dear")
    other = write_model(tmp_path / "other", seed=4)
    out = ("-o", tmp_path / "out")

    def said(*arguments: object) -> str:
        result = command(*arguments)
        assert result.exit_code == 1, result.output
        assert "Traceback" not in result.output
        (line,) = result.stderr.splitlines()
        assert line.startswith("erukg: ")
        assert not (tmp_path / "out").exists()
        return line

    for number, rows in enumerate((untitled, short, make_rows(100, "kept", 1))):
        assert "nothing to learn from" in said(write_rows(tmp_path / f"{number}.jsonl", rows), *out, *given)
    few = write_rows(tmp_path / "few.jsonl", make_rows(30, "new", 2))
    assert "at least 100 are needed" in said(few, *out, *given)
    # The samples of these few are there now, and are not those of others.
    assert "other documents or options" in said(documents, *out, *given)
    assert "other documents or options" in said(documents, *out, *given, "--work", tmp_path / "foreign")
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["letter.txt"]
    assert "no such file" in said(tmp_path / "none.jsonl", *out, *given)
    assert "exists already" in said(documents, "-o", tmp_path / "exists", *given)
    assert "another model" in said(documents, *out, "--model", other, "--collection", collection)
    assert "does not exist" in said(documents, *out, "--model", model, "--collection", tmp_path / "gone")
    assert "gone" in said(documents, *out, "--model", tmp_path / "gone", "--collection", collection)
    assert "no bundled collection" in said(documents, *out, "--model", model)
    assert command(documents, *given).exit_code == 2
    assert command(*out, *given).exit_code == 2
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    assert "pip install 'erukg[train]'" in said(documents, *out, *given)


def test_documents_are_drawn_by_seed_and_known_by_id(
    documents: Path, model: Path, collection: Path, tmp_path: Path
) -> None:
    shutil.copytree(collection, tmp_path / "c")
    with Writer.open(tmp_path / "c") as writer:
        writer.remove([f"kept{i}" for i in range(100)])
        writer.commit()
    kept = Collection.open(tmp_path / "c")
    rows = [row for row in read_documents([documents]) if isinstance(row, InputDocument)]
    old = [InputDocument(f"kept{i}", rows[i].text, "", rows[i].fields) for i in range(KEPT)]
    # Documents that were removed are outside, those that are left are inside; of one id only the first counts.
    drawn = hidden_titles([*old, *rows, *rows], kept, 1000, 0)
    assert drawn.inside == KEPT - 100
    assert sorted(hidden.id for hidden in drawn.documents) == sorted(
        [*(f"kept{i}" for i in range(100)), *(row.id for row in rows)]
    )
    for hidden in drawn.documents:
        assert hidden.title not in hidden.text
        assert hidden.text.startswith("We propose ")
    some = hidden_titles([*rows, *old], kept, 50, 0).documents
    assert some == drawn.documents[:50]
    assert some != hidden_titles([*rows, *old], kept, 50, 1).documents


def test_a_bad_argument_is_an_error_of_the_package(documents: Path, model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        train(documents, tmp_path, model, tmp_path)
    with pytest.raises(ErukgError):
        train(documents, tmp_path / "out", model, tmp_path)
