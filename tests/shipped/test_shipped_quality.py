"""The shipped models, with the shipped collection, find what an indexer would; and spoilt ones are told from them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from erukg import KeyphraseGenerator, fold
from erukg.backends.folder import ModelFolder, find_model
from erukg.collection.inspection import verify
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import gold
from erukg.research.evaluation.readers import ReaderText, load_readers
from shipped.gate import ASSETS, MODELS, TEXTS, Measured, measure, reached, rows, shortfalls
from shipped.spoiling import SPOILS, spoil_collection, spoil_model

SET = load_readers([TEXTS]).texts
BUNDLED = ("small", "tiny")
# Of the phrases that must come, a text that gets a smaller share is not understood at all.
LEAST = 0.4


@pytest.fixture(scope="module", params=MODELS)
def shipped(request: pytest.FixtureRequest) -> tuple[str, Measured]:
    """A shipped model's name and what it reaches."""
    name = str(request.param)
    if name not in BUNDLED and not Path(MODELS[name]).is_dir():
        pytest.skip(f"{name} comes with the repository")
    return name, measure(MODELS[name])


def test_the_models_are_as_good_as_they_were(shipped: tuple[str, Measured]) -> None:
    name, measured = shipped
    fallen = shortfalls(name, measured, reached(name))
    assert not fallen, "\n".join(fallen)


@pytest.mark.parametrize("text", SET, ids=lambda text: str(text.id))
def test_every_text_gets_its_phrases(shipped: tuple[str, Measured], text: ReaderText) -> None:
    _, measured = shipped
    assert measured["must"][text.id] >= LEAST, f"of {text.must}"
    if text.absent == "none":
        assert measured["unwanted"][text.id] == 0


def _spoilt() -> list[Any]:
    """The models with each of their parts; `small` has no tagger of words."""
    parts = [pytest.param("small", part, marks=pytest.mark.slow) for part in SPOILS if part != "tagger"]
    return [*parts, *(("tiny", part) for part in SPOILS)]


@pytest.mark.parametrize(("name", "part"), _spoilt())
def test_a_spoilt_model_with_right_checksums_is_noticed(name: str, part: str, tmp_path: Path) -> None:
    folder = spoil_model(find_model(name), tmp_path / name, part)
    ModelFolder.open(folder).verify()
    fallen = {line.split()[1] for line in shortfalls(name, measure(str(folder)), reached(name))}
    # Present phrases of short texts need their classes of words most of all; a tagger of words tells those, where there
    # is one, and the encoder's term weights show in the absent phrases.
    telling = {"tagger"} if ModelFolder.open(folder).has_tagger else {"encoder", "head"}
    assert fallen & ({"F@10"} if part in telling else {"first", "on_topic"})


def test_a_spoilt_collection_with_right_checksums_is_noticed(tmp_path: Path) -> None:
    folder = spoil_collection(ASSETS / "collection", tmp_path / "collection")
    assert verify(folder) == []
    for name in BUNDLED:
        fallen = {line.split()[1] for line in shortfalls(name, measure(name, folder), reached(name))}
        assert {"R@10", "answered", "first"} <= fallen


def test_a_figure_that_fell_is_told_with_the_texts_that_are_worst() -> None:
    known = {"F@10": 0.5, "must_not": 0.0}
    measured = {"F@10": {"a": 0.4, "b": 0.0, "c": 0.5}, "must_not": {"a": 0.0, "b": 1.0, "c": 0.0}}
    assert shortfalls("tiny", measured, known | {"F@10": 0.3 + 1 / 3, "must_not": 0.1}) == []
    fell, rose = shortfalls("tiny", measured | {"must_not": {"a": 0.0, "b": 1.0, "c": 1.0}}, known | {"F@10": 0.7})
    assert fell.startswith("tiny: F@10 (F@10 of the present phrases) fell from 0.700 to 0.300 over 3 texts; at least")
    assert fell.endswith("Worst: b 0.00, a 0.40, c 0.50.")
    assert "must_not" in rose
    assert "rose from 0.000 to 0.667 over 3 texts; at most 0.333 is needed. Worst: b 1.00" in rose
    assert len(shortfalls("tiny", {"F@10": {}}, known)) == 1, "a figure of no text is none"


def test_the_set_is_sound() -> None:
    kinds = {text.kind for text in SET}
    assert len(SET) >= 36
    assert {"news", "ticket", "recipe", "product", "query", "medicine", "computing", "physics"} <= kinds
    assert len(kinds) >= 12
    for text, row in zip(SET, rows().values(), strict=True):
        folded = f" {fold(text.text)} "
        for forms in text.must:
            assert f" {fold(forms[0])} " in folded, (text.id, forms)
        assert not {fold(form) for forms in text.must for form in forms} & set(map(fold, text.must_not)), text.id
        sentences = len(re.findall(r"\w\w[.?]\"?(?=\s|$)", text.text))
        assert text.kind == "query" or 3 <= sentences <= 8, text.id
        assert (text.absent == "none") == ("absent_any" not in row), text.id
        assert not any(f" {fold(phrase)} " in folded for phrase in row.get("absent_any", ())), text.id
        found = gold(Record(text.id, "", text.text, tuple(row["keyphrases"])))
        assert (found.n_absent > 0) == ("absent_any" in row), text.id
        assert found.n_present >= 2, text.id


@pytest.mark.parametrize("name", BUNDLED)
def test_the_bundled_collection_is_found_by_every_bundled_model(name: str) -> None:
    background = KeyphraseGenerator.from_pretrained(name).background
    assert background is not None
    assert len(background) == 444_769
