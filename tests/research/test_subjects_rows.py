"""The rows that need no suggester, and what goes to Annif and comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from erukg import KeyphraseGenerator
from erukg.collection import Collection
from erukg.errors import InputError
from erukg.research.evaluation.subjects import Parts, make_rows
from erukg.research.evaluation.subjects.annif import _predictions, _triples, predict
from erukg.research.evaluation.subjects.records import TaggedRecord, TaggedSet
from erukg.subjects.concepts import Concept
from erukg.subjects.vocabulary import Vocabulary
from tiny_archive import TEXTS, write_archive

CONCEPTS = [
    Concept("u:ice", "Ice, Sea", alternatives=("sea ice",)),
    Concept("u:radar", "Radar"),
    Concept("u:engine", "Search engines"),
    Concept("u:graph", 'Graphs "random"', broader=("u:engine",)),
]
RECORDS = (
    TaggedRecord("a", "Radar images of sea ice. Passive radar and the sea.", frozenset({"u:ice"})),
    TaggedRecord("b", "A search engine for documents.", frozenset({"u:engine"})),
)
DOCUMENTS = TaggedSet("dev", RECORDS, "0" * 64)


@pytest.fixture
def parts(tiny_generator: KeyphraseGenerator, tiny_collection: Path) -> Parts:
    return Parts(lambda: tiny_generator, Vocabulary.of(CONCEPTS), Collection.open(tiny_collection), threads=1)


def test_label_match_goes_by_number_of_occurrences(parts: Parts) -> None:
    (row,) = make_rows(["label match"], parts)
    assert list(row.suggest(RECORDS)) == [["u:radar", "u:ice"], ["u:engine"]]


def test_fused_lists_go_by_reciprocal_ranks(
    tiny_model: Path, tiny_generator: KeyphraseGenerator, tmp_path: Path
) -> None:
    tagged = Collection.open(write_archive(tmp_path, tiny_model))
    vocabulary = Vocabulary.of(
        [Concept("http://example.org/ice", "Ice"), Concept("u:radar", "Radar"), Concept("to read", "x")]
    )
    label, votes, fused = make_rows(
        ["label match", "neighbours", "fused"], Parts(lambda: tiny_generator, vocabulary, tagged, threads=1)
    )
    record = (TaggedRecord("new", TEXTS["ice"], frozenset({"u:radar"})),)
    (by_label,), (by_votes,), (both,) = (list(row.suggest(record)) for row in (label, votes, fused))
    assert set(both) == {*by_label, *by_votes} == {"http://example.org/ice", "u:radar", "to read"}
    assert both[0] == "http://example.org/ice"


def test_rank_gives_each_concept_once(parts: Parts) -> None:
    (row,) = make_rows(["rank"], parts)
    for uris in row.suggest(RECORDS):
        assert len(uris) == len(set(uris)) <= len(CONCEPTS)
    assert "u:ice" in next(iter(row.suggest(RECORDS)))


def test_rows_that_cannot_be_are_refused(parts: Parts, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no row 'neighbour'"):
        make_rows(["neighbour"], parts)
    with pytest.raises(InputError, match="'learned' needs a ranking"):
        make_rows(["learned"], parts)
    with pytest.raises(InputError, match=r"is not NAME=FILE\.jsonl"):
        make_rows([], parts, ["file.jsonl"])
    with pytest.raises(InputError, match="There is no file"):
        make_rows([], parts, [f"annif={tmp_path / 'none.jsonl'}"])
    path = tmp_path / "p.jsonl"
    path.write_text("")
    with pytest.raises(InputError, match="Two rows have one name"):
        make_rows(["rank"], parts, [f"rank={path}"])


def test_the_vocabulary_goes_to_annif_as_skos() -> None:
    lines = list(_triples(Vocabulary.of(CONCEPTS)))
    skos = "http://www.w3.org/2004/02/skos/core#"
    assert f'<u:ice> <{skos}altLabel> "sea ice"@en .\n' in lines
    assert f'<u:graph> <{skos}prefLabel> "Graphs \\"random\\""@en .\n' in lines
    assert f"<u:graph> <{skos}broader> <u:engine> .\n" in lines


def test_annifs_answers_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "found.jsonl"
    answers = [{"document_id": id, "results": [{"uri": "u:ice", "label": "x", "score": 1.0}]} for id in "ab"]
    path.write_text("".join(json.dumps(row) + "\n" for row in answers))
    assert [json.loads(line) for line in _predictions(path, DOCUMENTS)] == [
        {"id": id, "uris": ["u:ice"]} for id in "ab"
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in reversed(answers)))
    with pytest.raises(InputError, match="another order"):
        list(_predictions(path, DOCUMENTS))
    path.write_text(json.dumps(answers[0]) + "\n")
    with pytest.raises(InputError, match="answered for 1 of 2"):
        list(_predictions(path, DOCUMENTS))


def test_a_command_that_fails_is_named(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of(CONCEPTS)
    with pytest.raises(InputError, match="Annif's 'load-vocab' ended with 1"):
        predict(Path("/bin/false"), "tfidf", vocabulary, RECORDS, DOCUMENTS, tmp_path / "p", tmp_path / "o.jsonl")
    with pytest.raises(InputError, match=r"cannot be run .* give the path"):
        predict(tmp_path / "none", "tfidf", vocabulary, RECORDS, DOCUMENTS, tmp_path / "p", tmp_path / "o.jsonl")
    with pytest.raises(InputError, match="There is no back end 'tf'"):
        predict(Path("/bin/false"), "tf", vocabulary, RECORDS, DOCUMENTS, tmp_path / "p", tmp_path / "o.jsonl")
    assert not (tmp_path / "o.jsonl").exists()
