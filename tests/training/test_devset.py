"""Development sets: candidates and gold numbered so that ranking term weights is all that is left to do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from erukg.errors import InputError, TrainingError
from erukg.training.devset import dev_files, prepare_dev
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
def rows(tmp_path: Path) -> list[dict[str, object]]:
    source = write_rows(tmp_path / "harbour.jsonl.xz", ROWS)
    summary = prepare_dev(source, write_tokenizer(tmp_path / "t.json"), WordList(), tmp_path / "dev", quiet=True)
    assert summary.file == tmp_path / "dev" / "harbour.jsonl"
    assert (summary.documents, summary.without_gold, summary.gold) == (2, 1, 4)
    assert summary.reachable == 1.0
    assert [p.name for p in (tmp_path / "dev").iterdir()] == ["harbour.jsonl"]
    return [json.loads(line) for line in summary.file.read_text().splitlines()]


def test_candidates_share_keys_by_their_stems(rows: list[dict[str, object]]) -> None:
    first = rows[0]
    assert set(first) == {"ids", "candidates", "n_candidates_total", "gold"}
    assert first["gold"] == [0, 1], "two spellings of one phrase are one; the moon is absent"
    candidates = first["candidates"]
    assert isinstance(candidates, list)
    table, harbours = candidates[:2]
    assert (table["position"], table["count"], table["key"]) == (0, 3, 0)
    assert (harbours["position"], harbours["count"], harbours["key"]) == (3, 1, 1)
    assert all(c["key"] >= 2 for c in candidates[2:])
    assert first["n_candidates_total"] == sum(c["count"] for c in candidates)
    assert all(c["terms"] for c in candidates)


def test_pieces_are_of_title_and_abstract(rows: list[dict[str, object]], tmp_path: Path) -> None:
    tokenizer = load_tokenizer(tmp_path / "t.json")
    encoding = tokenizer.encode("Water level gauges\nBy gauges.", add_special_tokens=False)
    assert rows[1]["ids"] == encoding.ids


def test_the_official_stemmed_gold_is_used_where_there_is_one(rows: list[dict[str, object]]) -> None:
    assert rows[1]["gold"] == [0, 1]
    candidates = rows[1]["candidates"]
    assert isinstance(candidates, list)
    assert sorted(c["key"] for c in candidates) == [0, 1]


def test_folders_are_searched_for_sets(tmp_path: Path) -> None:
    for name in ("b.jsonl.xz", "a.jsonl", "notes.txt"):
        (tmp_path / name).touch()
    assert dev_files([tmp_path]) == [tmp_path / "a.jsonl", tmp_path / "b.jsonl.xz"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(TrainingError, match=r"holds no \.jsonl file"):
        dev_files([tmp_path / "empty"])


def test_a_set_that_cannot_be_read_writes_nothing(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "set.jsonl", ["no"])
    with pytest.raises(InputError, match="line 1"):
        prepare_dev(source, write_tokenizer(tmp_path / "t.json"), WordList(), tmp_path / "dev", quiet=True)
    assert not (tmp_path / "dev").exists()
