"""`erukg train tune` on a tiny model: it gains, stays what it was otherwise, goes on after a stop, and says no."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner, Result

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.backends.folder import ModelFolder
from erukg.cli import app
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.core.document import Document
from erukg.errors import TrainingError
from erukg.training.ranking.samples import Hidden
from erukg.training.tuning import learning as learning_module
from erukg.training.tuning.documents import FEWEST, read_parts, read_references
from erukg.training.tuning.learning import Learning
from erukg.training.tuning.measure import wanted_phrases
from erukg.training.tuning.restore import exact_nodes, restore
from erukg.training.tuning.run import TuneOptions, TuneReport, tune
from tiny import NOUNS, write_corpus
from tiny_bert import write_bert
from tiny_ranker import write_ranked
from tiny_tagger import give_tagger

STEPS = 60
COUNT, ASIDE = 400, 100
OPTIONS = TuneOptions(held_out=0.25, learning=Learning(seconds=None, steps=STEPS, rate=3e-3, batch=16))
# What titles are made of here; a model has to learn that these matter and other nouns do not.
MATTERS = NOUNS[::6]
TEXT = "We propose a neural network for the radar images of sea ice, and show that the cache of graphs is fast."


def make_rows(count: int = COUNT, seed: int = 0) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    others = [noun for noun in NOUNS if noun not in MATTERS]
    rows = []
    for number in range(count):
        title = [str(word) for word in rng.choice(MATTERS, 2, replace=False)]
        words = [str(word) for word in rng.permutation(others)[:24]]
        for word in title:
            words.insert(int(rng.integers(0, 24)), word)
        text = ", ".join(words)
        rows.append({"id": f"d{number}", "title": ", ".join(title), "text": f"We show {text} by {number}."})
    return rows


def write_rows(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("documents") / "own.jsonl", make_rows())


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    return write_ranked(write_bert(folder / "plain", "int8", exclude=["layer.1.outer"], nouns=30.0), folder / "small")


@pytest.fixture(scope="module")
def collection(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collections")
    build(folder / "c", [write_corpus(folder / "corpus.jsonl")], ModelAnalyser(OnnxBackend.load(model)))
    return folder / "c"


def run(documents: Path, out: Path, model: Path, collection: Path | None, **changes: Any) -> TuneReport:
    given = {"model": model, "collection": collection, "options": OPTIONS, "threads": 1, **changes}
    return tune([documents], out, **given)


@pytest.fixture(scope="module")
def tuned(
    documents: Path, model: Path, collection: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, TuneReport]:
    out = tmp_path_factory.mktemp("tuned") / "mine"
    return out, run(documents, out, model, collection)


def encoded(folder: Path) -> Any:
    backend = OnnxBackend.load(folder)
    return backend.encode(backend.pieces(Document.parse(TEXT).words), backend.every_term)


def command(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["train", "tune", *map(str, arguments)])


@pytest.mark.parametrize(("precision", "near"), [("fp32", 1e-4), ("int8", 0.25)])
def test_a_shipped_model_is_restored(precision: str, near: float, tmp_path: Path) -> None:
    path = write_bert(tmp_path / "m", precision, exclude=["layer.0.inner", "layer.1.query"])
    backend, network = OnnxBackend.load(path), restore(ModelFolder.open(path)).eval()
    pieces = backend.pieces(Document.parse(TEXT).words)
    ids = torch.tensor([[backend.vocabulary.cls, *pieces.ids.tolist(), backend.vocabulary.sep]])
    with torch.no_grad():
        outputs = network.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        weights = network.terms(outputs)[0].numpy()
    weights[backend.vocabulary.special] = 0
    expected = encoded(path).weights
    assert np.abs(weights - expected).max() < near
    assert (expected > 0).sum() > 20
    # Matrices that 8 bits have spared are spared again; query, key and value are read as one.
    spared = ["layer.0.inner", "layer.1.query", "layer.1.key", "layer.1.value"]
    assert exact_nodes(ModelFolder.open(path)) == ([] if precision == "fp32" else spared)


def test_it_gains_and_stays_at_home(tuned: tuple[Path, TuneReport], model: Path, collection: Path) -> None:
    out, report = tuned
    assert (report.documents, report.held_out, report.steps, report.written) == (COUNT - ASIDE, ASIDE, STEPS, True)
    assert report.present is not None
    assert report.present.sure
    assert report.present.after > report.present.before + 0.1
    folder, source = ModelFolder.open(out), ModelFolder.open(model)
    folder.verify()
    assert folder.fingerprint != source.fingerprint
    assert folder.term_space == source.term_space
    assert folder.precision == source.precision == "int8"
    assert folder.ranker.read_bytes() == source.ranker.read_bytes()
    assert folder.config["ranker"] == source.config["ranker"]
    assert folder.config["tuning"]["present"] == report.present.to_dict()
    card = (out / "README.md").read_text()
    assert f"is {source.name} tuned on {COUNT - ASIDE} documents" in card
    assert f"this model has {100 * report.present.after:.1f} %" in card
    assert not out.with_name("mine.run").exists()
    # The collection of the original is read.
    assert KeyphraseGenerator.from_pretrained(out, collection).generate(TEXT).present


def test_the_same_seed_gives_the_same_weights_also_after_a_stop(
    tuned: tuple[Path, TuneReport],
    documents: Path,
    model: Path,
    collection: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(learning_module, "_SAVE_EVERY", 0.0)
    stages: list[tuple[str, int]] = []

    def stop(stage: str, done: int, total: int) -> None:
        stages.append((stage, done))
        if stage == "learning" and done >= 50:
            raise KeyboardInterrupt

    out = tmp_path / "mine"
    with pytest.raises(KeyboardInterrupt):
        run(documents, out, model, collection, on_progress=stop)
    assert not out.exists()
    assert stages[0] == ("before", 1)
    stages.clear()
    run(documents, out, model, collection, on_progress=lambda stage, done, _: stages.append((stage, done)))
    assert min(done for stage, done in stages if stage == "learning") >= 50
    assert stages[-1] == ("after", ASIDE)
    assert ModelFolder.open(out).fingerprint == ModelFolder.open(tuned[0]).fingerprint
    other = replace(OPTIONS, learning=replace(OPTIONS.learning, seed=1))
    run(documents, tmp_path / "other", model, collection, options=other)
    assert ModelFolder.open(tmp_path / "other").fingerprint != ModelFolder.open(out).fingerprint


def test_nothing_gained_is_said_and_nothing_written(
    documents: Path, model: Path, collection: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mine"
    given = (documents, "-o", out, "--from", model, "--collection", collection, "--steps", 2, "--rate", 1e-7)
    result = command(*given, "--threads", 1)
    assert result.exit_code == 0, result.output
    assert "gained nothing that chance could not give" in result.stdout
    assert f"{out} was not written: go on using {model}" in result.stdout
    assert not out.exists()
    # The run is kept, so that writing it all the same takes no learning.
    learned = sorted((tmp_path / "mine.run" / "checkpoints").iterdir())
    stamps = [path.stat().st_mtime_ns for path in learned]
    assert learned
    result = command(*given, "--threads", 1, "--rate", 2e-7)
    assert "other documents or options" in result.stderr
    assert [path.stat().st_mtime_ns for path in learned] == stamps
    result = command(*given, "--threads", 1, "--anyway")
    assert result.exit_code == 0, result.output
    assert f"The tuned model is in {out}." in result.stdout
    ModelFolder.open(out).verify()
    assert not (tmp_path / "mine.run").exists()


def test_the_command_tells_what_it_gained(documents: Path, model: Path, collection: Path, tmp_path: Path) -> None:
    rows = [{"query": f"{row['title']} of the sea", "doc_id": row["id"]} for row in make_rows(350)]
    queries = write_rows(tmp_path / "queries.jsonl", rows)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": \n')
    given = ("--from", model, "--collection", collection, "--references", queries, "--rate", 3e-3, "--threads", 1)
    result = command(documents, broken, "-o", tmp_path / "mine", *given, "--steps", 60, "--held-out", 0.25)
    assert result.exit_code == 3, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"Learned from {COUNT - ASIDE} documents with their titles and ")
    assert "It gained. The tuned model is in" in lines[-1]
    row = next(line for line in lines if line.startswith("in the text, among ten present"))
    assert row.endswith("documents)")
    assert "60 steps" in lines[0]
    assert "100 of 100 documents measured again" in result.stderr
    assert result.stderr.splitlines()[-1] == "erukg: 1 documents skipped."
    # References to documents that are held out were not learned from.
    taught = json.loads((tmp_path / "mine" / "config.json").read_text())["tuning"]["references"]
    assert 220 < taught < 300


def classes(folder: Path) -> Any:
    """Those that a model gives to the words of some texts."""
    backend = OnnxBackend.load(folder)
    pieces = (backend.pieces(Document.parse(row["text"]).words) for row in make_rows(40, seed=5))
    return np.concatenate([backend.encode(each, backend.every_term[:1]).tags for each in pieces])


def test_words_keep_their_classes(documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model in which words of all kinds have many classes, as it is held to them and as it is not."""
    model = write_bert(tmp_path / "model")
    kept = []
    for name, weight in (("held", learning_module._TAGS), ("free", 0.0)):
        monkeypatch.setattr(learning_module, "_TAGS", weight)
        run(documents, tmp_path / name, model, None, anyway=True)
        kept.append(np.mean(classes(tmp_path / name) == classes(model)))
    assert kept[0] > 0.9
    assert kept[0] > kept[1] + 0.05


def test_a_tagger_of_words_comes_along_and_the_tag_head_is_left_alone(documents: Path, tmp_path: Path) -> None:
    model = give_tagger(write_bert(tmp_path / "model", "int8"))
    run(documents, tmp_path / "mine", model, None, anyway=True)
    assert np.array_equal(classes(tmp_path / "mine"), classes(model))
    source, mine = ModelFolder.open(model), ModelFolder.open(tmp_path / "mine")
    assert mine.tagger.read_bytes() == source.tagger.read_bytes()
    assert mine.config["tagger"] == source.config["tagger"]
    before, after = restore(source).state_dict(), restore(mine).state_dict()
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert any(name.startswith("cls.") for name in moved)
    assert not any(name.startswith("tag.") for name in moved)


def test_a_rate_that_collapses_the_model_is_named(documents: Path, model: Path, tmp_path: Path) -> None:
    learning = replace(OPTIONS.learning, rate=1.0, leash=0.0)
    with pytest.raises(TrainingError, match=r"collapsed after \d+ steps at a learning rate of 1; give a lower one"):
        run(documents, tmp_path / "mine", model, None, options=replace(OPTIONS, learning=learning))
    assert list(tmp_path.iterdir()) == []


def test_mistakes_get_one_sentence(
    documents: Path, model: Path, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_rows()
    place = tmp_path / "given"
    place.mkdir()
    other = write_bert(place / "other", seed=4)
    given, out = ("--from", model, "--collection", collection), ("-o", tmp_path / "out")

    def said(*arguments: object) -> str:
        result = command(*arguments)
        assert result.exit_code == 1, result.output
        assert "Traceback" not in result.output
        assert not (tmp_path / "out").exists()
        last = result.stderr.splitlines()[-1]
        assert last.startswith("erukg: ")
        return last

    few = write_rows(place / "few.jsonl", rows[:40])
    assert "There are 40 documents with a title and a text (0 more" in said(few, *out, *given)
    untitled = write_rows(place / "untitled.jsonl", [{"id": row["id"], "text": row["text"]} for row in rows])
    assert f"{COUNT} documents have no title" in said(untitled, *out, *given)
    named = [{"id": row["id"], "name": row["title"], "body": row["text"]} for row in rows]
    strange = write_rows(place / "strange.jsonl", named)
    assert "No document could be read" in said(strange, *out, *given)
    assert "hardly any text" in said(documents, "--text-field", "doc", *out, *given)
    wrong = write_rows(place / "references.jsonl", [{"query": "the sea", "doc_id": "none"}] * 20)
    assert "None of the 20 references names a document" in said(documents, *out, *given, "--references", wrong)
    bad = write_rows(place / "bad.jsonl", [{"text": "the sea"}] * 20)
    assert "'reference' (or 'query' or 'context') is missing" in said(documents, *out, *given, "--references", bad)
    assert "There is no file" in said(documents, *out, *given, "--references", place / "gone")
    assert "no model folder or bundled model 'smal'" in said(documents, *out, "--from", "smal")
    assert "another model" in said(documents, *out, "--from", other, "--collection", collection)
    assert "exists already" in said(documents, "-o", place, *given)
    assert "--minutes or --steps" in said(documents, *out, *given, "--minutes", 1, "--steps", 1)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "pip install 'erukg[train]'" in said(documents, *out, *given)


def test_other_names_of_fields(model: Path, collection: Path, tmp_path: Path) -> None:
    rows = [{"key": row["id"], "headline": row["title"], "body": row["text"]} for row in make_rows()]
    file = write_rows(tmp_path / "named.jsonl", rows)
    names = ("--title-field", "headline", "--text-field", "body", "--id-field", "key")
    given = ("--from", model, "--collection", collection, "--steps", 1, "--threads", 1)
    result = command(file, *names, "-o", tmp_path / "mine", *given, "--anyway")
    assert result.exit_code == 0, result.output
    assert "Learned from 340 documents" in result.stdout


def test_parts_depend_on_seed_and_ids_alone() -> None:
    from erukg.io.items import InputDocument

    rows = [InputDocument(row["id"], f"{row['title']}\n{row['text']}", "", row) for row in make_rows(FEWEST + 20)]
    again = [replace(row, id=f"copy of {row.id}") for row in rows[:5]]
    parts = read_parts([*rows, *rows], 0.2, 1000, 0)
    assert len(parts.held_out) == round(0.2 * len(rows))
    assert len(parts.train) + len(parts.held_out) == len(rows)
    assert not {hidden.text for hidden in parts.train} & {hidden.text for hidden in parts.held_out}
    assert read_parts(rows[::-1], 0.2, 1000, 0) == parts
    assert read_parts(rows, 0.2, 1000, 1).held_out != parts.held_out
    assert len(read_parts(rows, 0.2, 10, 0).held_out) == 10
    assert len(read_parts([*rows, *again], 0.2, 1000, 0).train) == len(parts.train)
    for hidden in parts.train:
        assert hidden.text.startswith("We show ")


def test_references_are_found_by_id_and_those_held_out_are_not(tmp_path: Path) -> None:
    rows = [
        {"reference": "a", "id": 7},
        {"query": "b", "doc_id": "https://doi.org/10.1/X"},
        {"context": "c", "cited_id": "aside"},
        {"context": "d", "cited_id": "unknown"},
    ]
    file = tmp_path / "references.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    train = [Hidden("7", "", ""), Hidden("doi:10.1/x", "", "")]
    assert read_references([file], train, [Hidden("aside", "", "")]) == {"7": ["a"], "doi:10.1/x": ["b"]}


def test_what_is_wanted_of_a_title() -> None:
    """With the bundled model: the longest phrases, those of the text apart from the others."""
    generator = KeyphraseGenerator.from_pretrained("tiny", False)
    text = "Radar images of the Arctic show that sea ice is thin. We map sea ice with satellite images every day."
    wanted = wanted_phrases(generator, Hidden("a", text, "Mapping sea ice from satellite radar data"))
    assert wanted.present == {"sea ice"}
    assert wanted.absent == {"mapping sea ice", "satellite radar data"}
