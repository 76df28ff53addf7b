"""Development sets: tags and stems stored with the texts, so that term weights are all that a score still needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg.backends.vocabulary import Vocabulary
from erukg.errors import TrainingError
from erukg.research.evaluation.datasets import load_set
from erukg.training.dev_scoring import f_scores, load_dev, score_documents
from erukg.training.dev_sets import prepare_dev
from erukg.training.pieces import load_tokenizer
from training.texts import write_rows, write_tokenizer

NOUNS = {"tide", "table", "tables", "tide-table", "harbours", "waves", "gauges", "crabs", "water", "level"}


class WordList:
    """Tags by a word list: enough of a tagger for these texts."""

    def tag(self, words: Sequence[str]) -> list[str]:
        return ["NN" if word.lower() in NOUNS else "JJ" if word == "small" else "IN" for word in words]


ROWS = [
    {
        "id": "1",
        "title": "Tide tables",
        "abstract": "In small harbours the tide table is kept, and a tide-table of waves too.",
        "keyphrases": ["Tide table", "tide tables", "small harbour", "moon"],
    },
    {"id": "2", "title": "Crabs", "abstract": "Of crabs.", "keyphrases": ["sea shore"]},
    {
        "id": "3",
        "title": "Water level gauges",
        "abstract": "By gauges.",
        "keyphrases": ["water level gauge", "gauges"],
        "keyphrases_stemmed_official": [["water level gaug", "water gaug"], ["gaug"]],
    },
]


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    source = write_rows(tmp_path / "harbour.jsonl.xz", ROWS)
    summary = prepare_dev(load_set(source), WordList(), tmp_path / "dev", quiet=True)
    assert summary.file == tmp_path / "dev" / "harbour.jsonl"
    assert (summary.documents, summary.without_gold, summary.gold) == (2, 1, 4)
    assert summary.reached == 4
    assert [p.name for p in (tmp_path / "dev").iterdir()] == ["harbour.jsonl"]
    return summary.file


@pytest.fixture
def rows(dev: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dev.read_text().splitlines()]


@pytest.fixture
def vocabulary(tmp_path: Path) -> Vocabulary:
    path = write_tokenizer(tmp_path / "t.json")
    return Vocabulary(load_tokenizer(path), path)


def test_rows_hold_text_tags_stems_and_gold(rows: list[dict[str, Any]]) -> None:
    first = rows[0]
    assert set(first) == {"text", "tags", "stems", "gold"}
    assert first["text"].startswith("Tide tables\nIn small harbours")
    assert first["tags"].startswith("11021"), "a digit for each word: Tide tables In small harbours"
    assert first["gold"] == {"tide tabl": 0, "small harbour": 1}, "two spellings of one are one; the moon is absent"
    assert first["stems"]["tide table"] == "tide tabl"


def test_the_official_stemmed_gold_is_used_where_there_is_one(rows: list[dict[str, Any]]) -> None:
    assert rows[1]["gold"] == {"water gaug": 0, "water level gaug": 0, "gaug": 1}
    assert sorted(rows[1]["stems"].values()) == ["gaug", "water level gaug"]


def test_candidates_count_all_their_occurrences(dev: Path, vocabulary: Vocabulary) -> None:
    first, second = load_dev(dev.parent, 0, vocabulary)["harbour"]
    for name in ("paper", "tuned"):
        assert [candidate.fold for candidate in first.candidates[name]][:2] == ["tide table", "small harbour"]
        assert first.pools[name].words_before[:2].tolist() == [0, 3]
    share = first.pools["tuned"].phraseness_document
    assert share[0] == pytest.approx(3 * share[1]), "also the tide-table"
    folds = {name: {candidate.fold for candidate in found} for name, found in first.candidates.items()}
    assert folds["tuned"] - folds["paper"] == {"tide table of wave"}
    assert second.pieces.ids.tolist() == vocabulary.pieces("Water level gauges By gauges .".split()).ids.tolist()
    assert len(load_dev(dev.parent, 1, vocabulary)["harbour"]) == 1


def test_rows_that_cannot_be_ranked_are_refused(tmp_path: Path, vocabulary: Vocabulary) -> None:
    good = {"text": "Tide tables", "tags": "11", "stems": {"tide table": "tide tabl"}, "gold": {"tide tabl": 0}}
    without_gold = {**good, "gold": {}}
    path = write_rows(tmp_path / "some.jsonl", [without_gold, good])
    (document,) = load_dev(tmp_path, 0, vocabulary)["some"]
    assert document.gold == {"tide tabl": 0}
    for change, said in (({"text": None}, ""), ({"tags": "1"}, "1 tag classes for 2 words")):
        write_rows(path, [good, {**good, **change}])
        with pytest.raises(TrainingError, match=f"Line 2 .*{said}"):
            load_dev(tmp_path, 0, vocabulary)
    write_rows(path, [{"ids": [1], "candidates": [], "gold": [0]}])
    with pytest.raises(TrainingError, match=r"Line 1 .*\(it has no text\); prepare the folder again"):
        load_dev(tmp_path, 0, vocabulary)


def test_a_gold_phrase_counts_once() -> None:
    gold = {"a": 0, "b": 0, "c": 1}
    assert f_scores(["x", "a", "a", "", "b", "y", "z", "c"], gold) == (2 * 1 / 7, 2 * 2 / 12)
    assert f_scores([], gold) == (0.0, 0.0)


def test_scores_of_sets_are_means_over_documents(dev: Path, vocabulary: Vocabulary) -> None:
    documents = load_dev(dev.parent, 0, vocabulary)["harbour"]

    def weights(texts: list[NDArray[np.int32]]) -> NDArray[np.float32]:
        """Every term weighs the same in the first document; in the second nothing does, so nothing is predicted."""
        return np.array([np.full(vocabulary.size, text is documents[0].pieces.ids) for text in texts], np.float32)

    scores = score_documents({"harbour": documents}, weights, batch=1)
    assert scores.documents == 2
    assert scores.terms == vocabulary.size / 2
    # Both gold phrases of the first are found: P@5 = 2/5, R = 1.
    assert scores.tuned["harbour"] == pytest.approx((100 * (4 / 7) / 2, 100 * (4 / 12) / 2))
    assert scores.best == pytest.approx(100 * (4 / 7 + 4 / 12) / 4)
