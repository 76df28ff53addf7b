"""Baselines by name, in the evaluation and its command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from erukg.cli.evaluate import app
from erukg.errors import InputError, ModelError
from erukg.research.baselines.multipartiterank import MultipartiteRank
from erukg.research.baselines.tagged import Reader
from erukg.research.evaluation.baseline_system import BaselineSystem
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.systems import SYSTEMS, NotAvailableError, SystemOptions, make_system

GRAPHS = ("textrank", "multipartiterank", "positionrank")
RECORDS = [
    Record("1", "Sparse retrieval of documents", "A sparse index for document retrieval.", ("sparse index",)),
    Record(
        "2",
        "Neural networks",
        "Deep neural networks for radar images of sea ice.",
        ("radar images", "sea ice"),
    ),
]


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    folder = tmp_path / "sets"
    folder.mkdir()
    rows = [{"id": r.id, "title": r.title, "abstract": r.abstract, "keyphrases": list(r.keyphrases)} for r in RECORDS]
    (folder / "inspec.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_all_baselines_are_known_by_name() -> None:
    names = {*GRAPHS, "tfidf", "yake", "keybert", "embedrank", "promptrank", "promptkp", "llm"}
    assert names <= set(SYSTEMS)
    for name in names:
        assert make_system(name).name == name
    with pytest.raises(InputError, match="no system 'textrnk'; did you mean 'textrank'"):
        make_system("textrnk")


@pytest.mark.parametrize("name", GRAPHS)
def test_predictions_are_present_phrases_of_each_record(name: str, tiny_model: Path) -> None:
    system = make_system(name, SystemOptions(model=str(tiny_model)))
    (first, absent), (second, _) = system.predict(RECORDS)
    assert absent == []
    assert "sparse index" in [phrase.lower() for phrase in first]
    assert "radar images" in second
    # No prediction depends on the other records.
    assert [list(p) for p in next(iter(system.predict(RECORDS[1:])))] == [list(second), []]


def test_descriptions_tell_systems_apart(tiny_model: Path) -> None:
    plain = make_system("textrank", SystemOptions(model=str(tiny_model)))
    same = make_system("textrank", SystemOptions(settings={"alpha": 0.1}, arguments=("x",), model=str(tiny_model)))
    wider = make_system(f"textrank:window=3,normalise=true,model={tiny_model}")
    assert plain.describe() == same.describe()
    assert wider.describe()["settings"] == {**plain.describe()["settings"], "window": 3, "normalise": True}
    assert wider.describe()["reader"] == plain.describe()["reader"]
    assert plain.describe()["reader"]["tagger"] == "model"
    json.dumps(wider.describe(), allow_nan=False)


def test_settings_that_are_none(tiny_model: Path) -> None:
    for spec, message in (
        ("textrank:widow=3", "no setting 'widow'; did you mean 'window'"),
        ("textrank:window=2.5", "'window' must be of type int"),
        ("textrank:normalise=1", "'normalise' must be of type bool"),
        ("textrank:window=0", "'window' must be a number from 1 up"),
        ("textrank:share=-1", "'share' must be a number from 0 up"),
        ("textrank:share=null", "'share' must be a number from 0 up"),
        ("textrank:folder", "'folder' is not of the form name=value"),
        ("embedrank:one,two", "'two' is not of the form name=value"),
        ("yake:tagger=nltk", "'tagger' needs a number, true or false"),
        ("textrank:reader=1", "no setting 'reader'"),
    ):
        with pytest.raises(InputError, match=message):
            make_system(spec)
    system = make_system("multipartiterank:alpha=2")
    assert isinstance(system, BaselineSystem)
    assert isinstance(system.baseline, MultipartiteRank)
    assert repr(system.baseline.alpha) == "2.0"
    with pytest.raises(InputError, match="no tagger 'brill'; use model, nltk, spacy or spacy:PIPELINE"):
        make_system("textrank:tagger=brill").describe()
    with pytest.raises(InputError, match="damping factor must be from 0 to below 1"):
        list(make_system(f"textrank:damping=1.5,model={tiny_model}").predict(RECORDS))
    with pytest.raises(ModelError, match="no folder 'nowhere'"):
        make_system("keybert:nowhere").describe()


def test_systems_without_their_weights_say_so() -> None:
    for name, reason in (
        ("keybert", "weights not available"),
        ("embedrank", "a sentence-transformers model or a file of word vectors"),
        ("promptrank", "weights not available .give promptrank:FOLDER, a T5 model or another one"),
        ("promptkp", "give promptkp:FOLDER, written by erukg train baseline promptkp"),
        ("llm", r"give llm:FOLDER or llm:FILE\.gguf"),
        ("tfidf", "document frequencies not available"),
    ):
        system = make_system(name)
        with pytest.raises(NotAvailableError, match=reason):
            system.describe()
        with pytest.raises(NotAvailableError, match=reason):
            system.predict(RECORDS)


def test_a_tagger_of_ones_own_can_be_given() -> None:
    class Nouns:
        def tag(self, words: Sequence[str]) -> list[str]:
            return ["NN"] * len(words)

    reader = Reader(Nouns())
    assert [p.form for p in reader.read("Alpha beta, gamma").phrases()] == ["Alpha beta", "gamma"]
    assert reader.describe() == {"tagger": f"{Nouns.__qualname__}"}


def test_command_shows_what_was_not_run(tmp_path: Path, sets: Path, tiny_model: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "c", "text": "A neural network."}) + "\n")
    arguments = [sets, "--model", tiny_model, "--store", tmp_path / "store", "-o", tmp_path / "r.json"]
    for name in ("textrank", f"tfidf:{corpus}", "promptrank", "embedrank"):
        arguments += ["-s", name]
    arguments += ["--compare", "textrank", "embedrank"]
    result = CliRunner().invoke(app, ["keyphrases", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "not run: weights not available" in result.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    by_name = {system["name"].partition(":")[0]: system for system in report["systems"]}
    assert by_name["promptrank"]["not_run"].startswith("weights not available")
    assert by_name["promptrank"]["scores"] == {}
    assert report["comparisons"] == []
    for name in ("textrank", "tfidf"):
        assert by_name[name]["not_run"] is None
        assert by_name[name]["scores"]["paper"]["sets"]["inspec"]["present"]["R@10"] == 1
