"""Reading BEIR folders: layouts, what is left out and said so, and broken files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from erukg.errors import InputError
from erukg.research.evaluation.retrieval import RetrievalSet, find_sets, load_retrieval_set
from evaluation.retrieval_samples import QUERIES, write_set


def load(folder: Path) -> RetrievalSet:
    (files,) = find_sets([folder])
    return load_retrieval_set(files)


@pytest.mark.parametrize("packing", ["", ".gz", ".xz"])
def test_a_set_is_read(tmp_path: Path, packing: str) -> None:
    data = load(write_set(tmp_path / "tiny", packing=packing))
    assert data.name == "tiny"
    assert [d.id for d in data.documents] == ["d1", "d2", "d3", "d4"]
    assert data.documents[0].text == "Sparse retrieval\nA fast search engine for large document collections."
    assert data.documents[2].text == "Vertex set algorithms for random graphs."
    assert [q.id for q in data.queries] == ["q1", "q2", "q3"]
    assert data.qrels == {"q1": {"d1": 2, "d4": 0}, "q2": {"d2": 1}, "q3": {"d3": 1}}
    assert data.notes == ("1 query without judgements left out: q4.",)
    assert data.sha256 == load(write_set(tmp_path / "other" / "tiny")).sha256
    assert [q.id for q in data.first(2).queries] == ["q1", "q2"]
    assert list(data.first(2).qrels) == ["q1", "q2"]


def test_judgements_by_split_and_folders_of_sets(tmp_path: Path) -> None:
    for name in ("b", "a"):
        folder = write_set(tmp_path / name)
        (folder / "qrels").mkdir()
        (folder / "qrels.tsv").rename(folder / "qrels" / "dev.tsv")
    (tmp_path / "beside").mkdir()
    assert [files.name for files in find_sets([tmp_path], "dev")] == ["a", "b"]
    with pytest.raises(InputError, match=r"no qrels\.tsv and no qrels/test\.tsv"):
        find_sets([tmp_path])


def test_columns_go_by_their_names(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s")
    (folder / "qrels.tsv").write_text("corpus-id\tquery-id\titeration\tscore\r\nd1\tq1\t0\t1\r\n\r\n")
    assert load(folder).qrels == {"q1": {"d1": 1}}


def test_what_does_not_fit_together_is_said(tmp_path: Path) -> None:
    qrels = [("q1", "d1", 1), ("q1", "gone", 1), ("q2", "d2", 0), ("q7", "d1", 1), ("q8", "d1", 1)]
    data = load(write_set(tmp_path / "s", queries={**QUERIES, "q5": "more"}, qrels=qrels))
    assert [q.id for q in data.queries] == ["q1"]
    unjudged, hopeless, strange, lost = data.notes
    assert unjudged == "3 queries without judgements left out: q3, q4, q5."
    assert hopeless == "1 query without a relevant document left out: q2."
    assert strange.startswith("judgements of 2 queries that the set does not have left out: q7, q8;")
    assert strange.endswith("all figures of this set are wrong.")
    assert lost == "1 relevant document not in the corpus, and counted as not found: gone."


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("corpus.jsonl", '{"title": "a", "text": "b"}', "line 5: the field '_id' is missing"),
        ("corpus.jsonl", '{"_id": "d9"}', "line 5: the field 'text' is missing"),
        ("corpus.jsonl", '{"_id": "d9", "text": 4}', "line 5: the field 'text' must be text, not int"),
        ("corpus.jsonl", '{"_id": "d9", "title": ["a"], "text": ""}', "'title' must be text, not list"),
        ("corpus.jsonl", '{"_id": [1], "text": ""}', "line 5: Field '_id' must be a string or a whole number"),
        ("corpus.jsonl", '{"_id": "d2", "text": "again"}', "line 5: the id 'd2' was already used in line 2"),
        ("corpus.jsonl", '{"_id": "d9", "te', "line 5: It is not JSON"),
        ("corpus.jsonl", "[1]", "line 5: It is JSON, but not an object"),
        ("queries.jsonl", '{"_id": "q1", "text": "again"}', "line 5: the id 'q1' was already used in line 1"),
        ("queries.jsonl", '{"_id": "q9", "text": " "}', "line 5: the query has no text"),
        ("qrels.tsv", "q1\td2", "line 6 has 2 columns"),
        ("qrels.tsv", "q1\td2\thigh", "line 6: the score must be a whole number, not 'high'"),
        ("qrels.tsv", "q1\td1\t1", "line 6: the document 'd1' was judged for query 'q1' before"),
        ("qrels.tsv", "\td1\t1", "line 6: the id of the query is missing"),
        ("qrels.tsv", "q1\t\t1", "line 6: the id of the document is missing"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, file: str, line: str, message: str) -> None:
    folder = write_set(tmp_path / "s")
    with (folder / file).open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(InputError) as caught:
        load(folder)
    assert message in str(caught.value)
    assert str(folder / file) in str(caught.value)


def test_broken_files_are_named(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s")
    (folder / "qrels.tsv").write_text("q1\td1\t1\n")
    with pytest.raises(InputError, match=r"line 1 must be a header, query-id, .* it lacks 'query-id'"):
        load(folder)
    (folder / "qrels.tsv").write_bytes(b"query-id\tcorpus-id\tscore\nq\xff\td1\t1\n")
    with pytest.raises(InputError, match="line 2: It is not UTF-8"):
        load(folder)
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")
    with pytest.raises(InputError, match=r"No query of .* check that their ids agree"):
        load(folder)
    (folder / "queries.jsonl").write_text("")
    with pytest.raises(InputError, match=r"queries\.jsonl is empty"):
        load(folder)
    (folder / "corpus.jsonl").rename(folder / "corpus.jsonl.xz")
    with pytest.raises(InputError, match=r"corpus\.jsonl\.xz cannot be read"):
        load(folder)
    (folder / "queries.jsonl").unlink()
    with pytest.raises(InputError, match=r"has no queries\.jsonl"):
        find_sets([folder])
    with pytest.raises(InputError, match="There is no folder"):
        find_sets([tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="give folders in BEIR's layout"):
        find_sets([tmp_path / "empty"])
    with pytest.raises(InputError, match="Two of the folders are called 's'"):
        find_sets([write_set(tmp_path / "s"), write_set(tmp_path / "t" / "s")])


def test_ids_may_be_numbers(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "s", qrels=[("q1", "7", 1)])
    with (folder / "corpus.jsonl").open("a") as stream:
        stream.write(json.dumps({"_id": 7, "text": "search"}) + "\n")
    assert load(folder).notes[0].startswith("3 queries without judgements")
