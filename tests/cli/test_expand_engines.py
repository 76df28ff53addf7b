"""`erukg expand --queries` and `--format`: what search engines take, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from erukg import KeyphraseGenerator, Settings
from erukg.cli import app
from erukg.core.query_expansion import QueryOptions
from erukg.io.engines import ENGINES, document_lines, index_schema, query_lines

Run = Callable[..., Result]

QUERIES: list[dict[str, Any]] = [
    {"_id": "q1", "text": "sea ice radar", "lang": "en"},
    {"_id": 2, "text": "neural network (deep) AND graphs"},
    {"_id": "q3", "text": "to be or not to be"},
]
DOCUMENTS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Sea ice", "text": "Passive radar images of sea ice.", "year": 2020},
    {"id": "d2", "abstract": "Neural network training on graphs"},
]


@pytest.fixture
def expand(tiny_model: Path, tiny_collection: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`erukg expand` with the tiny model and the tiny collection."""
    monkeypatch.setenv("COLUMNS", "200")
    parts = ["--model", str(tiny_model), "--collection", str(tiny_collection)]

    def call(*arguments: object, input: str | None = None) -> Result:
        return CliRunner().invoke(app, ["expand", *parts, *map(str, arguments)], input=input)

    return call


@pytest.fixture
def generator(tiny_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection, settings=Settings().for_own_corpus())


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_queries_keep_their_fields_and_get_weighted_phrases(
    expand: Run, generator: KeyphraseGenerator, tmp_path: Path
) -> None:
    path = write(tmp_path / "q.jsonl", QUERIES)
    plain = expand(path, "--queries")
    assert plain.exit_code == 0, plain.output
    rows = [json.loads(line) for line in plain.stdout.splitlines()]
    for given, row in zip(QUERIES, rows, strict=True):
        expected = generator.expand_query(given["text"]).phrases
        assert row == {**given, "expansion": [phrase.to_dict() for phrase in expected]}
    assert {phrase["kind"] for phrase in rows[0]["expansion"]} == {"present", "absent"}
    asked = expand(path, "--queries", "--weight", 0.5, "-k", 1, "--absent", 2, "--terms", 3)
    options = QueryOptions(0.5, 1, 2, 3)
    kinds = [phrase["kind"] for phrase in json.loads(asked.stdout.splitlines()[0])["expansion"]]
    assert kinds == [phrase.kind for phrase in generator.expand_query(QUERIES[0]["text"], options).phrases]
    assert kinds.count("term") == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gets_its_lines(expand: Run, generator: KeyphraseGenerator, tmp_path: Path, engine: Any) -> None:
    fields, index = "text,keyphrases^0.3", "papers" if engine in ("elasticsearch", "opensearch") else None
    more = ["--index", index] if index else []
    found = expand(write(tmp_path / "q.jsonl", QUERIES), "--queries", "--format", engine, "--fields", fields, *more)
    assert found.exit_code == 0, found.output
    expected: list[str] = []
    for row in QUERIES:
        expected += query_lines(generator.expand_query(row["text"], id=str(row["_id"])), engine, fields, index)
    assert found.stdout.splitlines() == expected
    schema = [] if engine == "lucene" else ["--schema", tmp_path / "schema.json"]
    found = expand(write(tmp_path / "d.jsonl", DOCUMENTS), "--format", engine, "--absent", 3, *more, *schema)
    assert found.exit_code == 0, found.output
    plain = expand(tmp_path / "d.jsonl", "--absent", 3).stdout.splitlines()
    expected = []
    for row, line in zip(DOCUMENTS, map(json.loads, plain), strict=True):
        expected += document_lines(row, line["present"], line["absent"], engine, index)
        assert 0 < len(line["absent"]) <= 3
    assert found.stdout.splitlines() == expected
    if schema:
        assert json.loads((tmp_path / "schema.json").read_text()) == index_schema(engine)


@pytest.mark.parametrize("queries", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engines_lines_can_be_resumed(expand: Run, tmp_path: Path, engine: str, queries: bool) -> None:
    path = write(tmp_path / "in.jsonl", QUERIES if queries else DOCUMENTS)
    command = [path, "--format", engine, "--output", tmp_path / "out", *(["--queries"] if queries else [])]
    assert expand(*command).exit_code == 0
    whole = (tmp_path / "out").read_bytes()
    (tmp_path / "out").unlink()
    part = tmp_path / "out.part"
    for cut in (len(whole) // 2, len(whole) - 1, whole.index(b"\n") + 1):
        part.write_bytes(whole[:cut])
        assert expand(*command, "--resume").exit_code == 0
        assert (tmp_path / "out").read_bytes() == whole
        (tmp_path / "out").unlink()
    part.write_text("neither\nnor\n")
    refused = expand(*command, "--resume")
    assert refused.exit_code == 1
    assert "is not what erukg writes in this format" in refused.stderr


def test_parquet_has_a_column_for_what_is_searched(expand: Run, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: no Parquet is written")
    documents, queries = write(tmp_path / "d.jsonl", DOCUMENTS), write(tmp_path / "q.jsonl", QUERIES)
    assert expand(documents, "--output", tmp_path / "d.parquet").exit_code == 0
    table = parquet.read_table(tmp_path / "d.parquet")
    assert table.column_names == ["_id", "title", "abstract", "text", "present", "absent", "metadata"]
    lines = [json.loads(line) for line in expand(documents).stdout.splitlines()]
    for row, line in zip(table.to_pylist(), lines, strict=True):
        assert (row["present"], row["absent"]) == (line["present"], line["absent"])
    assert [row["_id"] for row in table.to_pylist()] == ["d1", "d2"]
    assert table.column("metadata").to_pylist() == ['{"year": 2020}', None]
    assert expand(queries, "--queries", "--output", tmp_path / "q.parquet").exit_code == 0
    table = parquet.read_table(tmp_path / "q.parquet")
    assert table.column_names == ["_id", "text", "expansion", "metadata"]
    lines = [json.loads(line) for line in expand(queries, "--queries").stdout.splitlines()]
    assert table.column("expansion").to_pylist() == [line["expansion"] for line in lines]
    refused = expand(documents, "--output", tmp_path / "d.parquet", "--resume")
    assert refused.exit_code == 2
    assert "cannot be gone on with" in refused.stderr
    assert expand(documents, "--format", "parquet").exit_code == 2


def test_appending_is_warned_of(expand: Run, tmp_path: Path) -> None:
    found = expand(write(tmp_path / "d.jsonl", DOCUMENTS), "--append")
    assert "lower precision; index them as a field of their own" in found.stderr
    assert json.loads(found.stdout.splitlines()[0])["text"].startswith("Passive radar images of sea ice.\n")
    found = expand(write(tmp_path / "q.jsonl", QUERIES[:1]), "--queries", "--append")
    assert "lower precision; search for them with their weights" in found.stderr
    row = json.loads(found.stdout)
    text, line = row["text"].split("\n")
    assert text == "sea ice radar"
    assert line.split(", ") == [phrase["phrase"] for phrase in row["expansion"]]


ROWS = [
    ('{"_id": "a", "text": ""}', "no words to search for"),
    ('{"_id": "b", "text": "+-!"}', "no words to search for"),
    ('{"text": "sea ice"}', "neither '_id' nor 'id'"),
    ('{"_id": "d"}', "none of the fields"),
    ('{"_id": "e f", "text": "sea ice"}', "white space"),
    ('{"_id": "g", "text": "sea ice", "expansion": []}', "'expansion' already"),
]


def test_bad_queries_are_named_and_left_out(expand: Run, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text("".join(f"{row}\n" for row, _ in ROWS) + json.dumps(QUERIES[0]) + "\n")
    found = expand(path, "--queries", "--format", "lucene")
    assert found.exit_code == 3
    assert [line.split("\t")[0] for line in found.stdout.splitlines()] == ["q1"]
    for (_, message), line in zip(ROWS, found.stderr.splitlines(), strict=False):
        assert message in line
    plain = expand(path, "--queries")
    kept = {row["_id"]: row["expansion"] for row in map(json.loads, plain.stdout.splitlines())}
    assert (kept["a"], kept["b"]) == ([], [])
    assert kept["e f"]


def test_bad_documents_are_named_and_left_out(expand: Run, tmp_path: Path) -> None:
    taken: dict[str, Any] = {"_id": "a", "text": "sea ice", "keyphrases": ["x"]}
    rows = [taken, {"_id": "b" * 600, "text": "sea ice"}, DOCUMENTS[0], {"_id": "e", "text": ""}]
    path = write(tmp_path / "d.jsonl", rows)
    found = expand(path, "--format", "elasticsearch")
    assert found.exit_code == 3
    first, second = found.stderr.splitlines()[:2]
    assert "'keyphrases' already" in first
    assert "512 bytes" in second
    assert [json.loads(line)["index"]["_id"] for line in found.stdout.splitlines()[::2]] == ["d1", "e"]
    assert expand(path).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--weight", 0.5], 2, "goes with --queries"),
        (["--queries", "--weight", 0.95], 2, "--weight"),
        (["--terms", 5], 2, "goes with --queries"),
        (["--fields", "text"], 2, "goes with --queries and"),
        (["--queries", "--fields", "text"], 2, "goes with --queries and"),
        (["--queries", "--format", "solr", "--fields", "a b"], 1, "A field to search"),
        (["--format", "solr", "--index", "x"], 2, "elasticsearch or opensearch"),
        (["--format", "lucene", "--schema", "x"], 2, "elasticsearch, opensearch or solr"),
        (["--format", "solr", "--append"], 2, "--format jsonl"),
        (["--format", "xml"], 2, "xml"),
        (["--resume"], 2, "--output FILE"),
        (["--queries", "--own", "--output", "x"], 2, "It is for documents"),
        (["--own", "--no-collection", "--output", "x"], 2, "makes a collection"),
        (["--own", "--engine", "ray", "--output", "x"], 2, "erukg collection build"),
        (["--queries", "--engine", "ray", "--output", "x"], 2, "expands documents"),
        (["--format", "solr", "--engine", "ray", "--output", "x"], 2, "the form they have"),
    ],
)
def test_options_that_do_not_go_together(
    expand: Run, tmp_path: Path, arguments: list[object], code: int, message: str
) -> None:
    found = expand(write(tmp_path / "d.jsonl", DOCUMENTS), *arguments)
    assert found.exit_code == code, found.output
    assert message in " ".join(found.stderr.replace("│", "").split())
    assert "Traceback" not in found.output
