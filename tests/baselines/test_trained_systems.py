"""Trained baselines by name, in the evaluation of keyphrases and of retrieval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from erukg.errors import InputError, ModelError
from erukg.research.baselines import Baseline, GenerativeBaseline
from erukg.research.baselines.base import present_and_absent
from erukg.research.baselines.copyrnn import CopyRnn
from erukg.research.baselines.neural.vocabulary import words
from erukg.research.baselines.textrank import TextRank
from erukg.research.evaluation.baseline_system import BaselineSystem
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.retrieval.doct5query import CopyQueries, query_model
from erukg.research.evaluation.retrieval.methods import make_methods
from erukg.research.evaluation.systems import NotAvailableError, make_system
from tiny_copy import tiny_copy_model

RECORDS = [
    Record("1", "Sparse-index search", "A sparse index for document search.", ("sparse index",)),
    Record("2", "", "", ()),
    Record("3", "Sea ice", "Radar images of sea ice near Xanadu.", ("radar images", "sea ice")),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny_copy_model().save(tmp_path / "model")
    return tmp_path / "model"


def test_phrases_are_parted_by_whether_they_stand_in_the_text() -> None:
    ranked = ["Sea Ice", "radar", "sea ice", "frozen", "adar i", "graph"]
    assert present_and_absent(ranked, "SEA ICE and radar images", 2) == (["sea ice", "radar"], ["frozen", "graph"])
    assert present_and_absent([], "sea", 5) == ([], [])


@pytest.mark.parametrize("name", ["copyrnn", "tpg"])
def test_predictions_of_trained_baselines(name: str, folder: Path) -> None:
    system = make_system(f"{name}:{folder},width=30,depth=3")
    assert isinstance(system, BaselineSystem)
    assert isinstance(system.baseline, GenerativeBaseline)
    first, empty, third = ((list(present), list(absent)) for present, absent in system.predict(RECORDS))
    assert empty == ([], [])
    for record, (present, absent) in ((RECORDS[0], first), (RECORDS[2], third)):
        assert present
        assert absent
        assert all(phrase in record.text.lower() for phrase in present)
        assert not any(phrase in record.text.lower() for phrase in absent)
    # No prediction depends on the other records.
    assert system.phrases(RECORDS[2].text) == third
    described = system.describe()
    assert described["settings"]["width"] == 30
    assert described["model"]["card"] == {"baseline": "test"}
    assert described != make_system(f"{name}:{folder},width=31,depth=3").describe()
    json.dumps(described, allow_nan=False)


def test_few_phrases_of_one_word(folder: Path) -> None:
    text = RECORDS[2].text
    plain, fewer = (make_system(f"copyrnn:{folder},width=40,depth=2,single_words={n}") for n in (50, 1))
    assert isinstance(plain, BaselineSystem)
    assert isinstance(fewer, BaselineSystem)
    both = [[*present, *absent] for present, absent in (plain.phrases(text, 50), fewer.phrases(text, 50))]
    alone = [[phrase for phrase in phrases if len(words(phrase)) == 1] for phrases in both]
    assert len(alone[0]) > 1
    assert len(alone[1]) == 1


def test_trained_baselines_say_what_they_lack(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(NotAvailableError, match="give tpg:FOLDER, written by erukg train baseline tpg"):
        make_system("tpg").describe()
    with pytest.raises(ModelError, match="There is no folder"):
        make_system(f"copyrnn:{tmp_path / 'none'}")
    with pytest.raises(InputError, match="no setting 'widht'; did you mean 'width'"):
        make_system(f"copyrnn:{folder},widht=3")
    with pytest.raises(InputError, match="'width' must be a number from 1 up"):
        make_system(f"copyrnn:{folder},width=0")


def test_the_two_kinds_of_baselines_are_told_apart() -> None:
    extractor: Baseline = TextRank()
    assert not isinstance(extractor, GenerativeBaseline)
    assert isinstance(CopyRnn(tiny_copy_model()), GenerativeBaseline)


def test_queries_of_a_trained_network(folder: Path, tmp_path: Path) -> None:
    model = query_model(folder)
    assert isinstance(model, CopyQueries)
    assert model.describe()["model"]["name"] == "model"
    (first, _), (empty, _), (third, _) = model.predict(RECORDS)
    assert len(first) > 10
    assert empty == []
    # A run that goes on with the third document samples what it would have in one go.
    assert next(iter(CopyQueries(folder).predict(RECORDS[2:])))[0] == third
    (method,) = make_methods(["doct5query"], t5=folder)
    assert method.documents is not None
    assert method.documents["queries"] == 20
    with pytest.raises(InputError, match="1 to 50 queries"):
        CopyQueries(folder, queries=51)
    with pytest.raises(ModelError, match="no T5 model"):
        query_model(tmp_path)
