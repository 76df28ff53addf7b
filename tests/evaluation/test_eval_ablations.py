"""Ablations with the tiny model and collection: variants, what is missing, tables and JSON."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from erukg import Settings
from erukg.backends import OnnxBackend
from erukg.cli.evaluate import app
from erukg.collection import Writer
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.errors import InputError, ModelError
from erukg.research.evaluation import load_sets
from erukg.research.evaluation.ablation_runs import run_studies
from erukg.research.evaluation.ablations import STUDIES, StudyInputs, make_studies, named
from erukg.research.evaluation.results import write_results
from erukg.research.evaluation.systems import SystemOptions, make_system
from evaluation.eval_samples import write_sets
from evaluation.retrieval_samples import write_set
from tiny import write_corpus, write_model


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sets(tmp_path_factory.mktemp("ablations") / "sets")


@pytest.fixture(scope="module")
def small_collection(tiny_encoder: OnnxBackend, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    build(folder / "D", [write_corpus(folder / "corpus.jsonl", 30)], ModelAnalyser(tiny_encoder))
    return folder / "D"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["ablations", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def by_label(report: dict[str, Any], study: str) -> dict[str, Any]:
    (found,) = (s for s in report["studies"] if s["name"] == study)
    return {variant["label"]: variant for variant in found["variants"]}


def test_all_studies_run_resume_and_say_what_is_missing(
    tmp_path: Path, sets: Path, tiny_model: Path, tiny_collection: Path, small_collection: Path
) -> None:
    other = write_model(tmp_path / "other", seed=9)
    int8 = write_model(tmp_path / "int8", int8=True)
    command = [sets, "--model", int8, "--collection", tiny_collection, "--fp32", tiny_model]
    command += ["--models", f"without query={other}", "--models", f"gone={tmp_path / 'gone'}"]
    command += ["--collections", f"small={small_collection}", "--collections", f"none={tmp_path / 'none'}"]
    command += ["--store", tmp_path / "store", "--samples", 200]
    text = run(*command, "-o", tmp_path / "a.json")
    stored = {file: file.stat().st_mtime_ns for file in (tmp_path / "store").rglob("*.jsonl")}
    assert run(*command, "-o", tmp_path / "b.json") == text
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "store").rglob("*.jsonl")} == stored
    report = json.loads((tmp_path / "a.json").read_text())
    assert [study["name"] for study in report["studies"]] == list(STUDIES)
    for name in STUDIES:
        assert text.index(f"{name}: ") < text.index(f"{name}: {STUDIES[name]}, protocol 'stemmed'")

    curve = by_label(report, "alpha-beta")
    now = Settings()
    given = f"as given: α = {now.alpha:g}, β = {now.beta:g}"
    assert [v["value"] for v in curve.values()] == [0, 0.2, 0.4, 0.6, 0.8, 1, None]
    assert [v["description"]["settings"]["beta"] for v in curve.values()] == [0, 0.2, 0.4, 0.6, 0.8, 1, now.beta]
    assert curve["1"]["description"]["collection"] is None
    assert curve["0"]["scores"] != curve["1"]["scores"]
    neighbours = by_label(report, "neighbours")
    assert [v["description"]["settings"]["neighbours"] for v in neighbours.values()] == [10, 50, 100, 400]
    assert report["paper"] is False
    pruning = by_label(report, "pruning")
    # The settings as they are stand in several studies and are one system.
    best = f"best {now.neighbour_candidates} of the neighbours' phrases"
    assert pruning[best]["predictions"] == curve[given]["predictions"] != neighbours["10"]["predictions"]
    assert pruning["glossary not pruned"]["not_run"] == "no such collection (--collections unpruned=FOLDER)"
    assert pruning["all of the neighbours' phrases"]["description"]["settings"]["neighbour_candidates"] == 100_000
    assert list(by_label(report, "position")) == ["0", "1", f"{Settings().position:g}"]
    assert by_label(report, "tags")["spaCy"]["not_run"] == "no tagger (give --tagger spacy:NAME)"
    precision = by_label(report, "precision")
    assert [v["description"]["model"]["precision"] for v in precision.values()] == ["int8", "fp32"]
    references = by_label(report, "references")
    assert references["without query, extraction"]["not_run"] is None
    assert "gone" in references["gone, extraction"]["not_run"]
    assert references["generation"]["not_run"].startswith("no collection with the name of a model")
    sizes = by_label(report, "collection")
    assert [v["value"] for v in sizes.values()] == [0, 30, 120, None]
    assert sizes["none"]["not_run"]
    small, large = (v["description"]["collection"] for v in sizes.values() if v["value"] in (30, 120))
    assert (small["documents"], large["documents"]) == (30, 120)
    # Collections made with the same model are told apart, so that neither finds the other's stored predictions.
    assert small["manifest"] != large["manifest"]
    assert len({v["predictions"]["inspec"] for v in sizes.values() if v["value"] is not None}) == 3
    assert "none: not run: " in text
    assert "average" in text
    assert report["collection"]["name"] == tiny_collection.name
    assert report["collection"]["manifest"] == large["manifest"]
    assert {label: v["collection"] for label, v in sizes.items() if v["collection"]} == {"small, 30 documents": "small"}
    check_differences(report)


def check_differences(report: dict[str, Any]) -> None:
    """Each variant that was run has the difference of its averages from the method as it is, and its interval."""
    compared = 0
    for study in report["studies"]:
        variants = by_label(report, study["name"])
        for variant in variants.values():
            other = variants.get(variant["against"])
            if variant["not_run"] or other is None:
                assert variant["differences"] == []
                continue
            compared += 1
            assert len(variant["differences"]) == 8
            for each in variant["differences"]:
                ours, theirs = (
                    v["scores"][each["protocol"]]["average"][each["kind"]][each["metric"]] for v in (variant, other)
                )
                assert each["difference"] == pytest.approx(ours - theirs)
                assert each["low"] <= each["difference"] + 1e-9
                assert each["high"] >= each["difference"] - 1e-9
    assert compared > 10
    references = by_label(report, "references")
    assert references["without query, extraction"]["against"] == "all types, extraction"


def test_search_with_the_phrases_of_a_variant(
    tmp_path: Path, sets: Path, tiny_model: Path, tiny_collection: Path
) -> None:
    """What `evaluate retrieval` finds with the same phrases, and the paper's values of N."""
    beir, out = write_set(tmp_path / "beir" / "sea"), tmp_path / "o.json"
    common = ("--model", tiny_model, "--collection", tiny_collection, "--paper", "--store", tmp_path / "s")
    text = run(
        *(sets, "--study", "neighbours", "--study", "position", "--retrieval", beir, *common),
        *("--samples", 50, "--limit", 2, "-o", out),
    )
    report = json.loads(out.read_text())
    variants = by_label(report, "neighbours")
    own = f"erukg's own settings, N = {Settings().neighbours}"
    assert list(variants) == ["10", "50", "100", own]
    assert variants[own]["description"]["settings"] == Settings().to_dict()
    assert [v["against"] for v in variants.values()] == ["100", "100", None, "100"]
    assert report["limit"] == 2
    assert not any("retrieval" in v for v in by_label(report, "position").values())
    arguments = ["retrieval", beir, *common, "-m", "bm25,query-appended", "-s", "erukg-generate:neighbours=10"]
    result = CliRunner().invoke(app, [*map(str, arguments), "--samples", "10", "-o", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.output
    plain, appended = json.loads((tmp_path / "r.json").read_text())["methods"]
    for ours, theirs in ((report["retrieval"]["bm25"], plain), (variants["10"]["retrieval"], appended)):
        assert ours["sets"]["sea"].items() <= theirs["scores"]["sets"]["sea"].items()
    assert "search with 10 phrases of each kind" in text
    assert {each["metric"] for each in variants["10"]["differences"]} >= {"R@1000", "R@100", "nDCG@10"}
    page = write_results([out], tmp_path / "page")[0].read_text()
    assert f"Collection: {tiny_collection.name}, 120 documents, not made as the paper's (" in page
    assert "(the first 2 documents of each)" in page
    assert "| 10 minus 100 | " in page
    assert "| BM25 without phrases | " in page


def test_a_collection_that_changes_meanwhile_is_refused(
    tmp_path: Path, sets: Path, tiny_model: Path, tiny_encoder: OnnxBackend, small_collection: Path
) -> None:
    folder = tmp_path / "D"
    shutil.copytree(small_collection, folder)
    given = make_studies(["neighbours"], StudyInputs(SystemOptions(str(tiny_model), str(folder))))
    with Writer.open(folder) as writer:
        writer.remove(["doc:0"])
    with pytest.raises(InputError, match="'D' changed while the study 'neighbours' was run: its manifest was"):
        run_studies(given, [dataset.first(1) for dataset in load_sets([sets])], samples=10)


def test_a_collection_of_other_documents_is_no_reference(
    tmp_path: Path, sets: Path, tiny_model: Path, tiny_collection: Path
) -> None:
    other = write_model(tmp_path / "other", seed=9)
    build(tmp_path / "D", [write_corpus(tmp_path / "c.jsonl", 12)], ModelAnalyser(OnnxBackend.load(other)))
    out = tmp_path / "o.json"
    run(
        *(sets, "--study", "references", "--model", tiny_model, "--collection", tiny_collection, "--limit", 1),
        *("--models", f"no titles={other}", "--collections", f"no titles={tmp_path / 'D'}", "-o", out),
        *("--store", tmp_path / "s", "--samples", 10),
    )
    reason = by_label(json.loads(out.read_text()), "references")["no titles, generation"]["not_run"]
    assert reason == "the collection has documents 12 where 120 is needed"


def test_the_papers_alpha_is_that_of_absent_phrases_too(
    tmp_path: Path, tiny_model: Path, tiny_collection: Path
) -> None:
    given = StudyInputs(SystemOptions(str(tiny_model), str(tiny_collection), style="paper"))
    (study,) = make_studies(["alpha-beta"], given).studies
    assert [variant.label for variant in study.variants] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    for variant in study.variants:
        settings = variant.system.describe()["settings"]
        assert settings["alpha"] == settings["beta"] == settings["absent_alpha"] == variant.value
    own = StudyInputs(
        SystemOptions(str(tiny_model), str(tiny_collection), settings={"alpha": 0.5, "absent_alpha": 0.9})
    )
    (study,) = make_studies(["alpha-beta"], own).studies
    assert {variant.system.describe()["settings"]["absent_alpha"] for variant in study.variants} == {0.9}


def test_without_a_collection_the_rest_goes_on(tmp_path: Path, sets: Path, tiny_model: Path) -> None:
    out = tmp_path / "o.json"
    run(
        sets,
        "--model",
        tiny_model,
        "--tagger",
        "spacy:no_such_model",
        "--store",
        tmp_path / "s",
        "-o",
        out,
        "--limit",
        2,
    )
    report = json.loads(out.read_text())
    for name in ("alpha-beta", "neighbours", "pruning"):
        assert by_label(report, name)["all"]["not_run"] == "no collection (give --collection FOLDER)"
    assert "no model folders" in by_label(report, "references")["all"]["not_run"]
    assert "no collection folders" in by_label(report, "collection")["all"]["not_run"]
    head, spacy = by_label(report, "tags").values()
    assert head["name"] == "erukg-extract"
    assert "tagger" not in head["description"]
    assert head["scores"]["paper"]["sets"]["inspec"]["present"]["documents"] == 2
    assert "install it with" in spacy["not_run"]
    assert by_label(report, "position")["0"]["not_run"] is None


def test_a_model_with_its_own_collection_generates(tmp_path: Path, sets: Path, tiny_model: Path) -> None:
    other = write_model(tmp_path / "other", seed=9)
    build(tmp_path / "D", [write_corpus(tmp_path / "c.jsonl", 12)], ModelAnalyser(OnnxBackend.load(other)))
    out = tmp_path / "o.json"
    run(
        *(sets, "--study", "references", "--study", "collection", "--model", tiny_model, "--store", tmp_path / "s"),
        *("--models", f"no titles={other}", "--collections", f"no titles={tmp_path / 'D'}", "-o", out),
    )
    report = json.loads(out.read_text())
    variants = by_label(report, "references")
    assert list(variants) == ["all types, extraction", "no titles, extraction", "no titles, generation"]
    assert variants["no titles, generation"]["description"]["collection"] is not None
    assert "no collection folders" in by_label(report, "collection")["all"]["not_run"]


def test_a_folder_of_other_weights_is_not_taken_for_the_same_in_32_bits(
    tmp_path: Path, sets: Path, tiny_model: Path
) -> None:
    other = write_model(tmp_path / "other", seed=9)
    for folder, message in (
        (other, "the model folder has weights "),
        (write_model(tmp_path / "int8", int8=True), "the model folder has precision int8 where fp32 is needed"),
    ):
        out = tmp_path / "o.json"
        run(
            *(sets, "--study", "precision", "--model", tiny_model, "--fp32", folder),
            *("--store", tmp_path / "s", "-o", out),
        )
        reason = by_label(json.loads(out.read_text()), "precision")["fp32 folder"]["not_run"]
        assert reason.startswith(message)


def test_taggers_can_be_named_in_a_system(tiny_model: Path) -> None:
    options = SystemOptions(model=str(tiny_model))
    plain, named_head = (
        make_system(spec, options).describe() for spec in ("erukg-extract", "erukg-extract:tagger=model")
    )
    assert plain == named_head
    with pytest.raises(InputError, match="no tagger 'brill'"):
        make_system("erukg-extract:tagger=brill", options).describe()


def test_bad_names_are_refused(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no study 'alfa-beta'; did you mean 'alpha-beta'"):
        make_studies(["alfa-beta"], StudyInputs())
    with pytest.raises(InputError, match="no study 'qqq'; there are: alpha-beta"):
        make_studies(["qqq"], StudyInputs())
    with pytest.raises(InputError, match="'x' is not of the form NAME=FOLDER, which --models needs"):
        named(["x"], "--models")
    with pytest.raises(InputError, match="--models names 'x' twice"):
        named(["x=a", " x = b"], "--models")
    with pytest.raises(ModelError):
        make_studies(["position"], StudyInputs(SystemOptions(model=str(tmp_path / "none"))))


if importlib.util.find_spec("spacy"):

    def test_tags_of_another_tagger_change_what_is_found(tmp_path: Path, sets: Path, tiny_model: Path) -> None:
        import spacy
        from spacy.training import Example

        pipeline = spacy.blank("en")
        pipeline.add_pipe("tagger")
        # A tagger that was taught one tag only: no word is a noun.
        doc = spacy.tokens.Doc(pipeline.vocab, words=["radar", "images"])
        pipeline.initialize(lambda: [Example.from_dict(doc, {"tags": ["VB", "VB"]})])
        pipeline.to_disk(tmp_path / "verbs")
        out = tmp_path / "o.json"
        run(
            *(sets, "--study", "tags", "--model", tiny_model, "--tagger", f"spacy:{tmp_path / 'verbs'}"),
            *("--store", tmp_path / "s", "-o", out),
        )
        head, verbs = by_label(json.loads(out.read_text()), "tags").values()
        assert len(verbs["description"]["tagger"]["pipeline_version"]) == 64
        assert head["scores"]["paper"]["average"]["present"]["F@5"] > 0
        assert verbs["scores"]["paper"]["average"]["present"]["F@5"] == 0
